// SPDX-License-Identifier: Apache-2.0
// Which certificates and keys a listener takes. openssl(1) makes them; a client that offers what
// ours offer tells whether those that are taken can be used.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "server/http/self_signed.h"
#include "server/http/tls.h"

namespace assay::server {
namespace {

class Credentials : public testing::Test {
 protected:
  Credentials() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-tls-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Credentials() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  void openssl(const std::string& arguments) const {
    const std::string command =
        "cd '" + folder_.string() + "' && umask 077 && openssl " + arguments + " >/dev/null 2>log";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  // NAME.key and a certificate that it signed itself, NAME.crt.
  void make(const std::string& name, const std::string& key, const std::string& more = "") const {
    openssl("genpkey " + key + " -out " + name + ".key");
    openssl("req -x509 -days 30 -subj /CN=" + name + " -key " + name + ".key -out " + name +
            ".crt " + more);
  }
  [[nodiscard]] Status load(const std::string& certificate, const std::string& key,
                            Timestamp now = SystemClock().now()) const {
    const auto context =
        make_tls_context({path(certificate), path(key), ClientCertificate::kRequired}, now);
    return context ? Status() : std::unexpected(context.error());
  }
  // What is said of the pair; empty when it is taken.
  [[nodiscard]] std::string refused(const std::string& certificate, const std::string& key) const {
    const Status loaded = load(certificate, key);
    EXPECT_TRUE(loaded || loaded.error().code == ErrorCode::kInvalidConfig);
    return loaded ? "" : loaded.error().detail;
  }
  void join(const std::string& to, std::initializer_list<const char*> names) const {
    std::ofstream out(path(to));
    for (const char* name : names) {
      out << std::ifstream(path(name)).rdbuf();
    }
  }

  std::filesystem::path folder_;
};

TEST_F(Credentials, KeysThatCanSign_AreTaken) {
  const std::pair<const char*, const char*> keys[] = {
      {"ed25519", "-algorithm ed25519"},
      {"p256", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"},
      {"p384", "-algorithm EC -pkeyopt ec_paramgen_curve:P-384"},
      {"rsa2048", "-algorithm RSA -pkeyopt rsa_keygen_bits:2048"}};
  for (const auto& [name, key] : keys) {
    make(name, key);
    EXPECT_EQ(refused(std::string(name) + ".crt", std::string(name) + ".key"), "") << name;
  }
}

TEST_F(Credentials, KeysThatNoClientTakes_AreRefusedByName) {
  const std::pair<const char*, const char*> keys[] = {
      {"secp521r1", "-algorithm EC -pkeyopt ec_paramgen_curve:P-521"},
      {"secp256k1", "-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1"},
      {"ED448", "-algorithm ed448"},
      {"RSA-PSS", "-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048"},
      {"RSA of 1024 bits", "-algorithm RSA -pkeyopt rsa_keygen_bits:1024"}};
  for (const auto& [name, key] : keys) {
    make("k", key);
    const std::string said = refused("k.crt", "k.key");
    EXPECT_NE(said.find(name), std::string::npos) << name << ": " << said;
    EXPECT_NE(said.find("usable keys are Ed25519, ECDSA on P-256 or P-384, and RSA"),
              std::string::npos)
        << said;
  }
}

TEST_F(Credentials, KeyOfAnotherCertificate_IsRefused) {
  make("a", "-algorithm ed25519");
  make("b", "-algorithm ed25519");
  make("c", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256");
  for (const char* key : {"b.key", "c.key"}) {
    EXPECT_NE(refused("a.crt", key).find("does not belong"), std::string::npos) << key;
  }
}

// Root, issuer and leaf as a CA gives them out.
TEST_F(Credentials, ChainWithoutTheIssuer_IsRefused) {
  make("root", "-algorithm ed25519");
  make("other", "-algorithm ed25519");
  openssl("genpkey -algorithm ed25519 -out leaf.key");
  openssl("req -new -subj /CN=leaf -key leaf.key -out leaf.csr");
  openssl(
      "x509 -req -days 9 -in leaf.csr -CA root.crt -CAkey root.key -set_serial 7 -out leaf.crt");
  EXPECT_EQ(refused("leaf.crt", "leaf.key"), "") << "the client knows the issuer";
  join("whole.crt", {"leaf.crt", "root.crt"});
  EXPECT_EQ(refused("whole.crt", "leaf.key"), "");
  join("more.crt", {"leaf.crt", "other.crt", "root.crt"});
  EXPECT_EQ(refused("more.crt", "leaf.key"), "") << "clients skip what they do not need";
  join("wrong.crt", {"leaf.crt", "other.crt"});
  EXPECT_NE(refused("wrong.crt", "leaf.key").find("has issued the first one"), std::string::npos);
  join("turned.crt", {"root.crt", "leaf.crt"});
  EXPECT_NE(refused("turned.crt", "leaf.key").find("first certificate"), std::string::npos);
  // An issuer of the same name with another key.
  openssl("req -x509 -days 30 -subj /CN=root -key other.key -out namesake.crt");
  join("namesake.crts", {"leaf.crt", "namesake.crt"});
  EXPECT_NE(refused("namesake.crts", "leaf.key"), "");
}

TEST_F(Credentials, CertificateThatHasEnded_IsRefused) {
  const Timestamp now = SystemClock().now();
  ASSERT_TRUE(make_self_signed({path("t.crt"), path("t.key"), "127.0.0.1", now}));
  const Timestamp end = certificate_end(path("t.crt")).value();
  EXPECT_TRUE(load("t.crt", "t.key", end - std::chrono::seconds(1)));
  const Status ended = load("t.crt", "t.key", end);
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().detail.find("ended at"), std::string::npos);
  EXPECT_TRUE(load("t.crt", "t.key", now - std::chrono::hours(1))) << "it is valid in a moment";
}

TEST_F(Credentials, KeyFile_MustBeGuardedAndSayWhatItIs) {
  make("a", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256");
  std::filesystem::create_symlink("a.key", path("link.key"));
  EXPECT_EQ(refused("a.crt", "link.key"), "") << "as in a volume of Kubernetes";
  openssl("ec -in a.key -out sec1.key");
  EXPECT_EQ(refused("a.crt", "sec1.key"), "") << "TLS keys may have any form of OpenSSL";
  openssl("pkcs8 -topk8 -in a.key -out encrypted.key -passout pass:x");
  EXPECT_NE(refused("a.crt", "encrypted.key").find("openssl pkey"), std::string::npos);
  EXPECT_NE(refused("a.crt", "a.crt").find("this is a certificate"), std::string::npos);
  EXPECT_NE(refused("a.key", "a.key").find("no readable PEM certificate"), std::string::npos);
  for (const mode_t mode : {0644U, 0640U, 0604U}) {
    ASSERT_EQ(::chmod(path("a.key").c_str(), mode), 0);
    EXPECT_NE(refused("a.crt", "a.key").find("chmod 600"), std::string::npos) << std::oct << mode;
  }
}

}  // namespace
}  // namespace assay::server
