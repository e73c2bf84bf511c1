// SPDX-License-Identifier: Apache-2.0
// Files that change, vanish or turn into something else while they are hashed. No sleeps: changes
// are made from the progress callback, or between two calls.
#include "gpu_hash/source_file.h"

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;

// An old modification time, so that any write shows whatever the clock's step is.
fs::path old_file(const TempDir& dir, std::string_view name, const Bytes& content) {
  const fs::path path = dir.write(name, content);
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  return path;
}

class FaultsWhileHashing : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    engine_ = GetParam() == "cpu" ? make_cpu_engine(1) : opencl_engine();
    if (engine_ == nullptr) {
      GTEST_SKIP() << "no OpenCL device";
    }
  }

  // Hashes a file of 8 MiB and runs `change` after its first bytes.
  void expect_changed(const std::function<void(const fs::path&)>& change) {
    const TempDir dir;
    const fs::path path = old_file(dir, "weights.bin", pattern(8U << 20));
    bool changed = false;
    const auto result = hash_artifact(path, {}, *engine_, [&](std::uint64_t, std::uint64_t) {
      if (!changed) {
        changed = true;
        change(path);
      }
    });
    ASSERT_TRUE(changed);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kFileChanged) << to_string(result.error());
    EXPECT_EQ(result.error().where, "weights.bin");
  }

  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Engines, FaultsWhileHashing, testing::Values("cpu", "opencl"),
                         [](const auto& test) { return test.param; });

TEST_P(FaultsWhileHashing, Shrinks_IsFileChanged) {
  expect_changed([](const fs::path& path) { fs::resize_file(path, 100); });
}

TEST_P(FaultsWhileHashing, Grows_IsFileChanged) {
  expect_changed([](const fs::path& path) { fs::resize_file(path, 9U << 20); });
}

TEST_P(FaultsWhileHashing, OneByteRewritten_IsFileChanged) {
  expect_changed([](const fs::path& path) {
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << "x";
  });
}

TEST_P(FaultsWhileHashing, RewrittenWithTheOldTime_IsFileChanged) {
  expect_changed([](const fs::path& path) {
    struct stat before{};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << "x";
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  });
}

TEST_P(FaultsWhileHashing, ReplacedByAnother_IsFileChanged) {
  expect_changed([](const fs::path& path) {
    const fs::path other = path.parent_path() / "other";
    fs::copy_file(path, other);
    fs::rename(other, path);
  });
}

TEST_P(FaultsWhileHashing, Removed_IsFileChanged) {
  expect_changed([](const fs::path& path) { fs::remove(path); });
}

// The first file is done when the second one is read: the artifact must still not be accepted.
TEST_P(FaultsWhileHashing, EarlierFileChanges_IsFileChanged) {
  const TempDir dir;
  const fs::path first = old_file(dir, "a", pattern(10));
  old_file(dir, "b", pattern(8U << 20));
  const auto result =
      hash_artifact(dir.path(), {}, *engine_, [&](std::uint64_t done, std::uint64_t total) {
        if (done == total) {
          fs::resize_file(first, 11);
        }
      });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kFileChanged);
  EXPECT_EQ(result.error().where, "a");
}

TEST_P(FaultsWhileHashing, InputError_IsFileUnreadable) {
  // Reading this file at 0 fails with EIO for everybody, root included.
  const auto source = SourceFile::find("/proc/self/mem");
  ASSERT_TRUE(source.has_value());
  const Region region = file_region(*source, 0, 100);
  const auto result = engine_->hash({&region, 1}, HashRequest{});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kFileUnreadable);
}

TEST_P(FaultsWhileHashing, SparseFile_HashesAsZeros) {
  const TempDir dir;
  const fs::path path = dir.write("sparse", "");
  fs::resize_file(path, (3U << 20) + 17);
  const auto result = hash_object(path, HashRequest{}, *engine_);
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  EXPECT_EQ(result->root, reference_root({}, Bytes((3U << 20) + 17)));
}

// What an engine relies on while it holds the file open.
TEST(SourceFile, ReadAfterARewrite_IsFileChanged) {
  const TempDir dir;
  const fs::path path = old_file(dir, "file", pattern(100));
  const auto source = SourceFile::find(path);
  ASSERT_TRUE(source.has_value());
  const auto opened = (*source)->open();
  ASSERT_TRUE(opened.has_value());
  Bytes out(10);
  ASSERT_TRUE((*opened)->read(0, out).has_value());
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << "x";
  const Status second = (*opened)->read(50, out);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kFileChanged);
  EXPECT_EQ(second.error().where, "file");
}

TEST(SourceFile, FifoInItsPlace_IsFileChangedAndDoesNotBlock) {
  const TempDir dir;
  const fs::path path = dir.write("file", "content");
  const auto source = SourceFile::find(path);
  ASSERT_TRUE(source.has_value());
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto opened = (*source)->open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kFileChanged);
}

TEST(SourceFile, NotRegular_IsUnsupportedFileType) {
  const TempDir dir;
  dir.write("file", "x");
  fs::create_symlink("file", dir.path() / "link");
  ASSERT_EQ(::mkfifo((dir.path() / "fifo").c_str(), 0600), 0);
  for (const fs::path& path :
       {dir.path() / "link", dir.path() / "fifo", dir.path(), fs::path("/dev/null")}) {
    const auto source = SourceFile::find(path);
    ASSERT_FALSE(source.has_value()) << path;
    EXPECT_EQ(source.error().code, ErrorCode::kUnsupportedFileType) << path;
  }
}

TEST(SourceFile, Missing_IsFileUnreadable) {
  const TempDir dir;
  const auto source = SourceFile::find(dir.path() / "nothing");
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(source.error().where, "nothing");
}

TEST(SourceFile, OpenedTwice_SharesOneDescriptor) {
  const TempDir dir;
  const auto source = SourceFile::find(dir.write("file", "x"));
  ASSERT_TRUE(source.has_value());
  const auto first = (*source)->open();
  const auto second = (*source)->open();
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(*first, *second);
}

}  // namespace
}  // namespace assay::gpu_hash::test
