// SPDX-License-Identifier: Apache-2.0
// The n-th write, sync, truncation or deletion fails, for every n; and the power goes at the n-th.
// Whatever happens: what was acknowledged is there afterwards, and the log verifies.
#include <random>

#include "tests/storage/durability.h"
#include "tests/storage/fault_vfs.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

using Fault = FaultVfs::Fault;

class FaultTest : public SqliteTest {
 protected:
  // A folder of its own for each round, so that rounds do not see each other.
  SqliteOptions round_options(const TemporaryFolder& folder) const {
    SqliteOptions wanted = options();
    wanted.path = folder.path() + "/assay.db";
    wanted.anchor_path = folder.path() + "/anchor.json";
    wanted.readers = 1;
    wanted.anchor_interval = anchor_interval_;
    return wanted;
  }

  // Opens, writes, closes, opens again, writes. Returns what was acknowledged.
  std::vector<AcknowledgedWrite> work(const SqliteOptions& wanted) {
    std::vector<AcknowledgedWrite> acknowledged;
    for (const char* prefix : {"a", "b"}) {
      if (const auto store = open(wanted)) {
        const auto part = write_some(**store, prefix, 4);
        acknowledged.insert(acknowledged.end(), part.begin(), part.end());
      }
    }
    return acknowledged;
  }

  // One round; false when the workload ended before the fault.
  bool round(FaultVfs& vfs, std::uint64_t n, Fault fault, std::mt19937_64& random) {
    SCOPED_TRACE("change " + std::to_string(n));
    const TemporaryFolder folder;
    const SqliteOptions wanted = round_options(folder);
    vfs.fail_at(n, fault);
    const auto acknowledged = work(wanted);
    const bool met = vfs.met();
    vfs.fail_at(0, fault);
    if (fault == Fault::kPowerLoss) {
      vfs.recover(random);
    }
    auto store = open(wanted);
    EXPECT_TRUE(store) << to_string(store.error());
    if (store) {
      expect_durable(**store, acknowledged);
      EXPECT_EQ(write_some(**store, "after", 1).size(), 1U);
      EXPECT_TRUE((*store)->healthy());
    }
    if (!met) {
      EXPECT_EQ(acknowledged.size(), 8U) << "without a fault everything succeeds";
    }
    if (store) {
      store->reset();
      expect_intact(wanted.path);
    }
    return met;
  }

  void every_change(Fault fault, std::uint64_t step) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    FaultVfs vfs;
    std::uint64_t n = 1 + random() % step;
    while (round(vfs, n, fault, random) && !HasFailure()) {
      n += step;
    }
    EXPECT_GT(n, 60U) << "the workload changes files more often than that";
  }

  std::chrono::milliseconds anchor_interval_{3600000};
};

TEST_F(FaultTest, EveryFifthChangeFails_AcknowledgedWritesStay) { every_change(Fault::kError, 5); }

TEST_F(FaultTest, EverySeventhWriteIsHalf_AcknowledgedWritesStay) { every_change(Fault::kHalf, 7); }

TEST_F(FaultTest, DiskFullAtEverySeventhChange_AcknowledgedWritesStay) {
  every_change(Fault::kDiskFull, 7);
}

TEST_F(FaultTest, PowerLossAtEveryFifthChange_AcknowledgedWritesStay) {
  every_change(Fault::kPowerLoss, 5);
}

// The anchor is written in every commit, and must not be ahead of what survives.
TEST_F(FaultTest, PowerLossWithEagerAnchor_AnchorIsNotAhead) {
  anchor_interval_ = std::chrono::milliseconds(0);
  every_change(Fault::kPowerLoss, 9);
}

TEST_F(FaultTest, FailedCommit_FailsItsWritersAndTheNextOneSucceeds) {
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

}  // namespace
}  // namespace assay::storage
