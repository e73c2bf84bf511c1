// SPDX-License-Identifier: Apache-2.0
// Files as sources of bytes: regular files only, reached without following a symlink below a
// directory that is held open, and read only while they stay what they were when they were found.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

// What says that a file is still the same one with the same content. The change time is in it
// because the modification time can be set back.
struct FileIdentity {
  dev_t device;
  ino_t inode;
  std::uint64_t size;  // bytes
  std::int64_t mtime_ns;
  std::int64_t ctime_ns;
  bool operator==(const FileIdentity&) const = default;
};

[[nodiscard]] FileIdentity identity_of(const struct stat& status);

// A directory that stays open; what lies below it is reached from its descriptor, so renaming or
// replacing it does not lead elsewhere.
class Directory {
 public:
  explicit Directory(Descriptor fd) : fd_(std::move(fd)) {}
  // file-unreadable when it cannot be opened; unsupported-file-type when it is no directory.
  [[nodiscard]] static Result<std::shared_ptr<const Directory>> open(
      const std::filesystem::path& path);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Descriptor fd_;
};

// Bytes of files that the page cache of this machine, or of this control group, can be expected to
// keep: half of the memory that is available. The largest number when the system does not tell.
[[nodiscard]] std::uint64_t page_cache_room();

// Memory for reads past the page cache, made when it is first needed, and what was read into it
// last: small reads that follow one another take one look at the disk. For one thread at a time.
class DirectBuffer {
 public:
  static constexpr std::size_t kUnit = 4096;                  // bytes; where it begins, a page
  static constexpr std::size_t kRead = std::size_t{1} << 20;  // bytes of one read
  static constexpr std::size_t kSize = kRead + 2 * kUnit;  // for reads that begin and end anywhere

 private:
  friend class OpenFile;
  struct Free {
    void operator()(std::uint8_t* memory) const {
      ::operator delete[](memory, std::align_val_t{kUnit});
    }
  };
  // kSize bytes; empty when there is no memory for it.
  [[nodiscard]] std::span<std::uint8_t> memory();

  std::unique_ptr<std::uint8_t[], Free> memory_;
  std::uint64_t file_ = 0;   // OpenFile::number_; 0 is none
  std::uint64_t begin_ = 0;  // what it holds of that file
  std::uint64_t size_ = 0;
};

class OpenFile;

// One regular file. Thread-safe.
class SourceFile {
 public:
  // `path` is below `base` and free of symlinks; `label` names the file in errors.
  SourceFile(std::shared_ptr<const Directory> base, std::string path, std::string label,
             FileIdentity seen);

  // Looks at the file without opening it. file-unreadable, unsupported-file-type.
  [[nodiscard]] static Result<std::shared_ptr<const SourceFile>> find(
      std::shared_ptr<const Directory> base, std::string path, std::string label);
  // A file by its path in the file system; the last part must not be a symlink. The label is the
  // path's last part.
  [[nodiscard]] static Result<std::shared_ptr<const SourceFile>> find(
      const std::filesystem::path& path);

  [[nodiscard]] std::uint64_t size() const { return seen_.size; }  // bytes
  [[nodiscard]] const FileIdentity& identity() const { return seen_; }
  [[nodiscard]] const std::string& label() const { return label_; }

  // Opens the file, or returns the handle that another user holds. Never blocks on FIFOs.
  // file-changed when it is not the file that was found; file-unreadable.
  [[nodiscard]] Result<std::shared_ptr<const OpenFile>> open() const;

  // file-changed unless the file is still there and the same.
  [[nodiscard]] Status check_unchanged() const;

  // Says that nobody will read these bytes again soon: from the next open() on, what is not in the
  // page cache is read past it, where the file system can. That takes a fraction of the processor
  // time, and leaves in the cache what is there.
  void read_once() const { read_once_ = true; }

 private:
  friend class OpenFile;

  std::shared_ptr<const Directory> base_;
  std::string path_;
  std::string label_;
  FileIdentity seen_;
  mutable std::atomic<bool> read_once_ = false;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const OpenFile> open_;  // guarded by mutex_
};

// A file while it is open. Thread-safe. Borrows from its SourceFile, which must outlive it.
class OpenFile {
 public:
  // `direct` is the same file opened with O_DIRECT, or empty.
  OpenFile(const SourceFile& source, Descriptor fd, Descriptor direct)
      : source_(source),
        number_(++total),
        fd_(std::move(fd)),
        direct_(std::move(direct)),
        direct_works_(static_cast<bool>(direct_)) {}

  // Fills `out` from byte `offset`. file-changed when the file ends early or is no longer the same
  // after the read; file-unreadable on an input error.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  // The same, into several places: `parts` are filled one after the other. With a `buffer`, and of
  // a file that is read once, large reads go past the page cache when it holds less than half of
  // the bytes: straight into a large part that begins at a page and at a page of the file, else
  // through the buffer, which also takes what follows up to byte `end`.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<const std::span<std::uint8_t>> parts,
                            DirectBuffer* buffer = nullptr, std::uint64_t end = 0) const;

  // Bytes that were read past the page cache. For tests and benchmarks.
  [[nodiscard]] std::uint64_t direct_bytes() const { return direct_bytes_; }

 private:
  class Places;

  [[nodiscard]] bool wants_direct(std::uint64_t offset, std::uint64_t size) const;
  // These move on what they are given.
  void take_held(std::uint64_t& offset, Places& places, DirectBuffer& buffer) const;
  [[nodiscard]] Status read_direct(std::uint64_t& offset, Places& places, DirectBuffer& buffer,
                                   std::uint64_t end) const;
  [[nodiscard]] Status read_cached(std::uint64_t offset, Places& places) const;
  [[nodiscard]] Status check_unchanged() const;

  static std::atomic<std::uint64_t> total;

  const SourceFile& source_;
  std::uint64_t number_;  // of all that this process ever opened
  Descriptor fd_;
  Descriptor direct_;
  mutable std::atomic<bool> direct_works_;  // false for good once the file system refused
  mutable std::atomic<std::uint64_t> direct_bytes_ = 0;
};

}  // namespace assay::gpu_hash
