// SPDX-License-Identifier: Apache-2.0
// The one table of signature algorithms: what keys and signatures of each look like, and what other
// software calls them. Values: algorithms.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/core/digest.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

// The hash of the message that a signature is over. kNone: the algorithm takes the message itself.
enum class SignatureHash : std::uint8_t { kNone, kSha256, kSha384, kSha512 };

// One way to make a signature. RSA keys sign in several ways, and some formats name the hash of an
// ECDSA signature apart from the curve.
struct SignatureScheme {
  SignatureAlgorithm algorithm = SignatureAlgorithm::kEd25519;
  SignatureHash hash = SignatureHash::kNone;
  bool operator==(const SignatureScheme&) const = default;
};

// Returns the size of the hash in bytes; 0 for kNone.
[[nodiscard]] constexpr std::size_t size_of(SignatureHash hash) {
  constexpr std::array<std::size_t, 4> kSizes = {0, 32, 48, 64};
  return kSizes[static_cast<std::size_t>(hash)];
}
// Returns "SHA2-256", "SHA2-384" or "SHA2-512"; null for kNone.
[[nodiscard]] const char* openssl_name(SignatureHash hash);
// Returns the algorithm of our digests; nullopt for kNone and kSha512, of which there are none.
[[nodiscard]] std::optional<HashAlgorithm> digest_algorithm(SignatureHash hash);

enum class KeyKind : std::uint8_t {
  kOctets,  // the key is a string of bytes of one length (RFC 8410, RFC 9881)
  kEc,      // an uncompressed point on a named curve (RFC 5480)
  kRsa,     // rsaEncryption with NULL as its parameters (RFC 3279 section 2.3.1)
};

// Sizes of the modulus and of the public exponent of RSA keys. An exponent is odd and 3 or more.
inline constexpr int kRsaMinBits = 2048;
inline constexpr int kRsaMaxBits = 4096;
inline constexpr int kRsaMaxExponentBits = 33;

struct AlgorithmRow {
  SignatureAlgorithm algorithm;
  KeyKind kind;
  const char* openssl;  // the type of the key, or its curve
  // The SubjectPublicKeyInfo up to the key, and the bytes of the key behind it. Empty for RSA.
  std::span<const std::uint8_t> prefix;
  std::size_t key_bytes;
  SignatureHash hash;  // of signatures in formats that name none, such as DSSE
  // Sizes of a signature: of ECDSA in DER, of RSA as long as the modulus.
  std::size_t min_signature;
  std::size_t max_signature;
  // What a verification takes, as bytes that could be hashed in that time.
  std::size_t try_bytes;
  std::string_view jose;      // "alg" of RFC 7518, RFC 8037
  std::string_view ssh;       // type of the key in OpenSSH; empty: OpenSSH has none
  std::string_view tuf_type;  // "keytype" and "scheme" of TUF; empty: TUF has none
  std::string_view tuf_scheme;
};

[[nodiscard]] std::span<const AlgorithmRow> algorithms();
[[nodiscard]] const AlgorithmRow& row_of(SignatureAlgorithm algorithm);

// Returns the bytes of a coordinate of a point on the curve; 0 for keys of another kind.
[[nodiscard]] constexpr std::size_t coordinate_bytes(const AlgorithmRow& row) {
  return row.kind == KeyKind::kEc ? row.key_bytes / 2 : 0;
}

// Returns whether the OpenSSL that the program runs with has this algorithm. ML-DSA comes with
// OpenSSL 3.5.
[[nodiscard]] bool is_available(const AlgorithmRow& row);

}  // namespace assay::attestation
