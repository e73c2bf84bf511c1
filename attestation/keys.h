// SPDX-License-Identifier: Apache-2.0
// Public keys, signature verification, and private keys on disk.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

// A parsed public key of a supported algorithm.
class PublicKey {
 public:
  // Parses SubjectPublicKeyInfo DER. Refuses trailing bytes, other algorithms, other curves,
  // explicit curve parameters and points off the curve. The DER must be the one that OpenSSL would
  // write, so that one key has one id. Errors: unsupported-key, invalid-encoding.
  [[nodiscard]] static Result<PublicKey> from_der(ByteView spki);
  // Makes the key on P-256 or P-384 with this point. The coordinates have 32 or 48 bytes each, most
  // significant byte first, which tells the curve. Errors: those of from_der().
  [[nodiscard]] static Result<PublicKey> from_point(ByteView x, ByteView y);
  // Parses one PEM block "PUBLIC KEY". Text before the block is skipped; text after it is refused.
  [[nodiscard]] static Result<PublicKey> from_pem(std::string_view pem);
  PublicKey(PublicKey&&) noexcept;
  PublicKey& operator=(PublicKey&&) noexcept;
  ~PublicKey();

  [[nodiscard]] SignatureAlgorithm algorithm() const;
  [[nodiscard]] const KeyId& id() const;
  [[nodiscard]] const Bytes& der() const;
  [[nodiscard]] std::string pem() const;
  // Verifies that `signature` is a valid signature of `message`. ECDSA signatures are DER in their
  // only valid encoding, without trailing bytes or padding. Errors: signature-invalid.
  [[nodiscard]] Status verify(ByteView message, ByteView signature) const;
  // Returns the hash of the message that this key signs: SHA-256 for ECDSA on P-256, SHA-384 on
  // P-384, nothing for Ed25519, which hashes each message with each signature.
  [[nodiscard]] std::optional<HashAlgorithm> signs_hash() const;
  // Verifies as verify() does, for a message whose hash `digest` by signs_hash() is at hand.
  // Errors: signature-invalid, also for a hash of another algorithm.
  [[nodiscard]] Status verify_digest(const Digest& digest, ByteView signature) const;

 private:
  struct Impl;
  explicit PublicKey(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Generates a private key. The key material stays inside OpenSSL and is wiped when the Signer is
// destroyed.
[[nodiscard]] Result<std::unique_ptr<Signer>> generate_key(SignatureAlgorithm algorithm);

// Reads a private key from a PKCS#8 PEM file. Unless the key is encrypted (PBES2), the file must be
// guarded as schemas/posix/secret_file.h says. `passphrase` is used only for an encrypted key.
// Errors: key-unusable with advice for the user, which names the command that converts another
// format; those of parsing the key.
[[nodiscard]] Result<std::unique_ptr<Signer>> load_private_key(const std::string& path,
                                                               const SecretBytes& passphrase);

// Writes `signer` (made by generate_key or load_private_key) as PKCS#8 PEM to a new file of mode
// 0600. Encrypts it with AES-256-CBC and scrypt when `passphrase` is not empty. Errors: conflict
// when the file exists; key-unusable when it cannot be written.
[[nodiscard]] Status save_private_key(const Signer& signer, const std::string& path,
                                      const SecretBytes& passphrase);

}  // namespace assay::attestation
