// SPDX-License-Identifier: Apache-2.0
// Files as sources of bytes. Only regular files are read. They are opened relative to an open
// directory, without following a symlink. Reading fails when a file has changed since it was found.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/read_protection.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

// Metadata that show whether a file is still the same file with the same content. The change time
// is included because the modification time can be set back.
struct FileIdentity {
  dev_t device;
  ino_t inode;
  std::uint64_t size;  // bytes
  std::int64_t mtime_ns;
  std::int64_t ctime_ns;
  bool operator==(const FileIdentity&) const = default;
};

[[nodiscard]] FileIdentity identity_of(const struct stat& status);

// A symbolic link on the way to a file.
struct SeenLink {
  std::string path;  // below the directory of the file, without links before it
  FileIdentity identity;
};

// A directory that stays open. Files below it are opened relative to its descriptor, so renaming or
// replacing the directory does not lead to other files.
class Directory {
 public:
  explicit Directory(Descriptor fd) : fd_(std::move(fd)) {}
  // Opens the directory at `path`. Errors: file-unreadable when it cannot be opened;
  // unsupported-file-type when it is not a directory.
  [[nodiscard]] static Result<std::shared_ptr<const Directory>> open(
      const std::filesystem::path& path);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Descriptor fd_;
};

// The directory that was looked up last below a Directory. Files that are looked at one after the
// other mostly lie in one directory, so this saves most lookups. The directory stays open: where it
// has been replaced since, files are still found in the old one. Used by one thread at a time.
class NearDirectory {
 public:
  // Returns the descriptor of the directory `path` below `base`, without following symlinks; that
  // of `base` itself when `path` is empty. Returns -1 and sets errno on failure.
  [[nodiscard]] int find(const std::shared_ptr<const Directory>& base, std::string_view path);
  void close() { *this = {}; }

 private:
  std::shared_ptr<const Directory> base_;
  std::string path_;
  Descriptor fd_;
};

// Returns the number of bytes of files that the page cache of this machine, or of this control
// group, can be expected to keep. This is half of the available memory. Returns the largest number
// when the system does not report the available memory.
[[nodiscard]] std::uint64_t page_cache_room();

// Memory for reads that bypass the page cache, allocated on first use. This memory also keeps the
// bytes of the last read, so that consecutive small reads need one disk access. Used by one thread
// at a time.
class DirectBuffer {
 public:
  static constexpr std::size_t kUnit = 4096;  // bytes; the memory is aligned to this unit
  static constexpr std::size_t kRead = std::size_t{1} << 20;  // bytes of one read
  static constexpr std::size_t kSize = kRead + 2 * kUnit;     // allows reads of any alignment

 private:
  friend class OpenFile;
  struct Free {
    void operator()(std::uint8_t* memory) const {
      ::operator delete[](memory, std::align_val_t{kUnit});
    }
  };
  // Returns kSize bytes, or an empty span when the allocation fails.
  [[nodiscard]] std::span<std::uint8_t> memory();

  std::unique_ptr<std::uint8_t[], Free> memory_;
  std::uint64_t file_ = 0;   // OpenFile::number_; 0: none
  std::uint64_t begin_ = 0;  // offset in that file of the stored bytes
  std::uint64_t size_ = 0;
};

class OpenFile;

// One regular file. Thread-safe.
class SourceFile {
 public:
  // `path` is below `base` and free of symlinks. `label` names the file in errors. `links` led to
  // the file, which counts as changed when one of them does.
  SourceFile(std::shared_ptr<const Directory> base, std::string path, std::string label,
             FileIdentity seen, std::vector<SeenLink> links = {});

  // Inspects the file without opening it. Errors: file-unreadable, unsupported-file-type.
  [[nodiscard]] static Result<std::shared_ptr<const SourceFile>> find(
      std::shared_ptr<const Directory> base, std::string path, std::string label);
  // Inspects the file at `path` in the file system. The last part of `path` must not be a symlink;
  // it becomes the label.
  [[nodiscard]] static Result<std::shared_ptr<const SourceFile>> find(
      const std::filesystem::path& path);

