// SPDX-License-Identifier: Apache-2.0
// A report is no longer than the entries of its model need.
#include "schemas/report_size.h"

#include "schemas/core/sha.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using State = ReportAnswer::State;

class ReportSize : public NodeTest {
 protected:
  ReportSize() {
    enrol_ok(worker_);
    store_model(model_);
    job_ = new_job(model_, worker_.node).job.id;
    lease_ = lease(worker_);
  }

  static std::string long_path(std::size_t i) {
    std::string path = std::to_string(10'000 + i);
    while (path.size() < 4000) {
      path += "/" + std::string(200, 'x');
    }
    return path;
  }
  // A report with so many extra files that it is nearly as long as it may be, in an envelope that
  // blanks make just this long.
  Result<ReportAnswer> send_padded(std::size_t bytes) {
    VerificationReport made = report(*lease_, model_);
    for (made.extra_count = 0; made.extra_count < 125; ++made.extra_count) {
      made.extra.push_back({long_path(made.extra_count), 1});
    }
    return send(worker_, *lease_, submission(worker_, made, [bytes](ReportSubmission& submission) {
                  EXPECT_LT(submission.envelope.size(), bytes);
                  submission.envelope.resize(bytes, ' ');
                }));
  }

  std::string job_;
  std::optional<JobLease> lease_;
};

TEST_F(ReportSize, AsLongAsItMayBe_IsTaken_AndOneByteMoreIsNot) {
  const std::size_t most = max_report_bytes(model_.manifest.artifact, {});
  const auto refused = send_padded(most + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPayloadTooLarge) << to_string(refused.error());
  EXPECT_NE(refused.error().detail.find(std::to_string(most)), std::string::npos);
  EXPECT_TRUE(job_row(job_).result.empty());
  EXPECT_FALSE(job_row(job_).report);
  clock_.advance(services_->nodes.lease_life);
  lease_ = lease(worker_);
  const auto taken = send_padded(most);
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_EQ(taken->state, State::kMismatch);
}

// Everything that a node may list at once, in the longest form, fits.
TEST_F(ReportSize, LongestReportOfAnHonestNode_IsTaken) {
  VerificationReport made = report(*lease_, model_);
  made.entries.clear();
  for (std::uint64_t i = 0; i < model_.manifest.artifact.entries.size(); ++i) {
    made.not_covered.push_back({i, std::string(256, '"')});
  }
  ExtraRoom room;
  for (std::size_t i = 0; i < kMaxExtraFiles; ++i) {
    std::string path = long_path(i);
    if (room.take_name(path)) {
      made.extra.push_back({std::move(path), 9'007'199'254'740'991});
    }
    ++made.extra_count;
  }
  EXPECT_GT(made.extra.size(), 60U);
  const auto answer = send_report(worker_, *lease_, made);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
}

// 64 bytes for the members and the size of each, two for the quotation marks.
TEST(ExtraRoom, Names_FitUpToTheLimitAndNotOnePast) {
  constexpr std::size_t kRest = 64 + 2;
  const std::string first(1000, 'x');
  for (const bool over : {false, true}) {
    ExtraRoom room;
    ASSERT_TRUE(room.take_name(first));
    const std::size_t left = kMaxExtraBytes - (first.size() + kRest);
    EXPECT_EQ(room.take_name(std::string(left - kRest + (over ? 1 : 0), 'x')), !over);
    EXPECT_FALSE(room.take_name("")) << "after that nothing fits";
  }
}

TEST_F(ReportSize, EntriesOfTheSubset_Count) {
  const Artifact& artifact = model_.manifest.artifact;
  const std::size_t all = max_report_bytes(artifact, {});
  const std::vector<std::uint64_t> first = {0};
  const std::vector<std::uint64_t> beyond = {artifact.entries.size()};
  EXPECT_LT(max_report_bytes(artifact, first), all);
  EXPECT_LT(max_report_bytes(artifact, beyond), max_report_bytes(artifact, first));
  EXPECT_EQ(max_report_bytes(artifact, std::vector<std::uint64_t>{0, 1}), all);
}

TEST(ReportLength, PayloadBeyondItsLimit_IsRefused) {
  EXPECT_TRUE(check_report_length(kMaxReportPayload, kMaxStatementMemory));
  EXPECT_FALSE(check_report_length(kMaxReportPayload + 1, 0));
  EXPECT_FALSE(check_report_length(0, kMaxStatementMemory + 1));
  const std::string longest = "\"" + std::string(kMaxReportPayload - 2, 'x') + "\"";
  const auto read = parse_verification_report(as_bytes(longest));
  const auto longer = parse_verification_report(as_bytes(longest + " "));
  EXPECT_EQ(read.error().code, ErrorCode::kSchemaViolation);
  EXPECT_EQ(longer.error().code, ErrorCode::kLimitExceeded);
}

// The limit of one entry holds for the longest that a manifest can have.
TEST(ReportEntry, WithManyDimensions_FitsItsShare) {
  Artifact artifact;
  const std::size_t none = max_report_bytes(artifact, {});
  constexpr std::uint64_t kLargest = 9'007'199'254'740'991;
  const Digest root = sha256(as_bytes("x"));
  artifact.entries.emplace_back(TensorEntry{std::string(300, '"'), std::string(32, 'F'),
                                            std::vector<std::uint64_t>(64, kLargest),
                                            std::string(300, '/'), kLargest, kLargest, root});
  const std::size_t bytes = to_json(artifact.entries.front()).dump().size();
  EXPECT_GT(bytes, 2000U);
  EXPECT_LE(bytes * 4 / 3, max_report_bytes(artifact, {}) - none);
}

}  // namespace
}  // namespace assay::server::test
