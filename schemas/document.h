// SPDX-License-Identifier: Apache-2.0
// Helpers of the codecs in this folder: documents whose types have lists of members
// (schemas/core/json_members.h).
#pragma once

#include <string_view>

#include "schemas/challenge.h"
#include "schemas/core/json_object.h"
#include "schemas/validate.h"

namespace assay::document {

// Parses strict JSON and checks it against the schema. Errors: those of parse_json() and
// validate().
[[nodiscard]] Result<Json> parse_valid(ByteView bytes, std::string_view schema,
                                       const JsonLimits& limits = {});

// Parses a document of this schema.
template <json::Listed T>
[[nodiscard]] Result<T> parse(ByteView bytes, std::string_view schema,
                              const JsonLimits& limits = {}) {
  ASSAY_ASSIGN(const Json json, parse_valid(bytes, schema, limits));
  return json::read<T>(json);
}

// A nonce as hex.
inline constexpr auto kNonce =
    json::spelled([](const Nonce& nonce) { return text(nonce); }, parse_nonce);

// A digest as hex, where the document says elsewhere that it is SHA-256.
inline constexpr auto kSha256Hex = json::spelled(
    [](const Digest& digest) { return digest.hex(); },
    [](std::string_view hex) { return Digest::from_hex(HashAlgorithm::kSha256, hex); });

}  // namespace assay::document
