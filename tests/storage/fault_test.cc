// SPDX-License-Identifier: Apache-2.0
// Failing disks and lost power, at a part of all possible moments (torture_test.cc takes them all).
#include <filesystem>
#include <thread>

#include "tests/storage/durability.h"
#include "tests/storage/fault_rounds.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

using Fault = FaultVfs::Fault;

TEST(DiskFault, ChangesFail_AcknowledgedWritesStay) { fault_rounds(Fault::kError, 13); }
TEST(DiskFault, WritesAreHalf_AcknowledgedWritesStay) { fault_rounds(Fault::kHalf, 17); }
TEST(DiskFault, DiskIsFull_AcknowledgedWritesStay) { fault_rounds(Fault::kDiskFull, 17); }
// The anchor is written for every group, and must not be ahead of what survives.
TEST(DiskFault, PowerGoes_AcknowledgedWritesStayAndTheAnchorIsNotAhead) {
  fault_rounds(Fault::kPowerLoss, 11);
}

class WriteFault : public SqliteTest {};

TEST_F(WriteFault, CommitFails_ItsWritersFailAndTheNextOneSucceeds) {
  FaultVfs vfs;
  const auto store = open().value();
  const auto before = write_some(*store, "before", 2);
  ASSERT_EQ(before.size(), 2U);
  vfs.fail_at(1, Fault::kError);
  const auto failed = store->write([](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.append(make_record("test.lost")));
    return {};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kStorage);
  EXPECT_FALSE(store->healthy());
  EXPECT_EQ(store->snapshot().value()->log_state()->size, before.back().state.size);
  const LogState after = append(*store, 1);
  EXPECT_EQ(after.size, before.back().state.size + 1);
  EXPECT_TRUE(store->healthy());
  expect_durable(*store, before);
}

// What happens when a file system is mounted over the folder of a service that still runs, and its
// file has the inode number of the old one.
TEST_F(WriteFault, OldServiceThatStops_LeavesTheLogOfTheNewOne) {
  namespace fs = std::filesystem;
  FaultVfs vfs;
  vfs.hide_moves();
  auto old = open().value();
  append(*old, 3);
  const std::string away = folder_.path() + "/away";
  ASSERT_TRUE(fs::create_directory(away));
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    fs::rename(path() + suffix, away + "/assay.db" + suffix);
  }
  fs::rename(anchor_path(), away + "/anchor.json");
  const auto store = open().value();
  append(*store, 30);
  old.reset();
  // As after a kill of the new service.
  ASSERT_TRUE(fs::exists(path() + "-wal"));
  SqliteOptions killed = options();
  killed.path = folder_.path() + "/copy.db";
  fs::copy_file(path(), killed.path);
  fs::copy_file(path() + "-wal", killed.path + "-wal");
  const auto again = open(killed);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ((*again)->snapshot().value()->log_state()->size, 30U);
}

// A service that is not ready gets no requests, so that no write would ever end that.
TEST_F(WriteFault, DiskThatTakesWritesAgain_IsNoticedWithoutAWrite) {
  FaultVfs vfs;
  SqliteOptions wanted = options();
  wanted.probe_interval = std::chrono::milliseconds(5);
  const auto store = open(wanted).value();
  const auto before = write_some(*store, "before", 2);
  vfs.fail_at(1, Fault::kDiskFull);
  EXPECT_TRUE(write_some(*store, "lost", 1).empty());
  EXPECT_FALSE(store->healthy());
  vfs.fail_at(0, Fault::kDiskFull);
  while (!store->healthy()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(append(*store, 1).size, before.back().state.size + 1);
  expect_durable(*store, before);
}

}  // namespace
}  // namespace assay::storage
