// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/signer.h"

#include <utility>

#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<SignatureAlgorithm, 9> kNames = {{{
    {SignatureAlgorithm::kEd25519, "ed25519"},
    {SignatureAlgorithm::kEcdsaP256, "ecdsa-p256"},
    {SignatureAlgorithm::kEcdsaP384, "ecdsa-p384"},
    {SignatureAlgorithm::kEcdsaP521, "ecdsa-p521"},
    {SignatureAlgorithm::kRsaPss, "rsa-pss"},
    {SignatureAlgorithm::kRsaPkcs1, "rsa-pkcs1"},
    {SignatureAlgorithm::kMlDsa44, "ml-dsa-44"},
    {SignatureAlgorithm::kMlDsa65, "ml-dsa-65"},
    {SignatureAlgorithm::kMlDsa87, "ml-dsa-87"},
}}};

}  // namespace

std::string_view name(SignatureAlgorithm algorithm) { return kNames.of(algorithm); }

Result<SignatureAlgorithm> signature_algorithm_from(std::string_view name) {
  return kNames.parse(name, "there is no such algorithm; see docs/keys.md",
                      ErrorCode::kUnsupportedKey);
}

}  // namespace assay
