// SPDX-License-Identifier: Apache-2.0
// Whose pods a revocation stops is recorded, also when the service stopped right after it.
#include "server/affected_watch.h"

#include <chrono>
#include <thread>

#include "schemas/log_record.h"
#include "server/service/impact/note_affected.h"
#include "tests/server/service/bind_fixture.h"

namespace assay::server {
namespace {

class AffectedWatchTest : public test::BindTest {
 protected:
  AffectedWatchTest() {
    const Json bound = create_and_bind();
    EXPECT_EQ(bound["allowed"], true) << bound.dump();
  }
  std::vector<storage::EventRow> records() {
    storage::EventQuery query;
    query.type = std::string(event::kPodsAffected);
    return store_->snapshot().value()->events(query).value().items;
  }
  // The records once there are `count`; fewer after half a minute.
  std::vector<storage::EventRow> wait_for(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (records().size() < count && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return records();
  }
  std::uint64_t noted() { return noted_revocations(*store_->snapshot().value()).value(); }

  std::unique_ptr<Log> log_ = Log::open(LogLevel::kError, "/dev/null", clock_).value();
};

TEST_F(AffectedWatchTest, RevocationBeforeTheStart_IsRecordedAfterIt) {
  EXPECT_EQ(noted(), 0U);
  revoke(publisher_);
  {
    const AffectedWatch watch(*services_, *log_);
    const auto made = wait_for(1);
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].record.detail["count"], 1);
    EXPECT_EQ(made[0].record.detail["revocation_epoch"], 1);
    EXPECT_EQ(made[0].record.detail["pods"][0]["uid"], "uid-1");
  }
  EXPECT_EQ(noted(), 1U);
  // Once: the next start finds that record, and goes on behind it.
  AffectedWatch watch(*services_, *log_);
  revoke(evaluator_);
  watch.wake();
  const auto made = wait_for(2);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[1].record.detail["revocation_epoch"], 2);
  EXPECT_EQ(noted(), 2U);
}

// What was noted last counts, however many records there are.
TEST_F(AffectedWatchTest, NewestRecord_SaysWhereToGoOn) {
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    for (std::uint64_t epoch = 1; epoch <= 1001; ++epoch) {
      ASSAY_TRY(transaction.append(LogRecord{.type = std::string(event::kPodsAffected),
                                             .time = clock_.now(),
                                             .actor = "system",
                                             .subjects = {},
                                             .documents = {},
                                             .detail = {{"revocation_epoch", epoch}}}));
    }
    return {};
  }));
  EXPECT_EQ(noted(), 1001U);
}

}  // namespace
}  // namespace assay::server
