// SPDX-License-Identifier: Apache-2.0
// Public keys: one key, one DER, one id; signatures: one encoding.
#include "attestation/keys.h"

#include <thread>

#include <gtest/gtest.h>
#include <openssl/core_names.h>

#include "schemas/core/sha.h"
#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::code_of;
using test::flip;
using test::kAlgorithms;
using test::signer;

Bytes spki(const PkeyHandle& key) {
  unsigned char* out = nullptr;
  const int size = i2d_PUBKEY(key.get(), &out);
  Bytes der(out, out + (size > 0 ? size : 0));
  OPENSSL_free(out);
  return der;
}

// A P-256 key written with another form of its point, or with explicit curve parameters.
Bytes p256_variant(const char* parameter, const char* value) {
  const PkeyHandle key(EVP_EC_gen("P-256"));
  EXPECT_EQ(EVP_PKEY_set_utf8_string_param(key.get(), parameter, value), 1);
  return spki(key);
}

PublicKey public_key(SignatureAlgorithm algorithm, int number = 0) {
  return std::move(PublicKey::from_der(signer(algorithm, number).public_key())).value();
}

// DER of two INTEGERs given by their content.
Bytes der_signature(const Bytes& r, const Bytes& s) {
  Bytes out = {0x30, static_cast<std::uint8_t>(r.size() + s.size() + 4), 0x02,
               static_cast<std::uint8_t>(r.size())};
  out.insert(out.end(), r.begin(), r.end());
  out.push_back(0x02);
  out.push_back(static_cast<std::uint8_t>(s.size()));
  out.insert(out.end(), s.begin(), s.end());
  return out;
}

std::pair<Bytes, Bytes> split(const Bytes& signature) {
  const std::size_t r_size = signature[3];
  const auto r = signature.begin() + 4;
  const auto s = r + static_cast<std::ptrdiff_t>(r_size) + 2;
  return {Bytes(r, r + static_cast<std::ptrdiff_t>(r_size)), Bytes(s, signature.end())};
}

TEST(PublicKey, Der_RoundTripsWithItsId) {
  for (const auto algorithm : kAlgorithms) {
    const Signer& key = signer(algorithm);
    const auto parsed = PublicKey::from_der(key.public_key());
    ASSERT_TRUE(parsed) << name(algorithm);
    EXPECT_EQ(parsed->algorithm(), algorithm);
    EXPECT_EQ(parsed->der(), key.public_key());
    EXPECT_EQ(parsed->id(), KeyId(sha256(key.public_key())));
    EXPECT_EQ(parsed->id(), key.key_id());
  }
}

TEST(PublicKey, Pem_RoundTrips) {
  for (const auto algorithm : kAlgorithms) {
    const PublicKey key = public_key(algorithm);
    const auto parsed = PublicKey::from_pem(key.pem());
    ASSERT_TRUE(parsed) << key.pem();
    EXPECT_EQ(parsed->id(), key.id());
    EXPECT_TRUE(PublicKey::from_pem("\n " + key.pem() + "\r\n"));
  }
}

TEST(PublicKey, PemOfAnythingElse_IsRefused) {
  const std::string pem = public_key(SignatureAlgorithm::kEd25519).pem();
  std::string windows = pem;
  for (std::size_t i = 0; (i = windows.find('\n', i)) != std::string::npos; i += 2) {
    windows.insert(i, 1, '\r');
  }
  EXPECT_TRUE(PublicKey::from_pem(windows));
  EXPECT_TRUE(PublicKey::from_pem("subject=CN = release\nKey of the release team:\n" + pem));
  std::string padded = pem;
  padded.insert(30, " ");
  std::string private_label = pem;
  private_label.replace(private_label.find("PUBLIC"), 6, "SECRET");
  for (const std::string& text :
       {std::string(), std::string("-----BEGIN PUBLIC KEY-----"), pem + pem, "text " + pem,
        pem + "text", private_label + pem, std::string(70000, ' ') + pem, padded, private_label,
        pem.substr(1), pem.substr(0, pem.size() - 2),
        std::string("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"),
        std::string("-----BEGIN PUBLIC KEY-----END PUBLIC KEY-----"),
        "-----BEGIN PUBLIC KEY-----\n" + std::string(5000, 'A') + "\n-----END PUBLIC KEY-----"}) {
    EXPECT_EQ(code_of(PublicKey::from_pem(text)), "invalid-encoding") << text;
  }
}

TEST(PublicKey, EveryTruncationAndTrailingByte_IsRefused) {
  for (const auto algorithm : kAlgorithms) {
    Bytes der = signer(algorithm).public_key();
    for (std::size_t size = 0; size < der.size(); ++size) {
      EXPECT_EQ(code_of(PublicKey::from_der(ByteView(der).first(size))), "invalid-encoding");
    }
    der.push_back(0);
    EXPECT_EQ(code_of(PublicKey::from_der(der)), "invalid-encoding");
  }
}

