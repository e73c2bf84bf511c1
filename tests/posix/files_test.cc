// SPDX-License-Identifier: Apache-2.0
// Owners of descriptors, opening below a directory, reading and writing all.
#include "schemas/posix/files.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace assay {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-posix-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    fs::create_directories(top_ / "inside/deep");
    put(top_ / "inside/deep/file", "0123456789");
    base_ = Descriptor(::open((top_ / "inside").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(base_);
  }
  void TearDown() override { fs::remove_all(top_); }

  static void put(const fs::path& path, std::string_view text) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_all(file.get(), as_bytes(text)));
  }
  // 0 when `path` opens, else why not.
  [[nodiscard]] int why_not(std::string_view path) const {
    errno = 0;
    const Descriptor file = open_below(base_.get(), path, O_RDONLY);
    return file ? 0 : errno;
  }

  fs::path top_;
  Descriptor base_;
};

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST_F(Files, ADescriptor_ClosesOnceWhatItOwns) {
  Descriptor first(::dup(base_.get()));
  const int number = first.get();
  Descriptor second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is what is tested
  EXPECT_TRUE(is_open(number));
  const int other = ::dup(base_.get());
  second = Descriptor(other);
  EXPECT_FALSE(is_open(number));
  EXPECT_TRUE(second.close());
  EXPECT_FALSE(is_open(other));
  EXPECT_TRUE(second.close());  // nothing left to close
  Descriptor broken(::dup(base_.get()));
  ASSERT_EQ(::close(broken.get()), 0);
  EXPECT_FALSE(broken.close());
  EXPECT_EQ(errno, EBADF);
}

TEST_F(Files, OpenBelow_ReachesWhatLiesThere) {
  const Descriptor file = open_below(base_.get(), "deep/file", O_RDONLY);
  ASSERT_TRUE(file);
  EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(why_not("deep"), 0);
  EXPECT_EQ(why_not("deep/none"), ENOENT);
  EXPECT_EQ(why_not("deep/file/none"), ENOTDIR);
}

TEST_F(Files, OpenBelow_FollowsNoLinkAnywhere) {
  fs::create_symlink("file", top_ / "inside/deep/link");
  fs::create_directory_symlink("deep", top_ / "inside/way");
  EXPECT_EQ(why_not("deep/link"), ELOOP);
  EXPECT_EQ(why_not("way/file"), ENOTDIR);
}

TEST_F(Files, OpenBelow_NeverLeadsUp) {
  put(top_ / "outside", "x");
  for (const char* path : {"../outside", "deep/../../outside", "..", ".", "./deep", "", "/deep",
                           "deep//file", "deep/", "/etc/passwd"}) {
    EXPECT_EQ(why_not(path), EINVAL) << path;
  }
}

TEST_F(Files, Reads_SayHowMuchThereWas) {
  const Descriptor file = open_below(base_.get(), "deep/file", O_RDONLY);
  std::array<std::uint8_t, 4> some{};
  EXPECT_EQ(read_at(file.get(), 3, some), 4);
  EXPECT_EQ(as_text(some), "3456");
  EXPECT_EQ(read_at(file.get(), 8, some), 2);
  EXPECT_EQ(read_at(file.get(), 10, some), 0);
  EXPECT_EQ(read_at(-1, 0, some), -1);
  Bytes all(100);
  EXPECT_EQ(read_up_to(file.get(), all), 10);
  EXPECT_EQ(read_up_to(base_.get(), all), -1);
}

TEST_F(Files, APipe_IsReadInAsManyPiecesAsItComes) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor out(ends[0]);
  Descriptor in(ends[1]);
  ASSERT_TRUE(write_all(in.get(), as_bytes("ab")));
  ASSERT_TRUE(write_all(in.get(), as_bytes("cd")));
  ASSERT_TRUE(in.close());
  Bytes bytes(10);
  EXPECT_EQ(read_up_to(out.get(), bytes), 4);
}

TEST_F(Files, WriteAll_IsFalseWhereNothingCanBeWritten) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(write_all(full.get(), as_bytes("x")));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_TRUE(write_all(full.get(), {}));
}

TEST_F(Files, SyncFolderOf_NeedsTheFolder) {
  EXPECT_TRUE(sync_folder_of((top_ / "new").string()));
  EXPECT_TRUE(sync_folder_of("new"));
  EXPECT_FALSE(sync_folder_of((top_ / "none/new").string()));
}

}  // namespace
}  // namespace assay
