// SPDX-License-Identifier: Apache-2.0
// Files whose reads go wrong. This program has its own preadv(), which stands in front of the
// system's and fails when a test wants it to.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/artifact_verify.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/source_file.h"
#include "tests/gpu_hash/support.h"

namespace {

// What each call does, by its number: bytes to read at most; 0 for the end of the file; a negative
// errno to fail.
std::function<long(long)> g_fault;
std::atomic<long> g_calls = 0;
// Called with the file before each read.
std::function<void(int)> g_before;

}  // namespace

extern "C" ssize_t preadv(int fd, const iovec* vectors, int count, off_t offset) {
  if (g_before) {
    g_before(fd);
  }
  constexpr long kAll = 1L << 40;
  const long allowed = g_fault ? g_fault(g_calls++) : kAll;
  if (allowed < 0) {
    errno = static_cast<int>(-allowed);
    return -1;
  }
  if (allowed == 0) {
    return 0;
  }
  if (allowed < kAll) {  // a short read, inside the first part
    const std::size_t size = std::min(vectors[0].iov_len, static_cast<std::size_t>(allowed));
    return ::syscall(SYS_pread64, fd, vectors[0].iov_base, size, offset);
  }
  return ::syscall(SYS_preadv, fd, vectors, count, offset, 0L);
}

namespace assay::gpu_hash::test {
namespace {

constexpr long kWhole = 1L << 40;

class ReadFaults : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    engine_ = GetParam() == "cpu" ? make_cpu_engine(2) : opencl_engine();
    if (engine_ == nullptr) {
      GTEST_SKIP() << "no OpenCL device";
    }
    dir_.write("a/first.bin", content_);
    dir_.write("b/second.bin", pattern(1000));
    g_calls = 0;
  }
  void TearDown() override {
    g_fault = nullptr;
    g_before = nullptr;
  }

  Bytes content_ = pattern((3U << 20) + 77);
  TempDir dir_;
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Engines, ReadFaults, testing::Values("cpu", "opencl"),
                         [](const auto& test) { return test.param; });

TEST_P(ReadFaults, ShortReadsAndInterrupts_GiveTheSameRoot) {
  g_fault = [](long call) { return call % 3 == 0 ? -EINTR : call % 3 == 1 ? 4099L : kWhole; };
  const auto hashed = hash_artifact(dir_.path(), {}, *engine_);
  ASSERT_TRUE(hashed.has_value()) << to_string(hashed.error());
  EXPECT_EQ(std::get<FileEntry>(hashed->artifact.entries[0]).root, reference_root({}, content_));
  EXPECT_GT(g_calls, 6);
}

TEST_P(ReadFaults, InputErrorInTheMiddle_IsFileUnreadableWithItsName) {
  g_fault = [](long call) { return call == 2 ? -EIO : kWhole; };
  const auto hashed = hash_artifact(dir_.path() / "a", {}, *engine_);
  ASSERT_FALSE(hashed.has_value());
  EXPECT_EQ(hashed.error().code, ErrorCode::kFileUnreadable) << to_string(hashed.error());
  EXPECT_EQ(hashed.error().where, "first.bin");
  EXPECT_NE(hashed.error().detail.find("Input/output error"), std::string::npos);
  // The engine is as good as before.
  g_fault = nullptr;
  EXPECT_TRUE(hash_artifact(dir_.path(), {}, *engine_).has_value());
}

TEST_P(ReadFaults, EndBeforeTheEnd_IsFileChanged) {
  g_fault = [](long call) { return call == 1 ? 0L : kWhole; };
  const auto hashed = hash_artifact(dir_.path() / "a", {}, *engine_);
  ASSERT_FALSE(hashed.has_value());
  EXPECT_EQ(hashed.error().code, ErrorCode::kFileChanged);
  EXPECT_EQ(hashed.error().where, "first.bin");
}

