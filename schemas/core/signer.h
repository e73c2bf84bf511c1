// SPDX-License-Identifier: Apache-2.0
// Interface of signing keys. Code that signs is given a Signer; only attestation and the programs
// know where keys come from.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay {

// Signature algorithms. The numbers are written to disk: do not renumber.
enum class SignatureAlgorithm : std::uint8_t {
  kEd25519 = 1,    // RFC 8032, pure
  kEcdsaP256 = 2,  // with SHA-256, DER signature
  kEcdsaP384 = 3,  // with SHA-384, DER signature
  kEcdsaP521 = 4,  // with SHA-512, DER signature
  kRsaPss = 5,     // RSASSA-PSS (RFC 8017 section 8.1), salt as long as the hash
  kRsaPkcs1 = 6,   // RSASSA-PKCS1-v1_5 (section 8.2): verified, never made
  kMlDsa44 = 7,    // FIPS 204, where OpenSSL has it
  kMlDsa65 = 8,
  kMlDsa87 = 9,
};

// Returns the name in documents: "ed25519", "ecdsa-p256", "rsa-pss", "ml-dsa-44" and so on.
[[nodiscard]] std::string_view name(SignatureAlgorithm algorithm);
[[nodiscard]] Result<SignatureAlgorithm> signature_algorithm_from(std::string_view name);

// Implementations are safe to call from several threads.
class Signer {
 public:
  virtual ~Signer() = default;
  [[nodiscard]] virtual SignatureAlgorithm algorithm() const = 0;
  [[nodiscard]] virtual const KeyId& key_id() const = 0;
  // Returns the public key as SubjectPublicKeyInfo DER.
  [[nodiscard]] virtual const Bytes& public_key() const = 0;
  // Signs `message` itself; the algorithm hashes the message where needed. Errors: key-unusable on
  // failure.
  [[nodiscard]] virtual Result<Bytes> sign(ByteView message) const = 0;
};

}  // namespace assay
