// SPDX-License-Identifier: Apache-2.0
// Private keys as PKCS#8 PEM in memory.
#include "attestation/private_key.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::code_of;
using test::kAlgorithms;
using test::signer;

SecretBytes secret(std::string_view text) { return SecretBytes(to_bytes(text)); }

std::string pem_of(const Signer& key, std::string_view passphrase = "") {
  const SecretBytes pem = std::move(encode_private_key(key, secret(passphrase))).value();
  return std::string(as_text(pem.view()));
}

// The bytes in a PEM block.
Bytes der_of(const std::string& pem) {
  std::string base64;
  const std::size_t begin = pem.find('\n');
  for (const char c : pem.substr(begin, pem.rfind("-----END") - begin)) {
    if (c != '\n') {
      base64 += c;
    }
  }
  return base64_decode(base64).value();
}

std::string block(const std::string& label, ByteView der, const std::string& headers = "") {
  constexpr std::size_t kColumns = 64;
  const std::string base64 = base64_encode(der);
  std::string text = "-----BEGIN " + label + "-----\n" + headers;
  for (std::size_t at = 0; at < base64.size(); at += kColumns) {
    text += base64.substr(at, kColumns) + "\n";
  }
  return text + "-----END " + label + "-----\n";
}

std::string text_of(const BioHandle& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

PkeyHandle parsed(const std::string& pem) {
  const BioHandle in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return PkeyHandle(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
}

TEST(PrivateKey, Pem_RoundTripsPlainAndEncrypted) {
  for (const auto algorithm : kAlgorithms) {
    for (const char* passphrase : {"", "p\xC3\xA4ss"}) {
      const std::string pem = pem_of(signer(algorithm), passphrase);
      EXPECT_EQ(is_encrypted_pem(pem), *passphrase != '\0');
      const auto key = parse_private_key(pem, secret(passphrase));
      ASSERT_TRUE(key) << to_string(key.error());
      EXPECT_EQ((*key)->key_id(), signer(algorithm).key_id());
      EXPECT_EQ((*key)->algorithm(), algorithm);
      const auto verifier = PublicKey::from_der(signer(algorithm).public_key());
      EXPECT_TRUE(verifier->verify(as_bytes("m"), *(*key)->sign(as_bytes("m"))));
    }
  }
}

TEST(PrivateKey, Encryption_IsScryptWithAes256) {
  const std::string pem = pem_of(signer(SignatureAlgorithm::kEd25519), "secret");
  const std::string der = hex_encode(der_of(pem));
  EXPECT_NE(der.find("06092a864886f70d01050d"), std::string::npos);        // PBES2
  EXPECT_NE(der.find("06092b06010401da47040b"), std::string::npos);        // scrypt, RFC 7914
  EXPECT_NE(der.find("060960864801650304012a"), std::string::npos);        // AES-256-CBC
  EXPECT_NE(pem, pem_of(signer(SignatureAlgorithm::kEd25519), "secret"));  // salt and IV are new
}

TEST(PrivateKey, WrongOrMissingPassphrase_IsUnusable) {
  const std::string pem = pem_of(signer(SignatureAlgorithm::kEd25519), "secret");
  for (const char* passphrase : {"", "Secret", "secre"}) {
    EXPECT_EQ(code_of(parse_private_key(pem, secret(passphrase))), "key-unusable") << passphrase;
  }
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(PrivateKey, PassphraseForAPlainKey_IsNotUsed) {
  EXPECT_TRUE(parse_private_key(pem_of(signer(SignatureAlgorithm::kEd25519)), secret("x")));
}

TEST(PrivateKey, AnythingButOneBlock_IsUnusable) {
  const std::string pem = pem_of(signer(SignatureAlgorithm::kEd25519));
  const std::string public_pem =
      PublicKey::from_der(signer(SignatureAlgorithm::kEd25519).public_key())->pem();
  for (const std::string& text :
       {std::string(), std::string("-----BEGIN "), "comment\n" + pem, "\n" + pem, pem + pem,
        pem + "x", public_pem, pem.substr(0, pem.size() - 10),
        std::string("-----BEGIN X-----\n")}) {
    EXPECT_EQ(code_of(parse_private_key(text, secret(""))), "key-unusable") << text;
  }
}

TEST(PrivateKey, EveryTruncationAndFlippedByte_IsUnusableOrAnotherKey) {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP256);
  const std::string pem = pem_of(key);
  for (std::size_t i = 0; i < pem.size(); ++i) {
    if (i + 1 < pem.size()) {  // the newline at the end is not missed
      EXPECT_FALSE(parse_private_key(pem.substr(0, i), secret(""))) << i;
    }
    std::string changed = pem;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto other = parse_private_key(changed, secret(""));
    // Both halves are in the file: whatever still parses, they belong together.
    if (other) {
      const auto verifier = PublicKey::from_der((*other)->public_key());
      EXPECT_TRUE(verifier->verify(as_bytes("m"), *(*other)->sign(as_bytes("m"))));
    }
  }
}

TEST(PrivateKey, HalvesOfTwoKeys_AreUnusable) {
  const Bytes first = signer(SignatureAlgorithm::kEcdsaP256, 0).public_key();
  const Bytes second = signer(SignatureAlgorithm::kEcdsaP256, 1).public_key();
  Bytes der = der_of(pem_of(signer(SignatureAlgorithm::kEcdsaP256, 0)));
  // The 64 bytes of the point end both encodings.
  ASSERT_TRUE(std::equal(first.end() - 64, first.end(), der.end() - 64));
  std::copy(second.end() - 64, second.end(), der.end() - 64);
  EXPECT_EQ(code_of(parse_private_key(block("PRIVATE KEY", der), secret(""))), "key-unusable");
}

TEST(PrivateKey, BytesBehindTheKeyInItsBlock_AreUnusable) {
  for (const auto& [label, passphrase] :
       {std::pair("PRIVATE KEY", ""), {"ENCRYPTED PRIVATE KEY", "secret"}}) {
    Bytes der = der_of(pem_of(signer(SignatureAlgorithm::kEcdsaP256), passphrase));
    EXPECT_EQ(code_of(parse_private_key(block(label, der), secret(passphrase))), "ok");
    der.push_back(0);
    EXPECT_EQ(code_of(parse_private_key(block(label, der), secret(passphrase))), "key-unusable");
    der = {0x30, 0};
    EXPECT_EQ(code_of(parse_private_key(block(label, der), secret(passphrase))), "key-unusable");
  }
}

// RFC 1421 headers say that the block is encrypted in a way of long ago.
TEST(PrivateKey, BlockWithHeadersOrAnotherLabel_IsUnusable) {
  const Bytes der = der_of(pem_of(signer(SignatureAlgorithm::kEcdsaP256)));
  EXPECT_EQ(code_of(parse_private_key(block("PRIVATE KEY", der), secret(""))), "ok");
  EXPECT_EQ(code_of(parse_private_key(block("PRIVATE KEY", der, "X-Note: a key\n\n"), secret(""))),
            "key-unusable");
  for (const char* label : {"EC PRIVATE KEY", "PRIVATE KEYS", "CERTIFICATE"}) {
    EXPECT_EQ(code_of(parse_private_key(block(label, der), secret(""))), "key-unusable") << label;
  }
}

TEST(PrivateKey, PassphraseWithoutEnd_IsRefused) {
  const Signer& key = signer(SignatureAlgorithm::kEd25519);
  const std::string longest(64U << 10, 'p');
  const std::string pem = pem_of(key, longest);
  EXPECT_EQ(code_of(parse_private_key(pem, secret(longest))), "ok");
  EXPECT_EQ(code_of(parse_private_key(pem, secret(longest + "p"))), "key-unusable");
  EXPECT_EQ(code_of(encode_private_key(key, secret(longest + "p"))), "key-unusable");
}

TEST(PrivateKey, LegacyFormats_AreUnusable) {
  const PkeyHandle key = parsed(pem_of(signer(SignatureAlgorithm::kEcdsaP256)));
  ASSERT_NE(key, nullptr);
  const BioHandle traditional(BIO_new(BIO_s_mem()));
  ASSERT_EQ(PEM_write_bio_PrivateKey_traditional(traditional.get(), key.get(), nullptr, nullptr, 0,
                                                 nullptr, nullptr),
            1);
  EXPECT_EQ(code_of(parse_private_key(text_of(traditional), secret(""))), "key-unusable");
  const BioHandle pbes1(BIO_new(BIO_s_mem()));
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey_nid(pbes1.get(), key.get(),
                                              NID_pbe_WithSHA1And3_Key_TripleDES_CBC, "secret", 6,
                                              nullptr, nullptr),
            1);
  EXPECT_EQ(code_of(parse_private_key(text_of(pbes1), secret("secret"))), "key-unusable");
}

TEST(PrivateKey, Pbkdf2FromOtherTools_IsRead) {
  const PkeyHandle key = parsed(pem_of(signer(SignatureAlgorithm::kEcdsaP384)));
  const BioHandle out(BIO_new(BIO_s_mem()));
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(), "secret", 6,
                                          nullptr, nullptr),
            1);
  const auto read = parse_private_key(text_of(out), secret("secret"));
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->key_id(), signer(SignatureAlgorithm::kEcdsaP384).key_id());
}

