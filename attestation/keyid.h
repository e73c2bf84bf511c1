// SPDX-License-Identifier: Apache-2.0
// What stands in the keyid of a DSSE signature. It is a hint that nobody signs, but other software
// skips signatures whose keyid is not what it derives from its key (docs/dsse.md).
#pragma once

#include <string>
#include <string_view>

#include "attestation/keys.h"

namespace assay::attestation {

// No keyid: every key is tried. What go-securesystemslib and sigstore's libraries take.
inline constexpr std::string_view kKeyidNone = "none";
// SHA-256 of the SubjectPublicKeyInfo in hex: the key id of this project.
inline constexpr std::string_view kKeyidSha256 = "sha256";
// Fingerprint of the key as OpenSSH prints it: what go-securesystemslib derives.
inline constexpr std::string_view kKeyidSsh = "ssh";
// SHA-256 of the key as canonical JSON of TUF: what Python's securesystemslib derives.
inline constexpr std::string_view kKeyidTuf = "tuf";

inline constexpr std::size_t kMaxKeyid = 1024;

// The keyid of a key in one of the forms above; any other `form` is the keyid itself.
// invalid-parameter when it is longer than kMaxKeyid or no UTF-8.
[[nodiscard]] Result<std::string> keyid_of(std::string_view form, const PublicKey& key);

}  // namespace assay::attestation
