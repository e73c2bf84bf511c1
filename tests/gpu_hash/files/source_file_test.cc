// SPDX-License-Identifier: Apache-2.0
// Files that change, vanish or turn into something else while they are hashed, and reads past the
// page cache. No sleeps: changes are made from the progress callback, or between two calls.
#include "gpu_hash/source_file.h"

#include <array>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/model/plan.h"
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

// A writer from before the first read: no lease is granted then, so times alone must show what it
// does, and a test that writes from the thread that reads does not wait for itself.
Descriptor writer_of(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(fd));
  return fd;
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
    const Descriptor writer = writer_of(path);
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
  const Descriptor writer = writer_of(first);
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

// The file that it led to is as it was.
TEST_P(FaultsWhileHashing, LinkThatLeadsElsewhereNow_IsFileChanged) {
  for (const std::string place : {"", "/w"}) {  // of a directory, and of a file in one
    const TempDir dir;
    old_file(dir, "one/w", pattern(3U << 20));
    old_file(dir, "two/w", pattern(3U << 20));
    const fs::path link = dir.path() / ("link" + place);
    fs::create_directories(link.parent_path());
    const std::string up = place.empty() ? "" : "../";
    fs::create_symlink(up + "one" + place, link);
    ArtifactOptions options;
    options.parameters.follow_symlinks = true;
    bool changed = false;
    const auto result =
        hash_artifact(dir.path(), options, *engine_, [&](std::uint64_t, std::uint64_t) {
          if (!changed) {
            changed = true;
            fs::remove(link);
            fs::create_symlink(up + "two" + place, link);
          }
        });
    ASSERT_TRUE(changed);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kFileChanged) << to_string(result.error());
    EXPECT_EQ(result.error().where, "link/w");
  }
}

// The directory is held open for the next file: it is still the old one that is read.
TEST_P(FaultsWhileHashing, DirectoryReplaced_IsFileChanged) {
  const TempDir dir;
  for (const char* name : {"sub/a", "sub/b", "sub/c"}) {
    old_file(dir, name, pattern(3U << 20));
  }
  bool changed = false;
  const auto result = hash_artifact(dir.path(), {}, *engine_, [&](std::uint64_t, std::uint64_t) {
    if (!changed) {
      changed = true;
      fs::rename(dir.path() / "sub", dir.path() / "old");
      fs::copy(dir.path() / "old", dir.path() / "sub");
    }
  });
  ASSERT_TRUE(changed);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kFileChanged) << to_string(result.error());
  EXPECT_EQ(result.error().where, "sub/a");
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
  const auto source = SourceFile::find(path);
  ASSERT_TRUE(source.has_value()) << to_string(source.error());
  EXPECT_EQ(hash_one(*engine_, {}, file_region(*source), 0).root,
            reference_root({}, Bytes((3U << 20) + 17)));
}

