// SPDX-License-Identifier: Apache-2.0
#include "attestation/algorithms.h"

#include <algorithm>

#include "attestation/crypto/openssl_handles.h"

namespace assay::attestation {
namespace {

using enum SignatureAlgorithm;

// The one SubjectPublicKeyInfo of each algorithm, up to the key itself (RFC 8410 section 4; RFC
// 5480 section 2.1.1 with a named curve and, for the points, the uncompressed form of SEC 1
// section 2.3.3; RFC 9881 section 4).
constexpr std::array<std::uint8_t, 12> kEd25519Prefix = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                         0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr std::array<std::uint8_t, 27> kP256Prefix = {
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
constexpr std::array<std::uint8_t, 24> kP384Prefix = {
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
    0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00, 0x04};
constexpr std::array<std::uint8_t, 26> kP521Prefix = {
    0x30, 0x81, 0x9b, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
    0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23, 0x03, 0x81, 0x86, 0x00, 0x04};

// ML-DSA: the object identifiers end with `last`, and the lengths are those of whole and key.
constexpr std::array<std::uint8_t, 22> ml_dsa(std::uint16_t whole, std::uint8_t last,
                                              std::uint16_t bits) {
  const auto high = [](std::uint16_t number) { return static_cast<std::uint8_t>(number >> 8); };
  const auto low = [](std::uint16_t number) { return static_cast<std::uint8_t>(number & 0xFFU); };
  return {0x30, 0x82, high(whole), low(whole), 0x30, 0x0b, 0x06, 0x09, 0x60,       0x86,      0x48,
          0x01, 0x65, 0x03,        0x04,       0x03, last, 0x03, 0x82, high(bits), low(bits), 0x00};
}
constexpr std::size_t kMlDsa44Key = 1312;  // FIPS 204 section 4, table 2
constexpr std::size_t kMlDsa65Key = 1952;
constexpr std::size_t kMlDsa87Key = 2592;
constexpr auto kMlDsa44Prefix = ml_dsa(kMlDsa44Key + 18, 0x11, kMlDsa44Key + 1);
constexpr auto kMlDsa65Prefix = ml_dsa(kMlDsa65Key + 18, 0x12, kMlDsa65Key + 1);
constexpr auto kMlDsa87Prefix = ml_dsa(kMlDsa87Key + 18, 0x13, kMlDsa87Key + 1);

constexpr std::size_t kTry = 128U << 10;
constexpr std::size_t kLongTry = 1U << 20;  // P-384 and P-521: eight times P-256
constexpr std::size_t kMinRsa = kRsaMinBits / 8;
constexpr std::size_t kMaxRsa = kRsaMaxBits / 8;

constexpr SignatureHash kNone = SignatureHash::kNone;
constexpr SignatureHash kSha256 = SignatureHash::kSha256;
constexpr SignatureHash kSha384 = SignatureHash::kSha384;
constexpr SignatureHash kSha512 = SignatureHash::kSha512;

// clang-format off
constexpr std::array<AlgorithmRow, 9> kRows = {{
    {kEd25519, KeyKind::kOctets, "ED25519", kEd25519Prefix, 32, kNone, 64, 64, kTry,
     "EdDSA", "ssh-ed25519", "ed25519", "ed25519"},
    {kEcdsaP256, KeyKind::kEc, "P-256", kP256Prefix, 64, kSha256, 8, 72, kTry,
     "ES256", "ecdsa-sha2-nistp256", "ecdsa", "ecdsa-sha2-nistp256"},
    {kEcdsaP384, KeyKind::kEc, "P-384", kP384Prefix, 96, kSha384, 8, 104, kLongTry,
     "ES384", "ecdsa-sha2-nistp384", "ecdsa", "ecdsa-sha2-nistp384"},
    {kEcdsaP521, KeyKind::kEc, "P-521", kP521Prefix, 132, kSha512, 8, 139, kLongTry,
     "ES512", "ecdsa-sha2-nistp521", "ecdsa", "ecdsa-sha2-nistp521"},
    {kRsaPss, KeyKind::kRsa, "RSA", {}, 0, kSha256, kMinRsa, kMaxRsa, kTry,
     "PS256", "ssh-rsa", "rsa", "rsassa-pss-sha256"},
    {kRsaPkcs1, KeyKind::kRsa, "RSA", {}, 0, kSha256, kMinRsa, kMaxRsa, kTry,
     "RS256", "ssh-rsa", "rsa", "rsa-pkcs1v15-sha256"},
    {kMlDsa44, KeyKind::kOctets, "ML-DSA-44", kMlDsa44Prefix, kMlDsa44Key, kNone, 2420, 2420, kTry,
     "ML-DSA-44", "", "", ""},
    {kMlDsa65, KeyKind::kOctets, "ML-DSA-65", kMlDsa65Prefix, kMlDsa65Key, kNone, 3309, 3309, kTry,
     "ML-DSA-65", "", "", ""},
    {kMlDsa87, KeyKind::kOctets, "ML-DSA-87", kMlDsa87Prefix, kMlDsa87Key, kNone, 4627, 4627, kTry,
     "ML-DSA-87", "", "", ""},
}};
// clang-format on

}  // namespace

const char* openssl_name(SignatureHash hash) {
  constexpr std::array<const char*, 4> kNames = {nullptr, "SHA2-256", "SHA2-384", "SHA2-512"};
  return kNames[static_cast<std::size_t>(hash)];
}

std::optional<HashAlgorithm> digest_algorithm(SignatureHash hash) {
  switch (hash) {
    case SignatureHash::kSha256:
      return HashAlgorithm::kSha256;
    case SignatureHash::kSha384:
      return HashAlgorithm::kSha384;
    default:
      return std::nullopt;
  }
}

std::span<const AlgorithmRow> algorithms() { return kRows; }

const AlgorithmRow& row_of(SignatureAlgorithm algorithm) {
  return *std::ranges::find(kRows, algorithm, &AlgorithmRow::algorithm);
}

bool is_available(const AlgorithmRow& row) {
  if (row.kind == KeyKind::kEc) {
    return true;
  }
  const ErrorQueueGuard guard;
  const Handle<EVP_KEYMGMT, EVP_KEYMGMT_free> found(
      EVP_KEYMGMT_fetch(nullptr, row.openssl, nullptr));
  return found != nullptr;
}

}  // namespace assay::attestation
