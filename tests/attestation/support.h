// SPDX-License-Identifier: Apache-2.0
// Keys of all algorithms, made once for the whole test program, and trust in them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include <openssl/pem.h>

#include "attestation/dsse.h"
#include "attestation/keys.h"
#include "attestation/private_key.h"
#include "tests/support/vectors.h"

namespace assay::test {

// Those that sign.
inline constexpr std::array kAlgorithms = {
    SignatureAlgorithm::kEd25519, SignatureAlgorithm::kEcdsaP256, SignatureAlgorithm::kEcdsaP384,
    SignatureAlgorithm::kEcdsaP521, SignatureAlgorithm::kRsaPss};

// A key as OpenSSL made it. Only tests make RSA keys.
inline Result<std::unique_ptr<Signer>> signer_of(const attestation::PkeyHandle& key) {
  const attestation::BioHandle out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* pem = nullptr;
  const long size = BIO_get_mem_data(out.get(), &pem);
  return attestation::parse_private_key({pem, static_cast<std::size_t>(size)}, SecretBytes());
}

// A new key of each (algorithm, number), the same one every time.
inline const Signer& signer(SignatureAlgorithm algorithm, int number = 0) {
  static std::map<std::pair<SignatureAlgorithm, int>, std::unique_ptr<Signer>> keys;
  auto& key = keys[{algorithm, number}];
  if (key == nullptr) {
    constexpr unsigned kRsaBits = 2048;
    key = algorithm == SignatureAlgorithm::kRsaPss
              ? signer_of(attestation::PkeyHandle(EVP_RSA_gen(kRsaBits))).value()
              : attestation::generate_key(algorithm).value();
  }
  return *key;
}

// The Ed25519 signer with this seed (RFC 8410 section 7 PKCS#8).
inline std::unique_ptr<Signer> signer_from_seed(ByteView seed) {
  Bytes der = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
               0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
  der.insert(der.end(), seed.begin(), seed.end());
  const std::string pem =
      "-----BEGIN PRIVATE KEY-----\n" + base64_encode(der) + "\n-----END PRIVATE KEY-----\n";
  return std::move(attestation::parse_private_key(pem, SecretBytes())).value();
}

inline Timestamp at(const char* text) { return *parse_rfc3339(text); }

inline TrustedKey trust(const Signer& signer, std::string identity,
                        KeyPurpose purpose = KeyPurpose::kOperator) {
  return {signer.key_id(),
          signer.algorithm(),
          signer.public_key(),
          purpose,
          std::move(identity),
          {},
          at("2026-01-01T00:00:00Z"),
          at("2027-01-01T00:00:00Z"),
          std::nullopt};
}

inline Bytes flip(Bytes bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  return bytes;
}

}  // namespace assay::test
