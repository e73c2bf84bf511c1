// SPDX-License-Identifier: Apache-2.0
// Public keys: one key, one DER, one id; signatures: one encoding.
#include "attestation/keys.h"

#include <thread>

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

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
  const PkeyHandle pss(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA-PSS", std::size_t{2048}));
  if (pss != nullptr) {
    EXPECT_EQ(code_of(PublicKey::from_der(spki(pss))), "unsupported-key");
  }
}

// An RSA key of these numbers, which need not be those of a key.
Bytes rsa_spki(const Bytes& modulus, std::uint64_t exponent) {
  const BignumHandle n(BN_bin2bn(modulus.data(), static_cast<int>(modulus.size()), nullptr));
  const BignumHandle e(BN_new());
  EXPECT_EQ(BN_set_word(e.get(), exponent), 1);
  const Handle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> builder(OSSL_PARAM_BLD_new());
  EXPECT_EQ(OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()), 1);
  EXPECT_EQ(OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()), 1);
  const Handle<OSSL_PARAM, OSSL_PARAM_free> parameters(OSSL_PARAM_BLD_to_param(builder.get()));
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* made = nullptr;
  EXPECT_EQ(EVP_PKEY_fromdata_init(context.get()), 1);
  EXPECT_EQ(EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()), 1);
  return spki(PkeyHandle(made));
}

Bytes modulus_of(std::size_t bits, std::uint8_t last = 0x01) {
  Bytes modulus((bits + 7) / 8, 0xA5);
  modulus.front() = static_cast<std::uint8_t>(1U << ((bits - 1) % 8));
  modulus.back() = last;
  return modulus;
}

TEST(PublicKey, RsaKeys_HaveASizeAndAnExponentInBounds) {
  const std::uint64_t usual = 65537;
  for (const auto& [der, code] : std::initializer_list<std::pair<Bytes, const char*>>{
           {rsa_spki(modulus_of(2048), usual), "ok"},
           {rsa_spki(modulus_of(3072), 3), "ok"},
           {rsa_spki(modulus_of(4096), (1ULL << 33U) - 1), "ok"},
           {rsa_spki(modulus_of(2047), usual), "unsupported-key"},
           {rsa_spki(modulus_of(4097), usual), "unsupported-key"},
           {rsa_spki(modulus_of(1024), usual), "unsupported-key"},
           {rsa_spki(modulus_of(2048, 0x02), usual), "unsupported-key"},
           {rsa_spki(modulus_of(2048), 1), "unsupported-key"},
           {rsa_spki(modulus_of(2048), 4), "unsupported-key"},
           {rsa_spki(modulus_of(2048), (1ULL << 33U) + 1), "unsupported-key"}}) {
    EXPECT_EQ(code_of(PublicKey::from_der(der)), code) << der.size();
  }
}

TEST(PublicKey, RsaKey_SignsInTheWayThatItIsTrustedFor) {
  const Bytes& der = signer(SignatureAlgorithm::kRsaPss).public_key();
  const auto plain = PublicKey::from_der(der);
  const auto pkcs1 = PublicKey::from_der(der, SignatureAlgorithm::kRsaPkcs1);
  ASSERT_TRUE(plain && pkcs1);
  EXPECT_EQ(plain->algorithm(), SignatureAlgorithm::kRsaPss);
  EXPECT_EQ(pkcs1->algorithm(), SignatureAlgorithm::kRsaPkcs1);
  EXPECT_EQ(plain->id(), pkcs1->id());
  const Bytes signature = *signer(SignatureAlgorithm::kRsaPss).sign(as_bytes("message"));
  EXPECT_EQ(code_of(plain->verify(as_bytes("message"), signature)), "ok");
  EXPECT_EQ(code_of(pkcs1->verify(as_bytes("message"), signature)), "signature-invalid");
  const SignatureScheme pss{SignatureAlgorithm::kRsaPss, SignatureHash::kSha256};
  EXPECT_EQ(code_of(pkcs1->verify_as(pss, as_bytes("message"), signature)), "ok");
  for (const auto algorithm : {SignatureAlgorithm::kEd25519, SignatureAlgorithm::kEcdsaP256}) {
    EXPECT_EQ(code_of(PublicKey::from_der(der, algorithm)), "unsupported-key");
    EXPECT_EQ(
        code_of(PublicKey::from_der(signer(algorithm).public_key(), SignatureAlgorithm::kRsaPkcs1)),
        "unsupported-key");
  }
}

