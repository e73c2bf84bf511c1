// SPDX-License-Identifier: Apache-2.0
// Leases and enrolments end when they should, also when the clock was set back over a restart.
#include "server/service/held_clock.h"
#include "storage/handover.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
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
    storage::SqliteOptions options;
    options.path = directory_ / "assay.db";
    options.origin = "example.com/log";
    options.anchor_path = directory_ / "anchor";
    time_ = std::make_unique<HeldClock>(clock_, [this] { return elapsed_; });
    store_ = storage::open_sqlite(options, *log_key_, *time_).value();
    time_->hold(storage::last_write(options, *log_key_).value().value_or(Timestamp()));
    services_ = std::unique_ptr<Services>(
        new Services{*store_, *service_key_, *time_, random_, "example.com/log"});
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

}  // namespace
}  // namespace assay::server::test
