// SPDX-License-Identifier: Apache-2.0
// Leases and enrolments end when they should, also when the clock was set back over a restart.
#include <sqlite3.h>

#include "server/service/held_clock.h"
#include "server/service/jobs/precedence.h"
#include "storage/handover.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// The service goes by a HeldClock, as the program makes it.
class LeaseClock : public NodeTest {
 protected:
  LeaseClock() {
    enrol_ok(worker_);
    store_model(model_);
    new_job(model_, worker_.node);
    start();
  }
  // The same again after a restart: only what is in the store is known.
  void start() {
    services_.reset();
    store_.reset();
    storage::SqliteOptions changed = options();
    time_ = std::make_unique<HeldClock>(clock_, [this] { return elapsed_; });
    changed.wall = [this] { return time_->wall(); };
    store_ = storage::open_sqlite(changed, *log_key_, *time_).value();
    time_->hold(storage::last_write(changed, *log_key_).value().value_or(storage::LastWrite{}));
    services_ = std::unique_ptr<Services>(
        new Services{*store_, *service_key_, *time_, random_, "example.com/log"});
  }
  [[nodiscard]] storage::SqliteOptions options() const {
    storage::SqliteOptions options;
    options.rules = &kReportRules;
    options.path = directory_ / "assay.db";
    options.origin = "example.com/log";
    options.anchor_path = directory_ / "anchor";
    return options;
  }
  void write() {
    ASSERT_TRUE(store_->write([](storage::Transaction& /*transaction*/) { return Status(); }));
  }
  // The service is not there; its monotonic clock begins anew.
  void stand_still(milliseconds time) {
    clock_.advance(time);
    elapsed_ = milliseconds(5);
  }
  ~LeaseClock() override {
    services_.reset();
    store_.reset();
  }
  std::optional<JobLease> ask() {
    const auto answer = lease_job(*services_, worker_.node, worker_.principal, {});
    return answer ? answer->lease : std::nullopt;
  }
  void pass(milliseconds time) {
    clock_.advance(time);
    elapsed_ += time;
  }

  milliseconds elapsed_{1'000'000};
  std::unique_ptr<HeldClock> time_;
};

TEST_F(LeaseClock, SetBackOverARestart_LeaseEndsAllTheSame) {
  pass(hours(1));  // nothing is logged meanwhile, and a lease is no record
  const auto first = ask();
  ASSERT_TRUE(first);
  clock_.advance(-hours(3));
  elapsed_ = milliseconds(5);
  start();
  EXPECT_EQ(time_->lead(), hours(3));
  EXPECT_FALSE(ask());
  pass(seconds(60));
  const auto second = ask();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->token, 2U);
}

TEST_F(LeaseClock, SetBack_EnrolmentEndsAllTheSame) {
  const Timestamp end = store_->snapshot().value()->node(worker_.node).value().expires_at;
  clock_.advance(-hours(48));
  start();
  pass(std::chrono::ceil<milliseconds>(end - time_->now()));
  const auto answer = lease_job(*services_, worker_.node, worker_.principal, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kEnrolmentExpired);
}

// The wall clock was ahead while the service ran, and was set right before it was started again.
TEST_F(LeaseClock, AheadOnce_WaitsAtTheFirstRestartAlone) {
  clock_.advance(hours(1));
  write();
  clock_.advance(-hours(1));
  start();
  EXPECT_FALSE(time_->is_known()) << "as when it was set back";
  write();
  start();
  EXPECT_FALSE(time_->is_known()) << "a restart does not help";
  pass(hours(1));
  EXPECT_TRUE(time_->is_known());
  write();
  for (int restart = 0; restart < 3; ++restart) {
    const Timestamp before = time_->now();
    stand_still(minutes(10));
    start();
    EXPECT_TRUE(time_->is_known()) << restart;
    EXPECT_EQ(time_->now(), before + minutes(10)) << restart;
    write();
  }
}

// The wall clock was set right while the service ran: it has seen that.
TEST_F(LeaseClock, AheadAndSetRightWhileRunning_NoRestartWaits) {
  clock_.advance(hours(1));
  write();
  clock_.advance(-hours(1));
  pass(seconds(10));
  write();
  for (int restart = 0; restart < 3; ++restart) {
    const Timestamp before = time_->now();
    stand_still(minutes(10));
    start();
    EXPECT_TRUE(time_->is_known()) << restart;
    EXPECT_EQ(time_->now(), before + minutes(10)) << "what was written is ten minutes older";
    write();
  }
  EXPECT_EQ(time_->lead(), hours(1));
  // Set back between two runs it is still noticed, and stays noticed.
  clock_.advance(-minutes(1));
  for (int restart = 0; restart < 3; ++restart) {
    start();
    EXPECT_FALSE(time_->is_known()) << restart;
    write();
  }
  pass(minutes(1));
  EXPECT_TRUE(time_->is_known());
}

TEST_F(LeaseClock, WallClockOfTheLastWriteThatWasAltered_IsNotBelieved) {
  clock_.advance(hours(1));
  write();
  clock_.advance(-hours(1));
  services_.reset();
  store_.reset();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ / "assay.db").c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "UPDATE last_write SET wall = wall - 3600000", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  EXPECT_FALSE(storage::last_write(options(), *log_key_).value());
  const auto opened = storage::open_sqlite(options(), *log_key_, clock_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace assay::server::test