// SubjectPublicKeyInfo of RFC 9881 with a key of these many bytes.
Bytes ml_dsa_spki(std::uint8_t last, std::size_t size) {
  const auto put = [](Bytes& out, std::size_t number) {
    out.push_back(static_cast<std::uint8_t>(number >> 8U));
    out.push_back(static_cast<std::uint8_t>(number & 0xFFU));
  };
  Bytes der = {0x30, 0x82};
  put(der, size + 18);
  const Bytes algorithm = *hex_decode("300b0609608648016503040300");
  der.insert(der.end(), algorithm.begin(), algorithm.end());
  der.back() = last;
  der.insert(der.end(), {0x03, 0x82});
  put(der, size + 1);
  der.push_back(0);
  der.insert(der.end(), size, 0x55);
  return der;
}

TEST(PublicKey, AlgorithmThatThisOpenSslLacks_IsNamed) {
  const struct {
    std::uint8_t last;
    std::size_t size;
    const char* name;
  } rows[] = {{0x11, 1312, "ML-DSA-44"}, {0x12, 1952, "ML-DSA-65"}, {0x13, 2592, "ML-DSA-87"}};
  for (const auto& row : rows) {
    const auto key = PublicKey::from_der(ml_dsa_spki(row.last, row.size));
    if (OPENSSL_version_major() == 3 && OPENSSL_version_minor() < 5) {
      ASSERT_EQ(code_of(key), "unsupported-key");
      EXPECT_NE(key.error().detail.find(row.name), std::string::npos) << key.error().detail;
      EXPECT_NE(key.error().detail.find("OpenSSL 3.5"), std::string::npos);
    } else {
      ASSERT_EQ(code_of(key), "ok");
      EXPECT_EQ(PublicKey::from_pem(key->pem())->id(), key->id());
    }
  }
  EXPECT_EQ(code_of(PublicKey::from_der(ml_dsa_spki(0x11, 1313))), "invalid-encoding");
}

TEST(Algorithms, Table_HasEachAlgorithmOnce) {
  for (const AlgorithmRow& row : algorithms()) {
    EXPECT_EQ(&row_of(row.algorithm), &row);
    EXPECT_NE(name(row.algorithm), "unknown");
    EXPECT_LE(row.min_signature, row.max_signature);
  }
}

TEST(PublicKey, OtherCurves_AreUnsupported) {
  for (const char* curve : {"secp256k1", "brainpoolP256r1", "P-224", "brainpoolP512r1"}) {
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

// A format may name the hash of an ECDSA or RSA signature; a key of Ed25519 has one scheme.
TEST(Verify, SchemeOfAnotherAlgorithmOrHash_IsInvalid) {
  for (const auto algorithm : kAlgorithms) {
    const PublicKey key = public_key(algorithm);
    const Bytes signature = *signer(algorithm).sign(as_bytes("message"));
    for (const AlgorithmRow& row : algorithms()) {
      for (const auto hash : {SignatureHash::kNone, SignatureHash::kSha256, SignatureHash::kSha384,
                              SignatureHash::kSha512}) {
        const SignatureScheme scheme{row.algorithm, hash};
        EXPECT_EQ(code_of(key.verify_as(scheme, as_bytes("message"), signature)),
                  scheme == key.scheme() ? "ok" : "signature-invalid")
            << name(algorithm) << " as " << name(row.algorithm);
        EXPECT_EQ(code_of(key.verify_hash_as(scheme, Bytes(31, 1), signature)),
                  "signature-invalid");
      }
    }
  }
}

// What OpenSSL signs with the hash of another curve, as old releases of model_signing did.
TEST(Verify, EcdsaWithAnotherHash_VerifiesByItsScheme) {
  const PkeyHandle key(EVP_EC_gen("P-384"));
  const DigestContextHandle context(EVP_MD_CTX_new());
  ASSERT_EQ(EVP_DigestSignInit_ex(context.get(), nullptr, "SHA2-256", nullptr, nullptr, key.get(),
                                  nullptr),
            1);
  Bytes signature(200);
  std::size_t size = signature.size();
  const Bytes message = to_bytes("message");
  ASSERT_EQ(EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()),
            1);
  signature.resize(size);
  const PublicKey parsed = PublicKey::from_der(spki(key)).value();
  EXPECT_EQ(code_of(parsed.verify(message, signature)), "signature-invalid");
  const SignatureScheme scheme{SignatureAlgorithm::kEcdsaP384, SignatureHash::kSha256};
  EXPECT_EQ(code_of(parsed.verify_as(scheme, message, signature)), "ok");
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
