// SPDX-License-Identifier: Apache-2.0
// What keeps a file from being written while it is read: leases, read-only mounts, fs-verity.
#include "gpu_hash/files/read_protection.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <linux/fsverity.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu_hash/source_file.h"
#include "schemas/posix/descriptor.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSize = 8192;  // bytes

Descriptor open_to(const fs::path& path, int flags) {
  Descriptor fd(::open(path.c_str(), flags | O_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(fd)) << path;
  return fd;
}

Protection protection_of(const fs::path& path) {
  const Descriptor fd = open_to(path, O_RDONLY);
  return protect(fd.get());
}

// A shared mapping that can be written. Its descriptor is closed.
class Mapping {
 public:
  explicit Mapping(const fs::path& path)
      : memory_(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED,
                       open_to(path, O_RDWR).get(), 0)) {
    EXPECT_NE(memory_, MAP_FAILED);
  }
  ~Mapping() { ::munmap(memory_, kSize); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* memory_;
};

class ProtectionOfFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (protection_of(path_) != Protection::kLease) {
      GTEST_SKIP() << "the file system of " << dir_.path() << " grants no lease that is believed";
    }
  }

  // What `look` sees in a process with mounts of its own; nothing when this user may not mount, or
  // the system does not have what `prepare` mounts.
  std::optional<Protection> with_mounts(const std::function<bool()>& prepare,
                                        const std::function<Protection()>& look) {
    constexpr int kCannot = 100;
    const pid_t child = ::fork();
    if (child == 0) {
      const bool ready = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         prepare();
      ::_exit(ready ? static_cast<int>(look()) : kCannot);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    return code == kCannot ? std::nullopt : std::optional(static_cast<Protection>(code));
  }

  [[nodiscard]] fs::path folder(const char* name) const {
    fs::create_directory(dir_.path() / name);
    return dir_.path() / name;
  }

  TempDir dir_;
  fs::path path_ = dir_.write("file", pattern(kSize));
};

TEST_F(ProtectionOfFiles, AnyWriter_LeavesNone) {
  {
    const Descriptor writer = open_to(path_, O_WRONLY);
    EXPECT_EQ(protection_of(path_), Protection::kNone);
  }
  {
    const Mapping mapping(path_);
    EXPECT_EQ(protection_of(path_), Protection::kNone);
  }
  EXPECT_EQ(protection_of(path_), Protection::kLease);
}

// The writer waits for the next read, and for no more; the lease's signal ends nobody.
TEST_F(ProtectionOfFiles, WriterWhileItIsRead_IsFileChanged) {
  const auto source = *SourceFile::find(path_);
  EXPECT_EQ(source->protection(), std::nullopt);
  const auto opened = source->open();
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(source->protection(), Protection::kLease);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread writer([this] { (void)open_to(path_, O_WRONLY); });
  Bytes out(100);
  Status status;
  while (status) {
    status = (*opened)->read(0, out);
  }
  writer.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30))
      << "the kernel took the lease away, after /proc/sys/fs/lease-break-time";
  EXPECT_EQ(status.error().code, ErrorCode::kFileChanged);
  EXPECT_EQ((*opened)->read(0, out).error().code, ErrorCode::kFileChanged);
}

TEST_F(ProtectionOfFiles, TheWeakestOfAllTimesCounts) {
  const auto source = *SourceFile::find(path_);
  EXPECT_TRUE(source->open().has_value());
  EXPECT_EQ(source->protection(), Protection::kLease);
  {
    const Mapping mapping(path_);
    EXPECT_TRUE(source->open().has_value());
  }
  EXPECT_TRUE(source->open().has_value());
  EXPECT_EQ(source->protection(), Protection::kNone);
}

// overlayfs grants a lease beside a writable mapping of a closed descriptor.
TEST_F(ProtectionOfFiles, LeaseOfOverlayfs_IsNotBelieved) {
  const fs::path merged = folder("merged");
  const std::string options = "lowerdir=" + folder("lower").string() +
                              ",upperdir=" + folder("upper").string() +
                              ",workdir=" + folder("work").string();
  dir_.write("lower/file", pattern(kSize));
  const auto seen = with_mounts(
      [&] { return ::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0; },
      [&] {
        const Mapping mapping(merged / "file");
        return protection_of(merged / "file");
      });
  if (!seen) {
    GTEST_SKIP() << "overlayfs cannot be mounted";
  }
  EXPECT_EQ(seen, Protection::kNone);
}

// The writer uses the mount that is not read-only.
TEST_F(ProtectionOfFiles, ReadOnlyMount_SaysNothingOfOtherMounts) {
  const fs::path view = folder("view");
  const auto seen = with_mounts(
      [&] {
        return ::mount(dir_.path().c_str(), view.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
               ::mount(nullptr, view.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) ==
                   0;
      },
      [&] {
        if (protection_of(view / "file") != Protection::kLease) {
          return Protection::kFsVerity;  // not what is expected below
        }
        const Descriptor writer = open_to(path_, O_WRONLY);
        return protection_of(view / "file");
      });
  if (!seen) {
    GTEST_SKIP() << "this user may not mount";
  }
  EXPECT_EQ(seen, Protection::kReadOnlyMount);
}

TEST_F(ProtectionOfFiles, FsVerity_IsTheStrongest) {
  fsverity_enable_arg arguments{};
  arguments.version = 1;
  arguments.hash_algorithm = FS_VERITY_HASH_ALG_SHA256;
  arguments.block_size = 4096;
  {
    const Descriptor fd = open_to(path_, O_RDONLY);
    if (::ioctl(fd.get(), FS_IOC_ENABLE_VERITY, &arguments) != 0) {
      GTEST_SKIP() << "the kernel or the file system has no fs-verity";
    }
  }
  EXPECT_EQ(protection_of(path_), Protection::kFsVerity);
}

}  // namespace
}  // namespace assay::gpu_hash::test
