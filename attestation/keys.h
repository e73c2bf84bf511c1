// SPDX-License-Identifier: Apache-2.0
// Public keys, signature verification, and private keys on disk.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attestation/algorithms.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

// A parsed public key of a supported algorithm.
class PublicKey {
 public:
  // Parses SubjectPublicKeyInfo DER of an algorithm in the table (algorithms.h). Refuses trailing
  // bytes, other algorithms, other curves, explicit curve parameters, points off the curve, and RSA
  // keys of another size than 2048 to 4096 bits. The DER must be the one that OpenSSL would write,
  // so that one key has one id. An RSA key is taken as one for RSASSA-PSS. Errors: unsupported-key,
  // also with the name of an algorithm that this OpenSSL does not have; invalid-encoding.
  [[nodiscard]] static Result<PublicKey> from_der(ByteView spki);
  // Parses a key that is used with `algorithm`. An RSA key does not say how it signs, so whoever
  // trusts the key says it: kRsaPss or kRsaPkcs1. Errors: also unsupported-key for a key of another
  // algorithm.
  [[nodiscard]] static Result<PublicKey> from_der(ByteView spki, SignatureAlgorithm algorithm);
  // Makes the key on P-256, P-384 or P-521 with this point. The coordinates have 32, 48 or 66 bytes
  // each, most significant byte first, which tells the curve. Errors: those of from_der().
  [[nodiscard]] static Result<PublicKey> from_point(ByteView x, ByteView y);
  // Makes the RSA key of these numbers, most significant byte first. Errors: those of from_der().
  struct RsaNumbers {
    Bytes modulus;
    Bytes exponent;
  };
  [[nodiscard]] static Result<PublicKey> from_rsa(const RsaNumbers& numbers);
  // Parses one PEM block "PUBLIC KEY". Text before the block is skipped; text after it is refused.
  [[nodiscard]] static Result<PublicKey> from_pem(std::string_view pem);
  PublicKey(PublicKey&&) noexcept;
  PublicKey& operator=(PublicKey&&) noexcept;
  ~PublicKey();

  [[nodiscard]] SignatureAlgorithm algorithm() const;
  [[nodiscard]] const KeyId& id() const;
  [[nodiscard]] const Bytes& der() const;
  [[nodiscard]] std::string pem() const;
  // Returns how this key signs in formats that name no scheme, such as DSSE: its algorithm with the
  // hash of the table. SHA-256 for ECDSA on P-256 and for RSA of every size, SHA-384 on P-384,
  // SHA-512 on P-521.
  [[nodiscard]] SignatureScheme scheme() const;
  // Verifies that `signature` is a valid signature of `message` by scheme(). ECDSA signatures are
  // DER in their only valid encoding, without trailing bytes or padding. RSA signatures are as long
  // as the modulus. RSASSA-PSS has MGF1 with the hash of the message, and a salt as long as that
  // hash. Errors: signature-invalid.
  [[nodiscard]] Status verify(ByteView message, ByteView signature) const;
  // Verifies by a scheme that the format of the signature names. The key must be of the scheme's
  // algorithm, except that an RSA key verifies by either one. Errors: signature-invalid, also for a
  // key of another algorithm and a hash that the algorithm has no use for.
  [[nodiscard]] Status verify_as(const SignatureScheme& scheme, ByteView message,
                                 ByteView signature) const;
  // Does the same for a message whose hash by `scheme.hash` is at hand. Errors: signature-invalid,
  // also for an algorithm that takes the message itself.
  [[nodiscard]] Status verify_hash_as(const SignatureScheme& scheme, ByteView hash,
                                      ByteView signature) const;
  // Returns the hash of the message that this key signs when digests of it exist (SHA-256,
  // SHA-384). Nothing for the others, which take the message with each signature.
  [[nodiscard]] std::optional<HashAlgorithm> signs_hash() const;
  // Verifies as verify() does, for a message whose hash `digest` by signs_hash() is at hand.
  // Errors: signature-invalid, also for a hash of another algorithm.
  [[nodiscard]] Status verify_digest(const Digest& digest, ByteView signature) const;

  // Returns the numbers of an RSA key without leading zeros. Nothing for a key of another kind.
  [[nodiscard]] std::optional<RsaNumbers> rsa_numbers() const;

 private:
  struct Impl;
  explicit PublicKey(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Generates a private key. The key material stays inside OpenSSL and is wiped when the Signer is
// destroyed. Errors: unsupported-key for RSA, and for what this OpenSSL does not have.
[[nodiscard]] Result<std::unique_ptr<Signer>> generate_key(SignatureAlgorithm algorithm);

// Reads a private key from a PKCS#8 PEM file. Unless the key is encrypted (PBES2), the file must be
// guarded as schemas/posix/secret_file.h says. `passphrase` is used only for an encrypted key. An
// RSA key signs with RSASSA-PSS, whose scheme is that of PublicKey::scheme().
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
