// SPDX-License-Identifier: Apache-2.0
// Whose pods a revocation stops is recorded, also when the service stopped right after it.
#include "server/affected_watch.h"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/log_record.h"
#include "schemas/posix/descriptor.h"
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
  ~AffectedWatchTest() override { ::unlink(pipe_.c_str()); }
  std::vector<storage::EventRow> records() {
    storage::EventQuery query;
    query.type = std::string(event::kPodsAffected);
    return store_->snapshot().value()->events(query).value().items;
  }
  // The records once the watch says that it made another.
  std::vector<storage::EventRow> await_record() {
    std::array<char, 4096> line{};
    pollfd said{lines_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&said, 1, 60'000), 1);
    EXPECT_GT(::read(lines_.get(), line.data(), line.size()), 0);
    return records();
  }
  std::uint64_t noted() { return noted_revocations(*store_->snapshot().value()).value(); }

  static Descriptor make_pipe(const std::string& name) {
    EXPECT_EQ(::mkfifo(name.c_str(), 0600), 0);
    return Descriptor(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }

  std::string pipe_ = testing::TempDir() + "affected-" + std::to_string(::getpid());
  Descriptor lines_ = make_pipe(pipe_);
  std::unique_ptr<Log> log_ = Log::open(LogLevel::kWarn, pipe_, clock_).value();
};

TEST_F(AffectedWatchTest, RevocationBeforeTheStart_IsRecordedAfterIt) {
  EXPECT_EQ(noted(), 0U);
  revoke(publisher_);
  {
    const AffectedWatch watch(*services_, *log_);
    const auto made = await_record();
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
  const auto made = await_record();
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
