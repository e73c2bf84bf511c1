// SPDX-License-Identifier: Apache-2.0
// The keyid of a DSSE signature. A keyid is only a hint and is not signed. Other software derives a
// keyid from each key that it knows, and skips signatures with a different keyid (docs/dsse.md).
#pragma once

#include <string>
#include <string_view>

#include "attestation/keys.h"

namespace assay::attestation {

// An empty keyid, for which a verifier tries every key. go-securesystemslib and the libraries of
// sigstore accept it.
inline constexpr std::string_view kKeyidNone = "none";
// SHA-256 of the SubjectPublicKeyInfo in hex, which is the key id of this project.
inline constexpr std::string_view kKeyidSha256 = "sha256";
// Fingerprint of the key as OpenSSH prints it. go-securesystemslib derives this form.
inline constexpr std::string_view kKeyidSsh = "ssh";
// SHA-256 of the key as canonical JSON of TUF. Python's securesystemslib derives this form.
inline constexpr std::string_view kKeyidTuf = "tuf";

inline constexpr std::size_t kMaxKeyid = 1024;

// Returns the keyid of a key in one of the forms above. Any other `form` is itself the keyid.
// Errors: invalid-parameter for a `form` longer than kMaxKeyid or not UTF-8.
[[nodiscard]] Result<std::string> keyid_of(std::string_view form, const PublicKey& key);

}  // namespace assay::attestation