  [[nodiscard]] std::uint64_t size() const { return seen_.size; }  // bytes
  [[nodiscard]] const FileIdentity& identity() const { return seen_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::shared_ptr<const Directory>& base() const { return base_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // below base()

  // Opens the file, or returns the handle that another caller still holds. Never blocks on a FIFO.
  // Takes a read lease where the system grants one, which ends with the handle. A process that
  // opens the file for writing meanwhile waits until the next read() or the end of the handle.
  // Errors: file-changed when the opened file is not the file that was found; file-unreadable.
  [[nodiscard]] Result<std::shared_ptr<const OpenFile>> open() const;
  [[nodiscard]] Result<std::shared_ptr<const OpenFile>> open(NearDirectory& near) const;

  // Checks that the file still exists and is the same, and that the same links lead to it. Errors:
  // file-changed; file-unreadable when the system does not tell.
  [[nodiscard]] Status check_unchanged() const;
  [[nodiscard]] Status check_unchanged(NearDirectory& near) const;

  // Returns the weakest protection that the file had in any open(); nothing before the first one.
  [[nodiscard]] std::optional<Protection> protection() const;
  // Notes that another process opened the file for this one, under `protection`.
  void note(Protection protection) const;

  // Declares that nobody will read these bytes again soon. From the next open() on, bytes that are
  // not in the page cache bypass the page cache, where the file system allows that. Such reads take
  // a fraction of the processor time and leave the content of the cache in place.
  void read_once() const { read_once_ = true; }
  [[nodiscard]] bool is_read_once() const { return read_once_; }

 private:
  friend class OpenFile;

  std::shared_ptr<const Directory> base_;
  std::string path_;
  std::string label_;
  FileIdentity seen_;
  std::vector<SeenLink> links_;
  mutable std::atomic<bool> read_once_ = false;
  mutable std::optional<Protection> protection_;  // guarded by mutex_
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const OpenFile> open_;  // guarded by mutex_
};

// An open file. Thread-safe. Borrows its SourceFile, which must outlive it.
class OpenFile {
 public:
  // `direct` is the same file opened with O_DIRECT, or an empty descriptor. `leased` says that `fd`
  // holds a read lease.
  OpenFile(const SourceFile& source, Descriptor fd, Descriptor direct, bool leased)
      : source_(source),
        number_(++total),
        fd_(std::move(fd)),
        leased_(leased),
        direct_(std::move(direct)),
        direct_works_(static_cast<bool>(direct_)) {}

  // Fills `out` from byte `offset`. Errors: file-changed when the file ends early, is no longer the
  // same after the read, or was opened for writing under the lease; file-unreadable on an input
  // error.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  // Fills `parts`, one part after the other, from byte `offset`. With a `buffer`, and after
  // SourceFile::read_once(), large reads bypass the page cache when the cache holds less than half
  // of the bytes. A large part is filled directly when its memory and its file offset both begin at
  // a page boundary. Other parts are copied from `buffer`, into which the file is read ahead,
  // beyond the parts, but not beyond byte `end` of the file. Errors: as the other read().
  [[nodiscard]] Status read(std::uint64_t offset, std::span<const std::span<std::uint8_t>> parts,
                            DirectBuffer* buffer = nullptr, std::uint64_t end = 0) const;

  // Returns the number of bytes that were read without the page cache. For tests and benchmarks.
  [[nodiscard]] std::uint64_t direct_bytes() const { return direct_bytes_; }

 private:
  class Places;

  [[nodiscard]] bool wants_direct(std::uint64_t offset, std::uint64_t size) const;
  // The functions below advance `offset` and `places` past the bytes that they deliver.
  void take_held(std::uint64_t& offset, Places& places, DirectBuffer& buffer) const;
  [[nodiscard]] Status read_direct(std::uint64_t& offset, Places& places, DirectBuffer& buffer,
                                   std::uint64_t end) const;
  [[nodiscard]] Status read_cached(std::uint64_t offset, Places& places) const;
  [[nodiscard]] Status check_unchanged() const;

  static std::atomic<std::uint64_t> total;

  const SourceFile& source_;
  std::uint64_t number_;  // unique among all files that this process opened
  Descriptor fd_;
  bool leased_;
  Descriptor direct_;
  mutable std::atomic<bool> direct_works_;  // false after the file system refused O_DIRECT
  mutable std::atomic<std::uint64_t> direct_bytes_ = 0;
};

}  // namespace assay::gpu_hash
