// SPDX-License-Identifier: Apache-2.0
// PKCS#8 PEM of private keys, for key_file.cc. Internal to this folder; users see keys.h.
#pragma once

#include <memory>
#include <string_view>

#include "attestation/crypto/openssl_handles.h"
#include "attestation/keys.h"

namespace assay::attestation {

// True when the text claims to be an encrypted key. A text that lies about it does not parse.
[[nodiscard]] bool is_encrypted_pem(std::string_view pem);
// One PKCS#8 block, plain or PBES2, and nothing else. key-unusable, unsupported-key.
[[nodiscard]] Result<std::unique_ptr<Signer>> parse_private_key(std::string_view pem,
                                                                const SecretBytes& passphrase);
// PEM of a key of this library; encrypted with PBES2 (scrypt, AES-256-CBC) when there is a
// passphrase.
[[nodiscard]] Result<SecretBytes> encode_private_key(const Signer& signer,
                                                     const SecretBytes& passphrase);

}  // namespace assay::attestation