TEST(PublicKey, EveryFlippedBit_IsAnotherKeyOrNone) {
  for (const auto algorithm : kAlgorithms) {
    const Bytes& der = signer(algorithm).public_key();
    for (std::size_t bit = 0; bit < der.size() * 8; ++bit) {
      const Bytes changed = flip(der, bit);
      const auto parsed = PublicKey::from_der(changed);
      if (parsed) {
        EXPECT_EQ(parsed->der(), changed);
        EXPECT_NE(parsed->id(), signer(algorithm).key_id());
      }
    }
  }
}

TEST(PublicKey, PointOffTheCurve_IsRefused) {
  Bytes der = signer(SignatureAlgorithm::kEcdsaP256).public_key();
  der.back() ^= 1U;
  EXPECT_EQ(code_of(PublicKey::from_der(der)), "invalid-encoding");
}

TEST(PublicKey, OtherAlgorithms_AreUnsupported) {
  for (const char* algorithm : {"X25519", "ED448"}) {
    const PkeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, algorithm));
    EXPECT_EQ(code_of(PublicKey::from_der(spki(key))), "unsupported-key") << algorithm;
  }
  const PkeyHandle rsa(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}));
  EXPECT_EQ(code_of(PublicKey::from_der(spki(rsa))), "unsupported-key");
}

TEST(PublicKey, OtherCurves_AreUnsupported) {
  for (const char* curve : {"secp256k1", "P-521", "brainpoolP256r1", "P-224"}) {
    const PkeyHandle key(EVP_EC_gen(curve));
    ASSERT_NE(key, nullptr) << curve;
    EXPECT_EQ(code_of(PublicKey::from_der(spki(key))), "unsupported-key") << curve;
  }
}

TEST(PublicKey, OtherSpellingsOfAP256Key_AreUnsupported) {
  for (const char* form : {"compressed", "hybrid"}) {
    const Bytes der = p256_variant(OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, form);
    EXPECT_EQ(code_of(PublicKey::from_der(der)), "unsupported-key") << form;
  }
  const Bytes der = p256_variant(OSSL_PKEY_PARAM_EC_ENCODING, "explicit");
  EXPECT_EQ(code_of(PublicKey::from_der(der)), "unsupported-key");
}

TEST(PublicKey, NotDerAtAll_IsRefused) {
  for (const Bytes& bytes : {Bytes(), Bytes(1, 0x30), Bytes(44, 0), to_bytes("-----BEGIN")}) {
    EXPECT_EQ(code_of(PublicKey::from_der(bytes)), "invalid-encoding");
  }
}

TEST(Verify, OwnSignature_Verifies) {
  for (const auto algorithm : kAlgorithms) {
    for (const std::string& message : {std::string(), std::string("m"), std::string(100000, 'x')}) {
      const Bytes signature = *signer(algorithm).sign(as_bytes(message));
      EXPECT_TRUE(public_key(algorithm).verify(as_bytes(message), signature)) << name(algorithm);
    }
  }
}

TEST(Verify, AnotherMessageOrKey_IsInvalid) {
  for (const auto algorithm : kAlgorithms) {
    const Bytes signature = *signer(algorithm).sign(as_bytes("message"));
    for (const char* message : {"", "messagf", "message ", "messag"}) {
      EXPECT_EQ(code_of(public_key(algorithm).verify(as_bytes(message), signature)),
                "signature-invalid");
    }
    EXPECT_EQ(code_of(public_key(algorithm, 1).verify(as_bytes("message"), signature)),
              "signature-invalid");
    for (const auto other : kAlgorithms) {
      if (other != algorithm) {
        EXPECT_EQ(code_of(public_key(other).verify(as_bytes("message"), signature)),
                  "signature-invalid");
      }
    }
  }
}

TEST(Verify, HashOfTheMessage_IsEnoughForItsAlgorithmAlone) {
  for (const SignatureAlgorithm algorithm : kAlgorithms) {
    const Signer& maker = signer(algorithm);
    const PublicKey key = PublicKey::from_der(maker.public_key()).value();
    const Bytes signature = maker.sign(as_bytes("message")).value();
    for (const HashAlgorithm hash : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
      EXPECT_EQ(key.verify_digest(sha(hash, as_bytes("message")), signature).has_value(),
                hash == key.signs_hash());
      EXPECT_FALSE(key.verify_digest(sha(hash, as_bytes("another")), signature));
    }
  }
}

