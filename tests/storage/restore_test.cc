// SPDX-License-Identifier: Apache-2.0
// Going on without what was lost: told once and for all, resumed wherever it was interrupted, and
// never in the past.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "storage/handover.h"
#include "storage/inspect.h"
#include "storage/sqlite/log_tables.h"
#include "tests/storage/sqlite_files.h"
#include "tests/support/killed_calls.h"

namespace assay::storage {
namespace {

constexpr const char* kSecond = "assay.example.com/log/2";
constexpr const char* kThird = "assay.example.com/log/3";

class RestoreTest : public SqliteTest {
 protected:
  // Four records, of which an old copy of the database has two.
  void SetUp() override {
    append(*open().value(), 2);
    std::filesystem::copy_file(path(), copy());
    append(*open().value(), 2);
    lose();
  }
  [[nodiscard]] std::string copy() const { return folder_.path() + "/copy.db"; }
  void lose() const {
    std::filesystem::copy_file(copy(), path(), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(path() + "-wal");
    std::filesystem::remove(path() + "-shm");
  }
  [[nodiscard]] SqliteOptions named(const std::string& origin) const {
    SqliteOptions changed = options();
    changed.origin = origin;
    return changed;
  }
  Status restore(const std::string& origin) {
    return restore_sqlite(named(origin), signer_, clock_);
  }
  Result<Loss> measure(const std::string& origin) { return measure_loss(named(origin), signer_); }
  bool killed_at(const std::string& origin, int call) {
    return test::killed_at(call, [&] { return restore(origin).has_value(); });
  }
  LogRecord newest(Store& store) {
    const auto snapshot = store.snapshot().value();
    const LogState state = snapshot->log_state().value();
    return parse_log_record(snapshot->log_record(state.size - 1).value()).value();
  }
  [[nodiscard]] std::string contents(const std::string& file) const {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void expect_the_loss(const Loss& loss) {
    EXPECT_EQ(loss.origin, kTestOrigin);
    EXPECT_EQ(loss.size, 2U);
    EXPECT_EQ(loss.signed_size, 4U);
    EXPECT_FALSE(loss.differs);
    EXPECT_EQ(loss.revocations, 0U);
    EXPECT_EQ(loss.trust_changes, 0U);
    EXPECT_EQ(loss.policy_changes, 0U);
  }
  void expect_restored(const std::string& origin) {
    const auto store = open(named(origin));
    ASSERT_TRUE(store) << to_string(store.error());
    EXPECT_EQ((*store)->snapshot().value()->log_state()->size, 3U) << "entered once";
    const LogRecord record = newest(**store);
    EXPECT_EQ(record.type, event::kLogReopened);
    EXPECT_EQ(record.detail, Json({{"previous_origin", kTestOrigin},
                                   {"size", 2},
                                   {"signed_size", 4},
                                   {"differs", false}}));
  }
};

TEST_F(RestoreTest, KilledAtEveryStep_TheNextOneFinishes_AndTellsTheSameLoss) {
  const std::string anchor = contents(anchor_path());
  int calls = 0;
  for (bool killed = true; killed; ++calls) {
    lose();
    std::ofstream(anchor_path(), std::ios::binary | std::ios::trunc) << anchor;
    killed = killed_at(kSecond, calls);
    const auto loss = measure(kSecond);
    ASSERT_TRUE(loss) << "call " << calls << ": " << to_string(loss.error());
    expect_the_loss(*loss);
    const bool finished = loss->finished;
    EXPECT_TRUE(finished || killed);
    EXPECT_EQ(open(named(kSecond)).has_value(), finished)
        << "not opened before it is finished, call " << calls;
    const Status again = restore(kSecond);
    ASSERT_TRUE(again) << "call " << calls << ": " << to_string(again.error());
    const Loss after = measure(kSecond).value();
    EXPECT_TRUE(after.entered && after.finished);
    expect_the_loss(after);
    EXPECT_EQ(contents(anchor_path() + ".before-restore"), anchor);
    expect_restored(kSecond);
  }
  EXPECT_GT(calls, 10);
}

TEST_F(RestoreTest, KilledAtEveryStep_AnotherNewNameGoesOn_WithTheSameLoss) {
  const std::string anchor = contents(anchor_path());
  int calls = 0;
  bool entered = false;
  for (bool killed = true; killed; ++calls) {
    lose();
    std::ofstream(anchor_path(), std::ios::binary | std::ios::trunc) << anchor;
    killed = killed_at(kSecond, calls);
    const Loss loss = measure(kThird).value();
    if (!loss.entered || loss.finished) {
      continue;
    }
    entered = true;
    const Status old = restore(kTestOrigin);
    ASSERT_FALSE(old) << "under the name of before";
    EXPECT_EQ(old.error().code, ErrorCode::kConflict);
    ASSERT_TRUE(restore(kThird));
    expect_the_loss([&] {
      Loss told = measure(kThird).value();
      EXPECT_EQ(told.origin, kSecond);
      told.origin = kTestOrigin;
      return told;
    }());
    EXPECT_TRUE(open(named(kThird)));
  }
  EXPECT_TRUE(entered);
}

TEST_F(RestoreTest, NewLossAfterARestore_IsNotTakenForTheOld) {
  ASSERT_TRUE(restore(kSecond));
  std::filesystem::copy_file(path(), copy(), std::filesystem::copy_options::overwrite_existing);
  append(*open(named(kSecond)).value(), 2);
  lose();
  const Loss loss = measure(kSecond).value();
  EXPECT_FALSE(loss.entered);
  EXPECT_EQ(loss.origin, kSecond);
  EXPECT_EQ(loss.signed_size, 5U);
  EXPECT_EQ(restore(kSecond).error().code, ErrorCode::kConflict);
  EXPECT_EQ(restore(kTestOrigin).error().code, ErrorCode::kConflict) << "names are used once";
  // Nor when nobody can tell what was signed.
  std::filesystem::remove(anchor_path());
  EXPECT_FALSE(measure(kSecond)->entered);
  EXPECT_EQ(restore(kSecond).error().code, ErrorCode::kConflict);
}

TEST_F(RestoreTest, ClockBehindTheStore_TheStoreKeepsItsTime) {
  const LastWrite written = last_write(options(), signer_).value().value();
  clock_.advance(-std::chrono::hours(24));
  ASSERT_TRUE(restore(kSecond));
  EXPECT_EQ(last_write(named(kSecond), signer_).value(), written);
  EXPECT_EQ(newest(*open(named(kSecond)).value()).time, written.time);
}

// A copy in which each epoch is 3, and the anchor of a database in which they went on.
class LostChanges : public RestoreTest {
 protected:
  void SetUp() override {}
  void lose_after(const Epochs& newest) {
    set_epochs(*open().value(), {{3, 3}, 3});
    std::filesystem::copy_file(path(), copy());
    set_epochs(*open().value(), newest);
    lose();
  }
  static void set_epochs(Store& store, const Epochs& epochs) {
    ASSERT_TRUE(store.write([&](Transaction& transaction) -> Status {
      ASSAY_TRY(transaction.set_epochs(epochs));
      ASSAY_TRY(transaction.append(make_record("trust.changed")));
      return {};
    }));
  }
  void expect_refused() {
    const std::string before = contents(anchor_path());
    const Status done = restore(kSecond);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kConflict);
    EXPECT_NE(to_string(done.error()).find("would be lost"), std::string::npos);
    EXPECT_EQ(contents(anchor_path()), before);
    EXPECT_EQ(measure(kSecond)->size, 1U) << "nothing is written";
  }
  void expect_lost(std::uint64_t revocations, std::uint64_t trust, std::uint64_t policy) {
    const Loss loss = measure(kSecond).value();
    EXPECT_EQ(loss.revocations, revocations);
    EXPECT_EQ(loss.trust_changes, trust);
    EXPECT_EQ(loss.policy_changes, policy);
  }
};

TEST_F(LostChanges, ChangeOfTrustWithoutARevocation_IsToldAndRefused) {
  lose_after({{5, 3}, 3});
  expect_lost(0, 2, 0);
  expect_refused();
}

TEST_F(LostChanges, ChangeOfPolicy_IsToldAndRefused) {
  lose_after({{3, 3}, 4});
  expect_lost(0, 0, 1);
  expect_refused();
}

TEST_F(LostChanges, Revocation_IsToldAndRefused) {
  lose_after({{4, 4}, 3});
  expect_lost(1, 1, 0);
  expect_refused();
}

TEST_F(LostChanges, RecordsAlone_AreAccepted) {
  set_epochs(*open().value(), {{3, 3}, 3});
  std::filesystem::copy_file(path(), copy());
  append(*open().value(), 2);
  lose();
  expect_lost(0, 0, 0);
  ASSERT_TRUE(restore(kSecond));
  EXPECT_TRUE(open(named(kSecond)));
}

TEST_F(LostChanges, WithoutAnAnchor_NobodyKnows) {
  lose_after({{5, 4}, 4});
  std::filesystem::remove(anchor_path());
  const Loss loss = measure(kSecond).value();
  EXPECT_FALSE(loss.revocations || loss.trust_changes || loss.policy_changes);
}

using StoreTime = SqliteTest;

TEST_F(StoreTime, NeverBehindWhatIsThere) {
  append(*open().value(), 1);
  const Timestamp written = clock_.now();
  clock_.advance(-std::chrono::hours(24));
  {
    const auto store = open().value();
    Timestamp seen;
    ASSERT_TRUE(store->write([&](Transaction& transaction) -> Status {
      seen = transaction.now();
      ASSAY_TRY(transaction.append(make_record("test.appended")));
      return {};
    }));
    EXPECT_EQ(seen, written);
  }
  EXPECT_EQ(last_write(options(), signer_).value()->time, written);
  // Altered, it is not believed. A repair takes the newest record in its place.
  tamper("UPDATE last_write SET time = 0");
  EXPECT_FALSE(last_write(options(), signer_).value());
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
  ASSERT_TRUE(repair_sqlite(options(), signer_, {}, [](auto, auto) {}));
  append(*open().value(), 1);
  EXPECT_EQ(last_write(options(), signer_).value()->time, written);
}

TEST_F(StoreTime, RecordThatIsEarlierThanOneBefore_IsFound) {
  append(*open().value(), 2);
  const auto inspect = [&] {
    return Inspection::open(options(), signer_, clock_).value()->find(true, [](auto, auto) {});
  };
  EXPECT_TRUE(inspect()->empty());
  {
    using namespace sqlite;
    const auto connection = Connection::open(path(), Connection::Mode::kReadWrite).value();
    LogTail tail = load_tail(*connection).value();
    LogRecord earlier = make_record("test.appended");
    earlier.time = clock_.now() - std::chrono::milliseconds(1);
    ASSERT_TRUE(append_record(*connection, tail, earlier));
    LogState state{tail.frontier.size(), tail.frontier.root(), {}};
    state.note = sign_checkpoint({kTestOrigin, state.size, state.root}, signer_).value();
    ASSERT_TRUE(store_checkpoint(*connection, state));
  }
  const auto found = inspect().value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, "last_write") << "it is not of this log";
  EXPECT_EQ(found[1].check, "log");
  EXPECT_EQ(found[1].id, "record 2");
}

}  // namespace
}  // namespace assay::storage