TEST(PrivateKey, OtherAlgorithms_AreRefused) {
  for (const char* algorithm : {"X25519", "ED448"}) {
    const PkeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, algorithm));
    const BioHandle out(BIO_new(BIO_s_mem()));
    ASSERT_EQ(
        PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
        1);
    EXPECT_EQ(code_of(parse_private_key(text_of(out), secret(""))), "unsupported-key");
  }
  const PkeyHandle curve(EVP_EC_gen("secp256k1"));
  const BioHandle out(BIO_new(BIO_s_mem()));
  ASSERT_EQ(
      PEM_write_bio_PKCS8PrivateKey(out.get(), curve.get(), nullptr, nullptr, 0, nullptr, nullptr),
      1);
  EXPECT_EQ(code_of(parse_private_key(text_of(out), secret(""))), "unsupported-key");
}

TEST(PrivateKey, Seed_GivesTheKeyOfTheVectors) {
  const Json vectors = test::load_vectors("log.json");
  const auto key = test::signer_from_seed(test::from_hex(vectors["seed"]));
  const Bytes& spki = key->public_key();
  EXPECT_EQ(Bytes(spki.end() - 32, spki.end()), test::from_hex(vectors["public"]));
}

class ForeignSigner final : public Signer {
 public:
  [[nodiscard]] SignatureAlgorithm algorithm() const override {
    return SignatureAlgorithm::kEd25519;
  }
  [[nodiscard]] const KeyId& key_id() const override { return inner_.key_id(); }
  [[nodiscard]] const Bytes& public_key() const override { return inner_.public_key(); }
  [[nodiscard]] Result<Bytes> sign(ByteView message) const override { return inner_.sign(message); }

 private:
  const Signer& inner_ = signer(SignatureAlgorithm::kEd25519);
};

TEST(PrivateKey, KeyHeldElsewhere_CannotBeWritten) {
  EXPECT_EQ(code_of(encode_private_key(ForeignSigner(), secret(""))), "key-unusable");
}

}  // namespace
}  // namespace assay::attestation
