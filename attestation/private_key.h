// SPDX-License-Identifier: Apache-2.0
// PKCS#8 PEM of private keys, for key_file.cc. Internal to this folder; other code uses keys.h.
#pragma once

#include <memory>
#include <string_view>

#include "attestation/crypto/openssl_handles.h"
#include "attestation/keys.h"

namespace assay::attestation {

// Returns true when the label of the PEM block says that the key is encrypted. Only
// parse_private_key() finds out whether the label is right.
[[nodiscard]] bool is_encrypted_pem(std::string_view pem);
// Parses exactly one PKCS#8 block, plain or PBES2. Errors: key-unusable, unsupported-key.
[[nodiscard]] Result<std::unique_ptr<Signer>> parse_private_key(std::string_view pem,
                                                                const SecretBytes& passphrase);
// Encodes a key that this library made or loaded as PEM. Encrypts it with PBES2 (scrypt,
// AES-256-CBC) when `passphrase` is not empty.
[[nodiscard]] Result<SecretBytes> encode_private_key(const Signer& signer,
                                                     const SecretBytes& passphrase);

}  // namespace assay::attestation