// A read of one file waits for a read of another one: both must come. Files that are larger than
// what a thread takes at a time are read by several threads instead.
TEST_P(ReadFaults, SeveralFiles_AreReadAtOnce) {
  constexpr unsigned threads = 4;
  std::unique_ptr<Engine> engine = make_cpu_engine(threads);
  if (GetParam() == "opencl") {
    auto made = make_engine(drivers_in_this_process(), *parse_device("opencl"),
                            {.threads = threads, .slice_bytes = 0});
    ASSERT_TRUE(made.has_value()) << to_string(made.error());
    engine = *std::move(made);
  }
  for (const char* file : {"many/a", "many/b", "many/c", "many/d"}) {
    dir_.write(file, ByteView(content_).first(1U << 20));
  }
  std::mutex mutex;
  std::condition_variable another;
  std::set<ino_t> files;
  g_before = [&](int fd) {
    struct stat status{};
    ASSERT_EQ(::fstat(fd, &status), 0);
    std::unique_lock lock(mutex);
    files.insert(status.st_ino);
    another.notify_all();
    another.wait_for(lock, std::chrono::seconds(10), [&] { return files.size() > 1; });
    ASSERT_GT(files.size(), 1U) << "one file after the other";
  };
  const auto hashed = hash_artifact(dir_.path() / "many", {}, *engine);
  ASSERT_TRUE(hashed.has_value()) << to_string(hashed.error());
  EXPECT_EQ(std::get<FileEntry>(hashed->artifact.entries[3]).root,
            reference_root({}, ByteView(content_).first(1U << 20)));
}

// Neither a yes nor a list of differences: it was not found out.
TEST_P(ReadFaults, InputErrorWhileVerifying_IsAnErrorNotADifference) {
  const auto hashed = hash_artifact(dir_.path(), {}, *engine_);
  ASSERT_TRUE(hashed.has_value());
  g_fault = [](long) { return -EIO; };
  const auto verified = verify_artifact(dir_.path(), hashed->artifact, {}, *engine_);
  ASSERT_FALSE(verified.has_value());
  EXPECT_EQ(verified.error().code, ErrorCode::kFileUnreadable);
}

TEST_P(ReadFaults, FileWithoutPermission_IsFileUnreadableWithItsName) {
  if (::geteuid() == 0) {
    // Root reads everything; the error is the system's all the same.
    g_fault = [](long) { return -EACCES; };
  } else {
    std::filesystem::permissions(dir_.path() / "a/first.bin", std::filesystem::perms::none);
  }
  const auto hashed = hash_artifact(dir_.path() / "a", {}, *engine_);
  ASSERT_FALSE(hashed.has_value());
  EXPECT_EQ(hashed.error().code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(hashed.error().where, "first.bin");
}

// A file that the page cache does not hold and that is read once; null when it cannot be so.
std::shared_ptr<const SourceFile> cold_file(const std::filesystem::path& path) {
  const auto source = SourceFile::find(path);
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source || ::fsync(fd.get()) != 0 ||
      ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
    return nullptr;
  }
  (*source)->read_once();
  return *source;
}

// Reads past the page cache, of which the first one fails, or all come back short: the root is
// right and nothing is said.
TEST_P(ReadFaults, DirectReadsThatFailOrAreShort_GiveTheSameRoot) {
  static thread_local bool direct = false;
  for (const long answer : std::array<long, 5>{-EINVAL, -EIO, -EINTR, 8192, 12288}) {
    const std::shared_ptr<const SourceFile> source = cold_file(dir_.path() / "a/first.bin");
    ASSERT_NE(source, nullptr);
    std::atomic<long> answers = 0;
    g_before = [](int file) { direct = (::fcntl(file, F_GETFL) & O_DIRECT) != 0; };
    g_fault = [&](long) { return direct && (answers++ == 0 || answer > 0) ? answer : kWhole; };
    const Region region = file_region(source);
    const auto digests = engine_->hash({&region, 1}, HashRequest{});
    ASSERT_TRUE(digests.has_value()) << answer << ": " << to_string(digests.error());
    EXPECT_EQ(digests->front().root, reference_root({}, content_)) << answer;
    if (answer == -EINVAL || answer == -EIO) {
      EXPECT_LE(answers, 4) << "the file system was asked again and again";
    }
  }
}

TEST_P(ReadFaults, DirectReadThatEndsBeforeTheEnd_IsFileChanged) {
  const std::shared_ptr<const SourceFile> source = cold_file(dir_.path() / "a/first.bin");
  ASSERT_NE(source, nullptr);
  g_fault = [](long) { return 0; };
  const Region region = file_region(source);
  const auto digests = engine_->hash({&region, 1}, HashRequest{});
  ASSERT_FALSE(digests.has_value());
  EXPECT_EQ(digests.error().code, ErrorCode::kFileChanged);
  EXPECT_EQ(digests.error().where, "first.bin");
}

}  // namespace
}  // namespace assay::gpu_hash::test
