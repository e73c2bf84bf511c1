// SPDX-License-Identifier: Apache-2.0
// Files that are given as keys and are something else: what they are, and which command makes a key
// of them. Pure; decides nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Return what the file `path` with this content is, with the command to type, where a private key
// in PKCS#8 or a public key in PEM (SubjectPublicKeyInfo) is expected. Return nullopt for content
// that is expected, and for content that nobody recognises. The result holds nothing of a secret.
[[nodiscard]] std::optional<std::string> private_key_advice(std::string_view content,
                                                            const std::string& path);
[[nodiscard]] std::optional<std::string> public_key_advice(std::string_view content,
                                                           const std::string& path);

}  // namespace assay
