// SPDX-License-Identifier: Apache-2.0
// Who may read a file with a secret, however it is reached.
#include "schemas/posix/secret_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <grp.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLimit = 64;
constexpr uid_t kUser = 12345;
constexpr gid_t kGroup = 23456;

std::string code_of(const Result<SecretBytes>& result) {
  return result ? "ok" : std::string(info(result.error().code).code);
}

class SecretFileTest : public testing::Test {
 protected:
  SecretFileTest() {
    std::string pattern = (fs::temp_directory_path() / "assay-secret-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ::chmod(folder_.c_str(), 0755);
    std::ofstream(path()) << "secret";
    ::chmod(path().c_str(), 0600);
  }
  ~SecretFileTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name = "key") const { return folder_ / name; }
  void change(mode_t mode, uid_t user, gid_t group) const {
    ASSERT_EQ(::chown(path().c_str(), user, group), 0);
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
  }
  [[nodiscard]] std::string read() const { return code_of(read_guarded(path(), kLimit)); }

  // What a process of this user and these groups finds.
  [[nodiscard]] std::string read_as(uid_t user, gid_t group, std::vector<gid_t> others = {}) const {
    int ends[2];
    if (::pipe(ends) != 0) {
      return "no pipe";
    }
    const pid_t child = ::fork();
    if (child == 0) {
      const bool changed = ::setgroups(others.size(), others.data()) == 0 &&
                           ::setresgid(group, group, group) == 0 &&
                           ::setresuid(user, user, user) == 0;
      const std::string said = changed ? read() : "not changed";
      ::_exit(::write(ends[1], said.data(), said.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string said(64, '\0');
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], said.data(), 64), 0)));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return said;
  }

  fs::path folder_;
};

TEST_F(SecretFileTest, OwnFile_IsReadWhenNobodyElseHasAccess) {
  for (const mode_t mode : {0600U, 0400U}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    const auto secret = read_guarded(path(), kLimit);
    ASSERT_TRUE(secret) << std::oct << mode;
    EXPECT_EQ(as_text(secret->view()), "secret");
  }
  for (const mode_t mode : {0640U, 0604U, 0610U, 0601U, 0620U, 0602U, 0660U, 0644U, 0777U}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_EQ(read(), "key-unusable") << std::oct << mode;
  }
}

// As in a volume of Kubernetes: the file is a link to "..data/", and that is one to the version.
TEST_F(SecretFileTest, LinksAreFollowed_AndWhatTheyLeadToCounts) {
  fs::create_directory(folder_ / "..v1");
  fs::rename(path(), folder_ / "..v1/key");
  fs::create_symlink("..v1", folder_ / "..data");
  fs::create_symlink("..data/key", path());
  EXPECT_EQ(read(), "ok");
  ASSERT_EQ(::chmod((folder_ / "..v1/key").c_str(), 0644), 0);
  EXPECT_EQ(read(), "key-unusable");
  fs::remove(folder_ / "..v1/key");
  EXPECT_EQ(read(), "file-unreadable");
}

TEST_F(SecretFileTest, WhatIsNoRegularFile_IsRefusedWithoutWaiting) {
  EXPECT_EQ(code_of(read_guarded(folder_, kLimit)), "key-unusable");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(code_of(read_guarded(path("pipe"), kLimit)), "key-unusable");
  fs::create_symlink("/dev/zero", path("device"));
  EXPECT_EQ(code_of(read_guarded(path("device"), kLimit)), "key-unusable");
}

TEST_F(SecretFileTest, FileBeyondTheLimit_IsRefused) {
  std::ofstream(path()) << std::string(kLimit, 'x');
  EXPECT_EQ(read(), "ok");
  std::ofstream(path()) << std::string(kLimit + 1, 'x');
  EXPECT_EQ(read(), "limit-exceeded");
}

TEST_F(SecretFileTest, FileOfSomebodyElse_IsRefusedUnlessItIsRoots) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to be somebody else";
  }
  change(0600, kUser, kGroup);
  EXPECT_EQ(read(), "key-unusable") << "root takes no secret of a user";
  EXPECT_EQ(read_as(kUser, kGroup), "ok");
  change(0644, kUser + 1, kGroup);
  EXPECT_EQ(read_as(kUser, kGroup), "key-unusable");
  change(0640, kUser + 1, kGroup);
  EXPECT_EQ(read_as(kUser, kGroup), "key-unusable") << "only root gives by a group";
}

// fsGroup of a pod: the kubelet leaves the file to root, and lets the pod's group read it.
TEST_F(SecretFileTest, RootsFile_MayBeReadableByAGroupOfTheProcess) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to be somebody else";
  }
  for (const mode_t mode : {0440U, 0640U}) {
    change(mode, 0, kGroup);
    EXPECT_EQ(read_as(kUser, kUser, {kGroup}), "ok") << std::oct << mode;
    EXPECT_EQ(read_as(kUser, kGroup), "ok") << std::oct << mode;
    EXPECT_EQ(read_as(0, 0, {kGroup}), "ok") << "a pod that runs as root";
    EXPECT_EQ(read_as(0, 0), "key-unusable") << "readable by a group that is none of root's";
    EXPECT_EQ(read_as(kUser, kUser), "file-unreadable") << std::oct << mode;
  }
  for (const mode_t mode : {0460U, 0660U, 0450U, 0444U, 0644U}) {
    change(mode, 0, kGroup);
    EXPECT_EQ(read_as(kUser, kUser, {kGroup}), "key-unusable") << std::oct << mode;
  }
}

}  // namespace
}  // namespace assay
