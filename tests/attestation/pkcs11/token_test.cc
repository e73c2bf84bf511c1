// SPDX-License-Identifier: Apache-2.0
// Keys in a token of SoftHSM: finding the one that a URI names, signing, and a token that is gone.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "attestation/keys.h"
#include "attestation/pkcs11/token_signer.h"
#include "tests/support/vectors.h"

namespace assay::attestation::pkcs11 {
namespace {

using assay::test::code_of;

constexpr const char* kPin = "not-1234";

SecretBytes secret(std::string_view text) { return SecretBytes(to_bytes(text)); }

// One token for the whole program, because SoftHSM reads its configuration once.
class Token {
 public:
  Token() {
    char name[] = "/tmp/assay-token-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::filesystem::create_directory(folder_ / "tokens");
    std::ofstream(folder_ / "conf") << "directories.tokendir = " << (folder_ / "tokens").string()
                                    << "\nobjectstore.backend = file\nlog.level = ERROR\n";
    ::setenv("SOFTHSM2_CONF", (folder_ / "conf").c_str(), 1);
    ::setenv("ASSAY_FRAIL_GONE", gone().c_str(), 1);
    ::unsetenv("PKCS11_MODULE_PATH");
    util(std::string("--init-token --free --label 'release keys' --so-pin 12345678 --pin ") + kPin);
    util(std::string("--init-token --free --label other --so-pin 12345678 --pin ") + kPin);
    const std::pair<const char*, const char*> keys[] = {
        {"p256", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"},
        {"p384", "-algorithm EC -pkeyopt ec_paramgen_curve:P-384"},
        {"p521", "-algorithm EC -pkeyopt ec_paramgen_curve:P-521"},
        {"rsa", "-algorithm RSA -pkeyopt rsa_keygen_bits:3072"},
        {"short", "-algorithm RSA -pkeyopt rsa_keygen_bits:1024"},
        {"ed", "-algorithm ED25519"},
        {"koblitz", "-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1"},
        {"twice", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"}};
    int id = 10;
    for (const auto& [label, options] : keys) {
      run(std::string("openssl genpkey ") + options + " -out " + file(label));
      import(label, label, id++);
    }
    import("p384", "twice", 30);
    run("openssl rand -out " + file("aes") + " 32");
    util("--import " + file("aes") + " --aes --token 'release keys' --label aes --id 40 --pin " +
         kPin);
  }
  ~Token() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_ / (name + ".pem")).string();
  }
  [[nodiscard]] std::string gone() const { return (folder_ / "gone").string(); }

 private:
  static void run(const std::string& command) {
    ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  }
  static void util(const std::string& arguments) {
    run(std::string(ASSAY_SOFTHSM_UTIL) + " " + arguments);
  }
  void import(const std::string& key, const std::string& label, int id) const {
    util("--import " + file(key) + " --token 'release keys' --label " + label + " --id " +
         std::to_string(id) + " --pin " + kPin);
  }

  std::filesystem::path folder_;
};

const Token& token() {
  static const Token made;
  return made;
}

std::string uri_of(const std::string& path, const std::string& module = ASSAY_SOFTHSM) {
  static_cast<void>(token());
  return "pkcs11:" + path + "?module-path=" + module;
}

Result<std::unique_ptr<TokenSigner>> load(const std::string& path, const char* pin = kPin) {
  return load_token_key(uri_of(path), secret(pin));
}

TEST(TokenKey, EachAlgorithm_SignsWhatOpenSslVerifies) {
  const struct {
    const char* label;
    const char* id;
    SignatureAlgorithm algorithm;
    const char* options;
  } rows[] = {{"p256", "%10", SignatureAlgorithm::kEcdsaP256, "-sha256"},
              {"p384", "%11", SignatureAlgorithm::kEcdsaP384, "-sha384"},
              {"p521", "%12", SignatureAlgorithm::kEcdsaP521, "-sha512"},
              {"rsa", "%13", SignatureAlgorithm::kRsaPss,
               "-sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32"}};
  for (const auto& row : rows) {
    const auto signer = load(std::string("token=release%20keys;object=") + row.label);
    ASSERT_TRUE(signer) << signer.error().detail;
    EXPECT_EQ((*signer)->algorithm(), row.algorithm);
    const Bytes signature = (*signer)->sign(as_bytes("message")).value();
    const auto half = PublicKey::from_der((*signer)->public_key()).value();
    EXPECT_EQ(half.id(), (*signer)->key_id());
    EXPECT_EQ(code_of(half.verify(as_bytes("message"), signature)), "ok");
    EXPECT_EQ(load_private_key(token().file(row.label), SecretBytes()).value()->key_id(),
              (*signer)->key_id());
    EXPECT_EQ(load(std::string("token=release%20keys;id=") + row.id).value()->key_id(),
              (*signer)->key_id());
    const std::string made = token().file("signature");
    std::ofstream(made, std::ios::binary) << as_text(signature);
    std::ofstream(made + ".message") << "message";
    std::ofstream(made + ".pub") << half.pem();
    const std::string command = std::string("openssl dgst ") + row.options + " -verify " + made +
                                ".pub -signature " + made + " " + made + ".message >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << row.label;
  }
}

TEST(TokenKey, WhatIsNoKeyThatSigns_IsRefused) {
  const struct {
    const char* path;
    const char* code;
    const char* says;
  } rows[] = {{"token=release%20keys;object=none", "key-unusable", "no such object"},
              {"token=nowhere;object=p256", "key-unusable", "no token"},
              {"serial=1;object=p256", "key-unusable", "no token"},
              {"object=p256", "key-unusable", "several tokens"},
              {"token=release%20keys;object=twice", "key-unusable", "several private keys"},
              {"token=release%20keys;object=p256;id=%11", "key-unusable", "no such object"},
              {"token=release%20keys;object=aes", "key-unusable", "no private key"},
              {"token=release%20keys;object=ed", "unsupported-key", "Ed25519"},
              {"token=release%20keys;object=koblitz", "unsupported-key", "P-256"},
              {"token=release%20keys;object=short", "unsupported-key", "2048"}};
  for (const auto& row : rows) {
    const auto signer = load(row.path);
    ASSERT_EQ(code_of(signer), row.code) << row.path;
    EXPECT_NE(signer.error().detail.find(row.says), std::string::npos) << signer.error().detail;
    EXPECT_FALSE(signer.error().where.empty());
  }
}

TEST(TokenKey, IdTellsKeysOfOneLabelApart) {
  const auto one = load("token=release%20keys;object=twice;id=%30");
  ASSERT_TRUE(one) << one.error().detail;
  EXPECT_EQ((*one)->algorithm(), SignatureAlgorithm::kEcdsaP384);
}

TEST(TokenKey, Pin_IsWantedAndRight) {
  for (const auto& [pin, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "wants a PIN"}, {"1234", "refuses the PIN"}}) {
    const auto signer = load("token=release%20keys;object=p256", pin);
    ASSERT_EQ(code_of(signer), "key-unusable");
    EXPECT_NE(signer.error().detail.find(says), std::string::npos) << signer.error().detail;
  }
  EXPECT_EQ(code_of(load("token=release%20keys;object=p256", std::string(256, '1').c_str())),
            "key-unusable");
}

TEST(TokenKey, PinSource_IsAFileThatIsGuarded) {
  const std::string file = token().file("pin");
  std::ofstream(file) << kPin << "\n";
  const std::string uri = uri_of("token=release%20keys;object=p256") + "&pin-source=" + file;
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_EQ(code_of(load_token_key(uri, SecretBytes())), "key-unusable");
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  EXPECT_EQ(code_of(load_token_key(uri, SecretBytes())), "ok");
  EXPECT_EQ(code_of(load_token_key(uri + "x", SecretBytes())), "file-unreadable");
}

TEST(TokenKey, Module_MustBeOne) {
  const struct {
    std::string uri;
    const char* says;
  } rows[] = {{"pkcs11:object=p256", "module-path"},
              {"pkcs11:object=p256?module-path=/nowhere.so", "cannot be loaded"},
              {uri_of("object=p256", token().file("aes")), "cannot be loaded"}};
  for (const auto& row : rows) {
    const auto signer = load_token_key(row.uri, secret(kPin));
    ASSERT_EQ(code_of(signer), "key-unusable");
    EXPECT_NE(signer.error().detail.find(row.says), std::string::npos) << signer.error().detail;
  }
  ::setenv("PKCS11_MODULE_PATH", ASSAY_SOFTHSM, 1);
  EXPECT_EQ(code_of(load_token_key("pkcs11:token=release%20keys;object=p256", secret(kPin))), "ok");
  ::unsetenv("PKCS11_MODULE_PATH");
}

TEST(TokenKey, FilesAndUris_AreLoadedByOneFunction) {
  const std::string uri = uri_of("token=release%20keys;object=p256");
  EXPECT_EQ(load_signing_key(uri, secret(kPin)).value()->key_id(),
            load_signing_key(token().file("p256"), SecretBytes()).value()->key_id());
}

class Frail : public testing::Test {
 protected:
  Frail() {
    signer_ = load_token_key(uri_of("token=release%20keys;object=p256",
                                    ASSAY_BINARY_DIR "/plugins/frail_module.so"),
                             secret(kPin))
                  .value();
  }
  ~Frail() override { std::filesystem::remove(token().gone()); }
  static void pull() { std::ofstream(token().gone()) << "x"; }
  static void put_back() { std::filesystem::remove(token().gone()); }
  std::string signs() { return code_of(signer_->sign(as_bytes("m"))); }

