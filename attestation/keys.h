// SPDX-License-Identifier: Apache-2.0
// Public keys, signature verification, and private keys on disk. With sha.h and random.h the only
// users of OpenSSL's EVP layer below the TLS edge.
#pragma once

#include <memory>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

// A parsed public key of a supported algorithm.
class PublicKey {
 public:
  // From SubjectPublicKeyInfo DER, exactly: trailing bytes, other algorithms, other curves,
  // explicit curve parameters and points off the curve are refused (unsupported-key,
  // invalid-encoding). The DER must be the one OpenSSL would write, so that one key has one id.
  [[nodiscard]] static Result<PublicKey> from_der(ByteView spki);
  // The P-256 key with this point: coordinates of 32 bytes each, most significant byte first.
  [[nodiscard]] static Result<PublicKey> from_p256_point(ByteView x, ByteView y);
  // From one PEM block "PUBLIC KEY"; text before it is passed over, anything behind it refused.
  [[nodiscard]] static Result<PublicKey> from_pem(std::string_view pem);
  PublicKey(PublicKey&&) noexcept;
  PublicKey& operator=(PublicKey&&) noexcept;
  ~PublicKey();

  [[nodiscard]] SignatureAlgorithm algorithm() const;
  [[nodiscard]] const KeyId& id() const;
  [[nodiscard]] const Bytes& der() const;
  [[nodiscard]] std::string pem() const;
  // signature-invalid unless `signature` is a valid signature of `message`. ECDSA signatures are
  // DER in their one encoding (no trailing bytes, no padding).
  [[nodiscard]] Status verify(ByteView message, ByteView signature) const;

 private:
  struct Impl;
  explicit PublicKey(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A private key that can sign. The key material stays inside OpenSSL and is wiped when it goes.
[[nodiscard]] Result<std::unique_ptr<Signer>> generate_key(SignatureAlgorithm algorithm);

// Reads a PKCS#8 PEM file. The file must be a regular file of this user with mode 0600 or stricter,
// or encrypted (PBES2); key-unusable otherwise, with what to do. `passphrase` is used only for an
// encrypted file.
[[nodiscard]] Result<std::unique_ptr<Signer>> load_private_key(const std::string& path,
                                                               const SecretBytes& passphrase);

// Writes `signer` (made by generate_key or load_private_key) as PKCS#8 PEM to a new file of mode
// 0600; encrypted with AES-256-CBC and scrypt when `passphrase` is not empty. Never overwrites.
[[nodiscard]] Status save_private_key(const Signer& signer, const std::string& path,
                                      const SecretBytes& passphrase);

}  // namespace assay::attestation