TEST(Verify, EveryFlippedBitTruncationOrExtension_IsInvalid) {
  for (const auto algorithm : kAlgorithms) {
    const PublicKey key = public_key(algorithm);
    const Bytes signature = *signer(algorithm).sign(as_bytes("message"));
    for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
      EXPECT_EQ(code_of(key.verify(as_bytes("message"), flip(signature, bit))), "signature-invalid")
          << name(algorithm) << bit;
    }
    for (std::size_t size = 0; size < signature.size(); ++size) {
      EXPECT_FALSE(key.verify(as_bytes("message"), ByteView(signature).first(size)));
    }
    Bytes longer = signature;
    longer.push_back(0);
    EXPECT_EQ(code_of(key.verify(as_bytes("message"), longer)), "signature-invalid");
  }
}

// The same r and s in another encoding: a signature that nobody made must not verify.
TEST(Verify, ReencodedEcdsa_IsInvalid) {
  const PublicKey key = public_key(SignatureAlgorithm::kEcdsaP256);
  const Bytes signature = *signer(SignatureAlgorithm::kEcdsaP256).sign(as_bytes("message"));
  const auto [r, s] = split(signature);
  ASSERT_TRUE(key.verify(as_bytes("message"), der_signature(r, s)));
  Bytes padded_r = {0};
  padded_r.insert(padded_r.end(), r.begin(), r.end());
  Bytes padded_s = {0};
  padded_s.insert(padded_s.end(), s.begin(), s.end());
  Bytes long_length = {0x30, 0x81};
  long_length.insert(long_length.end(), signature.begin() + 1, signature.end());
  Bytes indefinite = {0x30, 0x80};
  indefinite.insert(indefinite.end(), signature.begin() + 2, signature.end());
  indefinite.insert(indefinite.end(), {0, 0});
  Bytes inside = signature;
  inside.push_back(0x05);
  inside.push_back(0x00);
  inside[1] = static_cast<std::uint8_t>(inside[1] + 2);
  for (const Bytes& other : {der_signature(padded_r, s), der_signature(r, padded_s), long_length,
                             indefinite, inside, der_signature({0}, {0}), der_signature(r, {0}),
                             der_signature({0}, s), der_signature({}, {}), der_signature(s, r)}) {
    EXPECT_EQ(code_of(key.verify(as_bytes("message"), other)), "signature-invalid")
        << hex_encode(other);
  }
}

TEST(Verify, RawEcdsa_IsInvalid) {
  const Bytes raw(64, 1);
  EXPECT_EQ(code_of(public_key(SignatureAlgorithm::kEcdsaP256).verify(as_bytes("m"), raw)),
            "signature-invalid");
}

// RFC 8032 section 7.1, TEST 3, and section 5.1.7: S must be below the group order.
TEST(Verify, Ed25519Vectors) {
  const auto key = PublicKey::from_der([] {
    Bytes der = *hex_decode("302a300506032b6570032100");
    const Bytes raw =
        *hex_decode("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
    der.insert(der.end(), raw.begin(), raw.end());
    return der;
  }());
  ASSERT_TRUE(key);
  Bytes signature = *hex_decode(
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");
  EXPECT_TRUE(key->verify(Bytes{0xaf, 0x82}, signature));
  const Bytes order =
      *hex_decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  unsigned carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    carry += static_cast<unsigned>(signature[32 + i]) + order[i];
    signature[32 + i] = static_cast<std::uint8_t>(carry & 0xFFU);
    carry >>= 8;
  }
  EXPECT_EQ(code_of(key->verify(Bytes{0xaf, 0x82}, signature)), "signature-invalid");
}

TEST(Verify, ManyThreads_ShareAKey) {
  for (const auto algorithm : kAlgorithms) {
    const PublicKey key = public_key(algorithm);
    const Signer& maker = signer(algorithm);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          const auto signature = maker.sign(as_bytes("m"));
          wrong[t] += signature && key.verify(as_bytes("m"), *signature) ? 0 : 1;
          wrong[t] += signature && key.verify(as_bytes("n"), *signature) ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(wrong, std::vector<int>(4, 0)) << name(algorithm);
  }
}

// What we leave in OpenSSL's error queue would be read by TLS on the same thread.
TEST(ErrorQueue, Failures_LeaveNothingBehind) {
  EXPECT_FALSE(PublicKey::from_der(Bytes(10, 0x30)));
  EXPECT_EQ(ERR_peek_error(), 0U);
  EXPECT_FALSE(public_key(SignatureAlgorithm::kEcdsaP256).verify(as_bytes("m"), Bytes(70, 0x30)));
  EXPECT_EQ(ERR_peek_error(), 0U);
  EXPECT_FALSE(public_key(SignatureAlgorithm::kEd25519).verify(as_bytes("m"), Bytes(3, 1)));
  EXPECT_EQ(ERR_peek_error(), 0U);
}

}  // namespace
}  // namespace assay::attestation