// What an engine relies on while it holds the file open.
TEST(SourceFile, ReadAfterARewrite_IsFileChanged) {
  const TempDir dir;
  const fs::path path = old_file(dir, "file", pattern(100));
  const Descriptor writer = writer_of(path);
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

TEST(SourceFile, WrittenUnderItsOtherName_IsFileChanged) {
  const TempDir dir;
  const fs::path path = old_file(dir, "file", pattern(100));
  fs::create_hard_link(path, dir.path() / "other");
  const auto source = SourceFile::find(path);
  ASSERT_TRUE(source.has_value());
  std::fstream(dir.path() / "other", std::ios::binary | std::ios::in | std::ios::out) << "x";
  const Status status = (*source)->check_unchanged();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kFileChanged);
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

// --- Past the page cache

// Drops the file from the page cache. Whether reads go past it now: all of it has left the cache,
// and the file system has such reads.
bool make_cold(const fs::path& path) {
  const Descriptor direct(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  const Descriptor cached(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::fsync(cached.get()), 0);
  EXPECT_EQ(::posix_fadvise(cached.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  const std::size_t size = fs::file_size(path);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, cached.get(), 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool told = ::mincore(memory, size, pages.data()) == 0;
  ::munmap(memory, size);
  return direct && told &&
         std::ranges::all_of(pages, [](unsigned char one) { return (one & 1U) == 0; });
}

class ReadOnce : public testing::Test {
 protected:
  // The file, cold and to be read once. `past_cache_` says that large reads must go past the cache.
  std::shared_ptr<const OpenFile> open(const fs::path& path) {
    auto source = SourceFile::find(path);
    EXPECT_TRUE(source.has_value());
    source_ = *source;
    source_->read_once();
    past_cache_ = make_cold(path);
    auto opened = source_->open();
    EXPECT_TRUE(opened.has_value());
    return *opened;
  }

  Bytes content_ = pattern((3U << 20) + 77);
  TempDir dir_;
  std::shared_ptr<const SourceFile> source_;
  bool past_cache_ = false;
  DirectBuffer buffer_;
};

TEST_F(ReadOnce, AnyPlaceAndAddress_GivesTheSameBytes) {
  const fs::path path = old_file(dir_, "weights.bin", content_);
  Bytes room((2U << 20) + 8192);
  const std::size_t page = 4096 - reinterpret_cast<std::uintptr_t>(room.data()) % 4096;
  for (const std::size_t offset : {0U, 1U, 4095U, 4096U, 1U << 20, 1234567U}) {
    for (const std::size_t address : {0U, 1U, 64U, 512U}) {
      for (const std::size_t size : {1U << 17, (1U << 20) + 5, 2U << 20}) {
        const std::size_t take = std::min(size, content_.size() - offset);
        const auto file = open(path);
        // Two parts, the first of them an odd number of bytes.
        const std::span<std::uint8_t> out = std::span(room).subspan(page + address, take);
        const std::array parts = {out.first(take / 3 | 1U), out.subspan(take / 3 | 1U)};
        std::ranges::fill(room, std::uint8_t{0xEE});
        ASSERT_TRUE(file->read(offset, parts, &buffer_).has_value());
        EXPECT_TRUE(std::ranges::equal(out, ByteView(content_).subspan(offset, take)))
            << offset << " " << address << " " << size;
        if (past_cache_) {
          EXPECT_EQ(file->direct_bytes(), take);
        }
      }
    }
  }
}

TEST_F(ReadOnce, WhatIsInTheCacheOrSmall_IsReadFromThere) {
  const fs::path path = old_file(dir_, "weights.bin", content_);
  Bytes out(content_.size());
  const std::array parts = {std::span(out)};
  const auto small = open(path);
  const std::array few = {std::span(out).first(100'000)};
  ASSERT_TRUE(small->read(5, few, &buffer_).has_value());
  EXPECT_EQ(small->direct_bytes(), 0U);
  const auto file = open(path);
  EXPECT_EQ(read_file(path), content_);
  ASSERT_TRUE(file->read(0, parts, &buffer_).has_value());
  EXPECT_EQ(out, content_);
  EXPECT_EQ(file->direct_bytes(), 0U);
}

// A file system in memory has no other way, and its files are always in the cache.
TEST_F(ReadOnce, FileSystemInMemory_GivesTheSameBytes) {
  struct statfs kind{};
  constexpr long tmpfs = 0x01021994;
  if (::statfs("/dev/shm", &kind) != 0 || kind.f_type != tmpfs) {
    GTEST_SKIP() << "no tmpfs";
  }
  const fs::path path = "/dev/shm/assay-test-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << as_text(content_);
  const auto file = open(path);
  Bytes out(content_.size());
  const std::array parts = {std::span(out)};
  EXPECT_TRUE(file->read(0, parts, &buffer_).has_value());
  EXPECT_EQ(out, content_);
  EXPECT_EQ(file->direct_bytes(), 0U);
  fs::remove(path);
}

TEST_F(ReadOnce, Shrinks_IsFileChanged) {
  const fs::path path = old_file(dir_, "weights.bin", content_);
  const Descriptor writer = writer_of(path);
  for (const std::uint64_t size : {std::uint64_t{2} << 20, (std::uint64_t{1} << 20) + 1,
                                   std::uint64_t{100}, std::uint64_t{0}}) {
    dir_.write("weights.bin", content_);
    const auto file = open(path);
    fs::resize_file(path, size);
    Bytes out(2U << 20);
    const std::array parts = {std::span(out)};
    const Status status = file->read(1U << 20, parts, &buffer_);
    ASSERT_FALSE(status.has_value()) << size;
    EXPECT_EQ(status.error().code, ErrorCode::kFileChanged);
    EXPECT_EQ(status.error().where, "weights.bin");
  }
}

TEST_F(ReadOnce, RewrittenInPlace_IsFileChanged) {
  const fs::path path = old_file(dir_, "weights.bin", content_);
  const Descriptor writer = writer_of(path);
  const auto file = open(path);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << "x";
  Bytes out(1U << 20);
  const std::array parts = {std::span(out)};
  const Status status = file->read(0, parts, &buffer_);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kFileChanged);
}

TEST_F(ReadOnce, FifoInItsPlace_IsFileChangedAndDoesNotBlock) {
  const fs::path path = old_file(dir_, "weights.bin", content_);
  const auto source = *SourceFile::find(path);
  source->read_once();
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto opened = source->open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kFileChanged);
}

TEST_F(ReadOnce, Engines_GiveTheSameRootsOfFilesAndPartsOfThem) {
  const fs::path path = old_file(dir_, "weights.bin", content_);
  for (const char* const name : {"cpu", "opencl"}) {
    const auto engine = std::string_view(name) == "cpu" ? make_cpu_engine(2) : opencl_engine();
    if (engine == nullptr) {
      continue;
    }
    const auto source = *SourceFile::find(path);
    source->read_once();
    make_cold(path);
    const std::vector<Region> regions = {file_region(source), file_region(source, 777, 2'000'001)};
    const auto digests = engine->hash(regions, HashRequest{});
    ASSERT_TRUE(digests.has_value()) << name << ": " << to_string(digests.error());
    EXPECT_EQ((*digests)[0].root, reference_root({}, content_)) << name;
    EXPECT_EQ((*digests)[1].root, reference_root({}, ByteView(content_).subspan(777, 2'000'001)))
        << name;
  }
}

TEST(ReadsOnce, WhatTheCacheHasNoRoomFor) {
  const TempDir dir;
  std::vector<WalkedFile> files;
  for (const auto& [name, size] : {std::pair("a", 1000U), {"b", 500U}}) {
    files.push_back({name, *SourceFile::find(dir.write(name, Bytes(size)))});
  }
  const auto plan = plan_artifact(std::move(files), cut_by_name({}), Objects::kBoth, {});
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(reads_once(*plan, {}, 1500));
  EXPECT_TRUE(reads_once(*plan, {}, 1499));
  // What is known is not read.
  KnownEntries known(2);
  known[0].emplace();
  EXPECT_FALSE(reads_once(*plan, known, 500));
  EXPECT_TRUE(reads_once(*plan, known, 499));
}

TEST(PageCacheRoom, IsSomethingLessThanTheMemory) {
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_GT(page_cache_room(), 0U);
  EXPECT_LE(page_cache_room(), memory / 2);
}

}  // namespace
}  // namespace assay::gpu_hash::test
