// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/signer.h"

#include <array>
#include <utility>

namespace assay {
namespace {

constexpr std::array<std::pair<SignatureAlgorithm, std::string_view>, 3> kNames = {{
    {SignatureAlgorithm::kEd25519, "ed25519"},
    {SignatureAlgorithm::kEcdsaP256, "ecdsa-p256"},
    {SignatureAlgorithm::kEcdsaP384, "ecdsa-p384"},
}};

}  // namespace

std::string_view name(SignatureAlgorithm algorithm) {
  for (const auto& [value, text] : kNames) {
    if (value == algorithm) {
      return text;
    }
  }
  return "unknown";
}

Result<SignatureAlgorithm> signature_algorithm_from(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) {
      return value;
    }
  }
  return fail(ErrorCode::kUnsupportedKey,
              "there is no such algorithm; use ed25519, ecdsa-p256 or ecdsa-p384");
}

}  // namespace assay