  std::unique_ptr<TokenSigner> signer_;
};

TEST_F(Frail, TokenThatIsGone_SignsNothingUntilItIsLookedAtAgain) {
  EXPECT_EQ(signs(), "ok");
  pull();
  EXPECT_EQ(signs(), "unavailable");
  EXPECT_EQ(code_of(signer_->state()), "unavailable");
  EXPECT_EQ(code_of(signer_->look()), "unavailable");
  put_back();
  EXPECT_EQ(signs(), "unavailable") << "only look() takes it back";
  EXPECT_EQ(code_of(signer_->look()), "ok");
  EXPECT_EQ(code_of(signer_->state()), "ok");
  EXPECT_EQ(signs(), "ok");
}

TEST_F(Frail, TokenThatIsGone_IsNoticedBeforeAnybodySigns) {
  EXPECT_EQ(code_of(signer_->look()), "ok");
  pull();
  EXPECT_EQ(code_of(signer_->look()), "unavailable");
  EXPECT_EQ(signs(), "unavailable");
  put_back();
  EXPECT_EQ(code_of(signer_->look()), "ok");
  EXPECT_EQ(signs(), "ok");
}

// Otherwise a service whose PIN was changed would lock its token within seconds.
TEST_F(Frail, PinThatIsRefusedOnce_IsNotTriedAgain) {
  const std::string tries = token().file("tries");
  std::ofstream(tries).close();
  ::setenv("ASSAY_FRAIL_PIN", tries.c_str(), 1);
  pull();
  EXPECT_EQ(code_of(signer_->look()), "unavailable");
  put_back();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(code_of(signer_->look()), "unavailable");
  }
  EXPECT_EQ(std::filesystem::file_size(tries), 1U);
  ::unsetenv("ASSAY_FRAIL_PIN");
  EXPECT_EQ(code_of(signer_->look()), "unavailable") << "only a restart tries it again";
}

TEST_F(Frail, ManyThreads_ShareAKey) {
  const auto half = PublicKey::from_der(signer_->public_key()).value();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto signature = signer_->sign(as_bytes("m"));
        wrong[t] += signature && half.verify(as_bytes("m"), *signature) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace assay::attestation::pkcs11
