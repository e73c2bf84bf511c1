// SPDX-License-Identifier: Apache-2.0
// A disk for SQLite that fails when told, and that loses what was not synced when the power goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace assay::storage {

// Registers itself as the default VFS of the process for as long as it lives. Every file that
// SQLite opens meanwhile is watched: changes go to the real file at once, and to an image of what
// would be on the disk when they are synced. Real syncs are left out: the images stand for them.
class FaultVfs {
 public:
  enum class Fault : std::uint8_t {
    kError,      // the call fails and does nothing
    kHalf,       // a write does its first half and fails
    kDiskFull,   // the call fails for want of space
    kPowerLoss,  // from this call on everything fails, until recover()
  };

  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // The `n`-th change from now on (1 is the next: a write, sync, truncation or deletion) meets
  // `fault`.
  void fail_at(std::uint64_t n, Fault fault);
  // True when the fault of fail_at() has been met.
  [[nodiscard]] bool met() const;
  // Changes seen since fail_at().
  [[nodiscard]] std::uint64_t changes() const;

  // SQLite takes a file at the path of another one for that one, as where both have the same inode
  // number on two file systems.
  void hide_moves() { hides_moves_ = true; }

  // After the power loss, with every file closed: makes the files what the disk could hold. Of the
  // changes after a file's last sync any part may have arrived, in any order, writes torn at
  // sectors. Then the disk works again.
  void recover(std::mt19937_64& random);

 private:
  friend struct FaultVfsAccess;

  // A change that is not synced.
  struct Pending {
    std::int64_t offset;
    std::vector<std::uint8_t> bytes;  // empty: truncation to `offset`
  };
  struct File {
    std::vector<std::uint8_t> disk;  // as of the last sync
    std::vector<Pending> pending;
  };

  // What the next change of a file meets; null for no fault.
  [[nodiscard]] const Fault* next_change();
  void note_write(const std::string& path, std::int64_t offset, const void* data, int size);
  void note_truncate(const std::string& path, std::int64_t size);
  void note_sync(const std::string& path);
  void note_delete(const std::string& path);
  void note_open(const std::string& path);

  sqlite3_vfs vfs_{};
  sqlite3_vfs* real_;
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  std::uint64_t changes_ = 0;
  std::uint64_t fail_at_ = 0;
  Fault fault_ = Fault::kError;
  bool met_ = false;
  bool dead_ = false;
  std::atomic<bool> hides_moves_ = false;
};

}  // namespace assay::storage
