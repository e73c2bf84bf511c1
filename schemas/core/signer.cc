// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/signer.h"

#include <utility>

#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<SignatureAlgorithm, 3> kNames = {{{
    {SignatureAlgorithm::kEd25519, "ed25519"},
    {SignatureAlgorithm::kEcdsaP256, "ecdsa-p256"},
    {SignatureAlgorithm::kEcdsaP384, "ecdsa-p384"},
}}};

}  // namespace

std::string_view name(SignatureAlgorithm algorithm) { return kNames.of(algorithm); }

Result<SignatureAlgorithm> signature_algorithm_from(std::string_view name) {
  return kNames.parse(name, "there is no such algorithm; use ed25519, ecdsa-p256 or ecdsa-p384",
                      ErrorCode::kUnsupportedKey);
}

}  // namespace assay
