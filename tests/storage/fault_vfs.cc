// SPDX-License-Identifier: Apache-2.0
// A VFS that wraps the default one (https://www.sqlite.org/vfs.html).
#include "tests/storage/fault_vfs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

namespace assay::storage {
namespace {

// What SQLite allocates for each file: our part, and behind it that of the real VFS.
struct WatchedFile {
  sqlite3_file base;
  FaultVfs* vfs;
  std::string* path;  // null for files without a name
  sqlite3_file* real;
};

WatchedFile* watched(sqlite3_file* file) { return reinterpret_cast<WatchedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return watched(file)->real; }

std::vector<std::uint8_t> content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<std::uint8_t> content(in ? static_cast<std::size_t>(in.tellg()) : 0);
  in.seekg(0);
  in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  return content;
}

}  // namespace

struct FaultVfsAccess {
  using Fault = FaultVfs::Fault;

  static int close(sqlite3_file* file) {
    const int code = real(file)->pMethods->xClose(real(file));
    delete watched(file)->path;
    return code;
  }
  static int read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), data, size, offset);
  }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    WatchedFile* self = watched(file);
    if (self->path == nullptr) {
      return real(file)->pMethods->xWrite(real(file), data, size, offset);
    }
    if (const Fault* fault = self->vfs->next_change()) {
      if (*fault == Fault::kHalf && size > 1) {
        self->vfs->note_write(*self->path, offset, data, size / 2);
        real(file)->pMethods->xWrite(real(file), data, size / 2, offset);
      }
      return *fault == Fault::kDiskFull ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    self->vfs->note_write(*self->path, offset, data, size);
    return real(file)->pMethods->xWrite(real(file), data, size, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    WatchedFile* self = watched(file);
    if (self->path != nullptr) {
      if (self->vfs->next_change() != nullptr) {
        return SQLITE_IOERR_TRUNCATE;
      }
      self->vfs->note_truncate(*self->path, size);
    }
    return real(file)->pMethods->xTruncate(real(file), size);
  }
  static int sync(sqlite3_file* file, int) {
    WatchedFile* self = watched(file);
    if (self->path != nullptr) {
      if (self->vfs->next_change() != nullptr) {
        return SQLITE_IOERR_FSYNC;
      }
      self->vfs->note_sync(*self->path);
    }
    return SQLITE_OK;
  }
  static int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
  }
  static int lock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
  }
  static int unlock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
  }
  static int check_lock(sqlite3_file* file, int* held) {
    return real(file)->pMethods->xCheckReservedLock(real(file), held);
  }
  static int control(sqlite3_file* file, int operation, void* argument) {
    if (operation == SQLITE_FCNTL_HAS_MOVED && watched(file)->vfs->hides_moves_) {
      *static_cast<int*>(argument) = 0;
      return SQLITE_OK;
    }
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
  }
  static int sector_size(sqlite3_file*) { return 512; }
  // Promises nothing about what a power loss leaves.
  static int characteristics(sqlite3_file*) { return 0; }
  static int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
  static int shm_unmap(sqlite3_file* file, int remove) {
    return real(file)->pMethods->xShmUnmap(real(file), remove);
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods kMethods = {2,
                                                close,
                                                read,
                                                write,
                                                truncate,
                                                sync,
                                                file_size,
                                                lock,
                                                unlock,
                                                check_lock,
                                                control,
                                                sector_size,
                                                characteristics,
                                                shm_map,
                                                shm_lock,
                                                shm_barrier,
                                                shm_unmap,
                                                nullptr,
                                                nullptr};
    return &kMethods;
  }

  static FaultVfs* self(sqlite3_vfs* vfs) { return static_cast<FaultVfs*>(vfs->pAppData); }
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    FaultVfs* const owner = self(vfs);
    WatchedFile* const wrapped = watched(file);
    wrapped->base.pMethods = nullptr;
    wrapped->vfs = owner;
    wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
    const int code = owner->real_->xOpen(owner->real_, path, wrapped->real, flags, out);
    if (code != SQLITE_OK) {
      return code;
    }
    wrapped->path = path == nullptr ? nullptr : new std::string(path);
    if (path != nullptr) {
      owner->note_open(path);
    }
    wrapped->base.pMethods = methods();
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    FaultVfs* const owner = self(vfs);
    if (owner->next_change() != nullptr) {
      return SQLITE_IOERR_DELETE;
    }
    owner->note_delete(path);
    return owner->real_->xDelete(owner->real_, path, sync_folder);
  }
};

FaultVfs::FaultVfs() : real_(sqlite3_vfs_find(nullptr)) {
  vfs_ = *real_;
  vfs_.szOsFile = static_cast<int>(sizeof(WatchedFile)) + real_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.zName = "fault";
  vfs_.pAppData = this;
  vfs_.xOpen = FaultVfsAccess::open;
  vfs_.xDelete = FaultVfsAccess::remove;
  sqlite3_vfs_register(&vfs_, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

void FaultVfs::fail_at(std::uint64_t n, Fault fault) {
  const std::lock_guard lock(mutex_);
  changes_ = 0;
  fail_at_ = n;
  fault_ = fault;
  met_ = false;
}

bool FaultVfs::met() const {
  const std::lock_guard lock(mutex_);
  return met_;
}

std::uint64_t FaultVfs::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

const FaultVfs::Fault* FaultVfs::next_change() {
  const std::lock_guard lock(mutex_);
  ++changes_;
  if (changes_ == fail_at_) {
    met_ = true;
    dead_ = fault_ == Fault::kPowerLoss;
    return &fault_;
  }
  return dead_ ? &fault_ : nullptr;
}

// A file that is there when it is first seen is on the disk.
void FaultVfs::note_open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!files_.contains(path)) {
    files_[path].disk = content_of(path);
  }
}

void FaultVfs::note_write(const std::string& path, std::int64_t offset, const void* data,
                          int size) {
  const std::lock_guard lock(mutex_);
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  files_[path].pending.push_back({offset, {bytes, bytes + size}});
}

void FaultVfs::note_truncate(const std::string& path, std::int64_t size) {
  const std::lock_guard lock(mutex_);
  files_[path].pending.push_back({size, {}});
}

void FaultVfs::note_sync(const std::string& path) {
  const std::lock_guard lock(mutex_);
  File& file = files_[path];
  file.pending.clear();
  file.disk = content_of(path);
}

void FaultVfs::note_delete(const std::string& path) {
  const std::lock_guard lock(mutex_);
  files_.erase(path);
}

void FaultVfs::recover(std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kSector = 512;
  for (auto& [path, file] : files_) {
    std::vector<std::uint8_t>& disk = file.disk;
    // From nothing arrived (0) to nearly everything (8).
    const std::uint64_t luck = random() % 9;
    for (const Pending& change : file.pending) {
      if (change.bytes.empty()) {
        if (random() % 8 < luck) {
          disk.resize(static_cast<std::size_t>(change.offset));
        }
        continue;
      }
      const auto offset = static_cast<std::size_t>(change.offset);
      for (std::size_t at = 0; at < change.bytes.size(); at += kSector) {
        const std::size_t size = std::min(kSector, change.bytes.size() - at);
        if (random() % 8 < luck) {
          disk.resize(std::max(disk.size(), offset + at + size));
          std::memcpy(disk.data() + offset + at, change.bytes.data() + at, size);
        }
      }
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(disk.data()),
               static_cast<std::streamsize>(disk.size()));
    std::error_code ignored;
    std::filesystem::remove(path + "-shm", ignored);
  }
  files_.clear();
  dead_ = false;
  fail_at_ = 0;
}

}  // namespace assay::storage
