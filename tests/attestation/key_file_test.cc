// SPDX-License-Identifier: Apache-2.0
// Private keys on disk: who may read them, and never overwriting one.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

namespace fs = std::filesystem;
using test::code_of;
using test::kAlgorithms;
using test::signer;

SecretBytes secret(std::string_view text) { return SecretBytes(to_bytes(text)); }

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay-keys-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name = "key.pem") const {
    return (folder_ / name).string();
  }
  // Saves a key; the passphrase is empty or not.
  void save(std::string_view passphrase = "") const {
    ASSERT_TRUE(save_private_key(signer(SignatureAlgorithm::kEd25519), path(), secret(passphrase)));
  }
  [[nodiscard]] std::string load(std::string_view passphrase = "") const {
    return code_of(load_private_key(path(), secret(passphrase)));
  }

  fs::path folder_;
};

TEST_F(KeyFile, SavedKey_LoadsAndSigns) {
  for (const auto algorithm : kAlgorithms) {
    for (const char* passphrase : {"", "secret"}) {
      const std::string file = path(*passphrase == '\0' ? name(algorithm).data() : "encrypted");
      ASSERT_TRUE(save_private_key(signer(algorithm), file, secret(passphrase)));
      const auto key = load_private_key(file, secret(passphrase));
      ASSERT_TRUE(key) << to_string(key.error());
      EXPECT_EQ((*key)->key_id(), signer(algorithm).key_id());
      const auto verifier = PublicKey::from_der(signer(algorithm).public_key());
      EXPECT_TRUE(verifier->verify(as_bytes("m"), *(*key)->sign(as_bytes("m"))));
      fs::remove(file);
    }
  }
}

TEST_F(KeyFile, NewFile_IsForItsOwnerAlone) {
  const mode_t before = ::umask(0);
  save();
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(KeyFile, ExistingFile_IsNeverOverwritten) {
  save();
  const std::string before = test::read_file(path());
  EXPECT_EQ(code_of(save_private_key(signer(SignatureAlgorithm::kEd25519, 1), path(), secret(""))),
            "conflict");
  EXPECT_EQ(test::read_file(path()), before);
  fs::create_symlink(folder_ / "nowhere", path("link"));
  EXPECT_EQ(
      code_of(save_private_key(signer(SignatureAlgorithm::kEd25519), path("link"), secret(""))),
      "conflict");
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
}

// Half a key under the name of a key would be taken for one until it is needed.
TEST_F(KeyFile, FullDisk_LeavesNoFile) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight = {16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const std::string code =
      code_of(save_private_key(signer(SignatureAlgorithm::kEd25519), path(), secret("")));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(code, "key-unusable");
  EXPECT_FALSE(fs::exists(path()));
  save();
  EXPECT_EQ(load(), "ok");
}

TEST_F(KeyFile, FolderThatIsNotThere_IsUnusable) {
  EXPECT_EQ(code_of(save_private_key(signer(SignatureAlgorithm::kEd25519), path("no/key.pem"),
                                     secret(""))),
            "key-unusable");
}

TEST_F(KeyFile, AccessOfOthers_IsRefusedUnlessEncrypted) {
  save();
  for (const mode_t mode : {0640U, 0604U, 0660U, 0610U, 0601U, 0620U, 0602U, 0777U}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_EQ(load(), "key-unusable") << std::oct << mode;
  }
  for (const mode_t mode : {0600U, 0400U}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_EQ(load(), "ok") << std::oct << mode;
  }
  fs::remove(path());
  save("secret");
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  EXPECT_EQ(load("secret"), "ok");
  EXPECT_EQ(load("wrong"), "key-unusable");
}

TEST_F(KeyFile, FileOfAnotherUser_IsRefusedUnlessEncrypted) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to give a file away";
  }
  save();
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  EXPECT_EQ(load(), "key-unusable");
  fs::remove(path());
  save("secret");
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  EXPECT_EQ(load("secret"), "ok");
}

// A text that only claims to be encrypted gets no milder rules: it does not parse.
TEST_F(KeyFile, PlainKeyUnderTheEncryptedLabel_IsUnusable) {
  save();
  std::string text = test::read_file(path());
  for (std::size_t i = 0; (i = text.find(" PRIVATE", i)) != std::string::npos; i += 20) {
    text.insert(i, " ENCRYPTED");
  }
  std::ofstream(path()) << text;
  EXPECT_EQ(load(), "key-unusable");
  EXPECT_EQ(load("secret"), "key-unusable");
}

TEST_F(KeyFile, SymbolicLink_IsFollowed_AndWhatItLeadsToCounts) {
  save();
  fs::create_symlink(path(), path("link"));
  EXPECT_EQ(code_of(load_private_key(path("link"), secret(""))), "ok");
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  EXPECT_EQ(code_of(load_private_key(path("link"), secret(""))), "key-unusable");
}

TEST_F(KeyFile, WhatIsNoRegularFile_IsRefusedWithoutWaiting) {
  EXPECT_EQ(code_of(load_private_key(folder_.string(), secret(""))), "key-unusable");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(code_of(load_private_key(path("pipe"), secret(""))), "key-unusable");
  EXPECT_EQ(code_of(load_private_key("/dev/null", secret(""))), "key-unusable");
  EXPECT_EQ(code_of(load_private_key(path("nothing"), secret(""))), "key-unusable");
}

TEST_F(KeyFile, EmptyOrHugeFile_IsUnusable) {
  std::ofstream(path()).close();
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_EQ(load(), "key-unusable");
  std::ofstream(path()) << std::string(1U << 20, 'A');
  EXPECT_EQ(load(), "key-unusable");
}

}  // namespace
}  // namespace assay::attestation
