// SPDX-License-Identifier: Apache-2.0
// PKCS#11 URIs (RFC 7512) that name one private key in one token. Strict: an attribute that is not
// used here, or is given twice, is refused, because ignoring it could select another key.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::pkcs11 {

inline constexpr std::size_t kMaxUri = 4096;
inline constexpr std::size_t kMaxAttribute = 1024;  // decoded

// An empty member was not given.
struct Uri {
  std::string token;  // label of the token
  std::string manufacturer;
  std::string model;
  std::string serial;
  std::string object;  // CKA_LABEL of the key
  Bytes id;            // CKA_ID of the key
  // The query: absolute paths.
  std::string module_path;  // library of the token
  std::string pin_source;   // file whose first line is the PIN
  bool operator==(const Uri&) const = default;
};

// Returns whether the text has the scheme "pkcs11:".
[[nodiscard]] bool is_uri(std::string_view text);

// Parses a URI that names a key by `object`, `id` or both. Takes `type` when it is "private".
// "pin-value" is refused with advice, because everybody on the machine reads command lines. Errors:
// key-unusable.
[[nodiscard]] Result<Uri> parse_uri(std::string_view text);

// Returns the path of the URI in one form, for messages and for the engine. It holds no secret.
[[nodiscard]] std::string path_of(const Uri& uri);

}  // namespace assay::attestation::pkcs11
