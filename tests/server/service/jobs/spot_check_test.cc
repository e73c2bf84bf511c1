// SPDX-License-Identifier: Apache-2.0
// Spot checks: what is drawn, what is read, and how a job ends with them.
#include "server/service/jobs/spot_check.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sys/stat.h>

#include "schemas/core/sha.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using State = ReportAnswer::State;

class SpotCheck : public NodeTest {
 protected:
  SpotCheck() {
    store_model(model_);
    make_mirror(model_);
  }
  // Enrols, leases and reports what is right.
  ReportAnswer report_good() {
    enrol_ok(worker_);
    job_ = new_job(model_, worker_.node).job.id;
    return report_again();
  }
  ReportAnswer report_again() {
    lease_ = lease(worker_);
    body_ = submission(worker_, report(*lease_, model_));
    const auto answer = send(worker_, *lease_, body_);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer.value();
  }
  SpotSubmission answers_to(const ReportAnswer& asked) const {
    SpotSubmission made{asked.challenge->nonce, {}};
    for (const SpotSpan& place : asked.spans) {
      const ByteView file = model_.files[place.entry];
      const ByteView rest = file.subspan(place.index * asked.span);
      made.answers.push_back(spot_answer(made.nonce, model_.id, place,
                                         rest.first(std::min<std::size_t>(kSpan, rest.size()))));
    }
    return made;
  }
  Result<ReportAnswer> send_spot(const SpotSubmission& submission) {
    return submit_spot(*services_, {job_, lease_->token, worker_.principal},
                       as_bytes(to_json(submission).dump()));
  }
  std::filesystem::path mirrored(const std::string& path) const {
    return std::filesystem::path(services_->nodes.mirror) / "acme/demo" / path;
  }
  Result<Bytes> read(const SpotSpan& place) {
    return read_span(services_->nodes.mirror, "acme/demo", model_.manifest.artifact, model_.outline,
                     place);
  }

  std::string job_;
  std::optional<JobLease> lease_;
  Bytes body_;
};

TEST_F(SpotCheck, RightAnswers_AreVerified) {
  services_->nodes.spot_checks = 4;
  const ReportAnswer asked = report_good();
  EXPECT_EQ(asked.state, State::kSpot);
  EXPECT_EQ(asked.spans.size(), 4U);
  EXPECT_EQ(asked.span, kSpan);
  EXPECT_EQ(job_row(job_).result, "") << "not before the last step";
  const ReportAnswer again = send(worker_, *lease_, body_).value();
  EXPECT_EQ(again.spans, asked.spans);
  EXPECT_EQ(again.challenge->nonce, asked.challenge->nonce);

  const SpotSubmission answers = answers_to(asked);
  const auto done = send_spot(answers);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(done->state, State::kVerified);
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.result, "verified");
  EXPECT_TRUE(job.worker_measured);
  EXPECT_EQ(job.detail["spot_checks"], 4);
  EXPECT_NEAR(job.detail["spot_check"]["detects_one_percent"].get<double>(), 0.0394, 0.0001);
  EXPECT_EQ(send_spot(answers)->state, State::kVerified) << "asked again";
  EXPECT_EQ(send(worker_, *lease_, body_)->state, State::kVerified);
}

TEST_F(SpotCheck, WrongAnswer_FailsTheJob) {
  const ReportAnswer asked = report_good();
  SpotSubmission answers = answers_to(asked);
  std::swap(answers.answers.front(), answers.answers.back());
  EXPECT_EQ(refusal(send_spot(answers)), ErrorCode::kSpotCheckFailed);
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.result, "failed");
  EXPECT_EQ(job.detail["code"], "spot-check-failed");
  EXPECT_EQ(job.detail["spot_checks"], 0);
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"job.finished"}));
  // There is no second guess, nor a way back to verified.
  EXPECT_EQ(refusal(send_spot(answers_to(asked))), ErrorCode::kSpotCheckFailed);
  EXPECT_EQ(refusal(send(worker_, *lease_, body_)), ErrorCode::kSpotCheckFailed);
  // It counts against the node: no older report stands in for it.
  const auto newest = store_->snapshot()
                          .value()
                          ->newest_report(worker_.node, model_.id, "files", {kLocation})
                          .value();
  EXPECT_EQ(newest.result, "failed");
}

TEST_F(SpotCheck, TooFewAnswers_FailTheJob) {
  SpotSubmission answers = answers_to(report_good());
  answers.answers.pop_back();
  EXPECT_EQ(refusal(send_spot(answers)), ErrorCode::kSpotCheckFailed);
  EXPECT_EQ(job_row(job_).result, "failed");
}

TEST_F(SpotCheck, LateAnswers_AreRefused) {
  services_->nodes.lease_life = std::chrono::minutes(10);
  const ReportAnswer asked = report_good();
  clock_.advance(std::chrono::seconds(119));
  EXPECT_EQ(
      renew_lease(*services_, {job_, lease_->token, worker_.principal}).value() - clock_.now(),
      std::chrono::seconds(1))
      << "no longer than the question";
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(refusal(send_spot(answers_to(asked))), ErrorCode::kLeaseLost);
  EXPECT_EQ(job_row(job_).result, "");
}

TEST_F(SpotCheck, AnswersUnderAnotherNonce_AreChallengeMismatch) {
  const ReportAnswer asked = report_good();
  SpotSubmission answers = answers_to(asked);
  answers.nonce = challenge(worker_).nonce;
  EXPECT_EQ(refusal(send_spot(answers)), ErrorCode::kChallengeMismatch);
  EXPECT_EQ(job_row(job_).result, "");
}

TEST_F(SpotCheck, AnswersOfTheLeaseBefore_AreRefused) {
  const ReportAnswer first = report_good();
  clock_.advance(std::chrono::seconds(60));
  EXPECT_EQ(refusal(send_spot(answers_to(first))), ErrorCode::kLeaseLost);
  const ReportAnswer second = report_again();
  EXPECT_EQ(refusal(send_spot(answers_to(first))), ErrorCode::kChallengeMismatch);
  EXPECT_EQ(job_row(job_).result, "");
  EXPECT_EQ(send_spot(answers_to(second))->state, State::kVerified);
}

// --- silence

TEST_F(SpotCheck, AfterALostLease_TheSameSpansAreAskedFor) {
  services_->nodes.spot_checks = 2;
  const ReportAnswer first = report_good();
  ReportAnswer asked = first;
  for (std::uint64_t attempt = 2; attempt <= kMaxAttempts; ++attempt) {
    clock_.advance(std::chrono::seconds(60));
    // A lease that ends before its report changes nothing about that.
    if (attempt == 3) {
      lease_ = lease(worker_);
      continue;
    }
    asked = report_again();
    EXPECT_EQ(asked.spans, first.spans) << "another draw would be another chance";
    EXPECT_NE(asked.challenge->nonce, first.challenge->nonce);
  }
  EXPECT_EQ(send_spot(answers_to(asked))->state, State::kVerified);
  EXPECT_EQ(job_row(job_).detail["spot_checks"], 2);
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"report.accepted"}));
}

TEST_F(SpotCheck, SilenceToTheEnd_IsAWrongAnswer) {
  report_good();
  const DocumentId silent(sha256(parse_report_submission(body_).value().envelope));
  for (std::uint64_t attempt = 2; attempt <= kMaxAttempts; ++attempt) {
    clock_.advance(std::chrono::seconds(60));
    EXPECT_EQ(lease(worker_).token, attempt);
  }
  clock_.advance(std::chrono::seconds(60));
  EXPECT_FALSE(lease_job(*services_, worker_.node, worker_.principal, {})->lease);
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.result, "failed");
  EXPECT_EQ(job.detail["code"], "spot-check-failed");
  EXPECT_EQ(job.detail["spot_checks"], 0);
  EXPECT_EQ(job.detail["spot_check"], Json::parse(R"({"spans":6,"answered":false})"));
  EXPECT_EQ(job.report, silent);
  EXPECT_TRUE(job.worker_measured);
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"job.finished"}));
  EXPECT_EQ(report_seen(worker_, model_)->result, "failed");
}

TEST_F(SpotCheck, UnansweredInTime_NoOlderReportStandsInForIt) {
  ASSERT_TRUE(send_spot(answers_to(report_good())));
  const std::string verified = job_;
  job_ = new_job(model_, worker_.node).job.id;
  report_again();
  EXPECT_EQ(report_seen(worker_, model_)->job, verified) << "there is time to answer";
  clock_.advance(std::chrono::seconds(60));
  // Nobody asked for a job since.
  EXPECT_EQ(report_seen(worker_, model_)->job, job_);
  EXPECT_EQ(report_seen(worker_, model_)->result, "failed");
  lease_ = lease(worker_);
  EXPECT_EQ(report_seen(worker_, model_)->result, "failed");
  const auto again = send_report(worker_, *lease_, report(*lease_, model_));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(report_seen(worker_, model_)->result, "failed") << "a report is no answer";
  ASSERT_TRUE(send_spot(answers_to(*again)));
  EXPECT_EQ(report_seen(worker_, model_)->result, "verified");
  EXPECT_EQ(report_seen(worker_, model_)->job, job_);
}

TEST_F(SpotCheck, UnansweredAndTheMirrorIsGone_IsNotVerified) {
  report_good();
  clock_.advance(std::chrono::seconds(60));
  services_->nodes.mirror.clear();
  EXPECT_EQ(report_again().state, State::kIncomplete);
  EXPECT_EQ(job_row(job_).result, "incomplete");
}

TEST_F(SpotCheck, WhereNoneCanBeMade_TheDetailSaysWhy) {
  enrol_ok(worker_);
  const Model other = make_model({content(9'000, 3)});
  store_model(other, false);
  const auto skipped = [&] {
    const std::string id = new_job(other, worker_.node).job.id;
    const JobLease leased = lease(worker_);
    const auto answer = send_report(worker_, leased, report(leased, other));
    EXPECT_TRUE(answer) << to_string(answer.error());
    return job_row(id).detail["spot_check"]["skipped"];
  };
  EXPECT_EQ(skipped(), "not-found") << "no outline";
  // Of a store before such outlines were refused.
  const Outline coarse{2 * kMaxSpotBytes,
                       {{std::get<FileEntry>(other.manifest.artifact.entries[0]).root}}};
  const Bytes blob = encode_outline(coarse, other.manifest.artifact).value();
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const DocumentId id, transaction.put_document("outline", blob));
    return transaction.put_outline(other.id, id);
  }));
  EXPECT_EQ(skipped(), "limit-exceeded");
}

TEST_F(SpotCheck, MirrorWithOtherBytes_IsNotTheTruth) {
  const std::filesystem::path path = mirrored("weights/0.bin");
  std::filesystem::resize_file(path, 0);
  std::ofstream(path, std::ios::binary) << as_text(content(40'000, 9));
  EXPECT_EQ(report_good().state, State::kVerified);
  const Json detail = job_row(job_).detail;
  EXPECT_EQ(detail["spot_checks"], 0);
  EXPECT_EQ(detail["spot_check"]["skipped"], "content-mismatch");
}

TEST_F(SpotCheck, WithoutMirrorOrOutline_ThereIsNone) {
  services_->nodes.mirror.clear();
  EXPECT_EQ(report_good().state, State::kVerified);
  EXPECT_EQ(job_row(job_).detail["spot_checks"], 0);
}

// --- reading

TEST_F(SpotCheck, Spans_AreTheBytesOfTheModel) {
  const ByteView file = model_.files[0];
  EXPECT_EQ(read({0, 1}), Bytes(file.begin() + kSpan, file.begin() + 2 * kSpan));
  EXPECT_EQ(read({0, 4})->size(), 40'000 - 4 * kSpan);
  EXPECT_EQ(refusal(read({0, 5})), ErrorCode::kInvalidParameter);
  EXPECT_EQ(refusal(read({2, 0})), ErrorCode::kInvalidParameter);
}

TEST_F(SpotCheck, LinksAreNotFollowed) {
  const std::filesystem::path path = mirrored("weights/0.bin");
  std::filesystem::rename(path, directory_ / "outside.bin");
  std::filesystem::create_symlink(directory_ / "outside.bin", path);
  EXPECT_EQ(refusal(read({0, 0})), ErrorCode::kFileUnreadable);
  std::filesystem::remove(path);
  std::filesystem::rename(directory_ / "outside.bin", path);
  EXPECT_TRUE(read({0, 0}));
  std::filesystem::rename(mirrored("weights"), directory_ / "outside");
  std::filesystem::create_directory_symlink(directory_ / "outside", mirrored("weights"));
  EXPECT_EQ(refusal(read({0, 0})), ErrorCode::kFileUnreadable);
}

TEST_F(SpotCheck, WhatIsNoFile_IsNotRead) {
  std::filesystem::remove(mirrored("weights/0.bin"));
  EXPECT_EQ(refusal(read({0, 0})), ErrorCode::kFileUnreadable);
  ASSERT_EQ(::mkfifo(mirrored("weights/0.bin").c_str(), 0600), 0);
  EXPECT_EQ(refusal(read({0, 0})), ErrorCode::kUnsupportedFileType);
  std::filesystem::remove(mirrored("weights/0.bin"));
  std::filesystem::create_directory(mirrored("weights/0.bin"));
  EXPECT_EQ(refusal(read({0, 0})), ErrorCode::kUnsupportedFileType);
}

TEST_F(SpotCheck, OtherSizeOrName_IsNotRead) {
  std::filesystem::resize_file(mirrored("weights/0.bin"), 40'001);
  EXPECT_EQ(refusal(read({0, 0})), ErrorCode::kContentMismatch);
  const Artifact& artifact = model_.manifest.artifact;
  EXPECT_FALSE(read_span(services_->nodes.mirror, "../demo", artifact, model_.outline, {0, 0}));
  Artifact up = artifact;
  std::get<FileEntry>(up.entries[1]).path = "../demo/weights/1.bin";
  EXPECT_EQ(refusal(read_span(services_->nodes.mirror, "acme/demo", up, model_.outline, {1, 0})),
            ErrorCode::kInvalidPath);
}

// --- drawing

// Numbers that count up, in eight bytes each.
class Counting final : public Random {
 public:
  Status fill(std::span<std::uint8_t> out) override {
    std::ranges::fill(out, std::uint8_t{0});
    out.back() = next_++;
    return {};
  }

 private:
  std::uint8_t next_ = 0;
};

TEST_F(SpotCheck, DrawnSpans_AreDistinctAndInRange) {
  const std::vector<std::uint64_t> all = {0, 1};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (int i = 0; i < 200; ++i) {
    const auto drawn = draw_spans(random_, model_.manifest.artifact, all, kSpan, 3).value();
    ASSERT_EQ(drawn.size(), 3U);
    EXPECT_NE(drawn[0], drawn[1]);
    EXPECT_NE(drawn[1], drawn[2]);
    for (const SpotSpan& place : drawn) {
      seen.emplace(place.entry, place.index);
    }
  }
  // 40000 bytes are five spans, 5000 are one.
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_TRUE(seen.contains({0, 4}));
  EXPECT_TRUE(seen.contains({1, 0}));
  EXPECT_EQ(draw_spans(random_, model_.manifest.artifact, all, kSpan, 100)->size(), 6U);
  EXPECT_TRUE(draw_spans(random_, model_.manifest.artifact, all, kSpan, 0)->empty());
}

TEST_F(SpotCheck, Draw_FollowsTheRandomNumbers) {
  Counting numbers;
  // Floyd's sampling of 2 out of 6 with the draws 0 and 1: spans 0 and 1.
  const std::vector<std::uint64_t> all = {0, 1};
  const auto drawn = draw_spans(numbers, model_.manifest.artifact, all, kSpan, 2).value();
  EXPECT_EQ(drawn, (std::vector<SpotSpan>{{0, 0}, {0, 1}}));
}

TEST_F(SpotCheck, Draw_KeepsToTheEntriesAndTheLimit) {
  const std::vector<std::uint64_t> second = {1};
  EXPECT_EQ(*draw_spans(random_, model_.manifest.artifact, second, kSpan, 5),
            (std::vector<SpotSpan>{{1, 0}}));
  EXPECT_TRUE(draw_spans(random_, model_.manifest.artifact, second, 2 * kMaxSpotBytes, 5)->empty());
  Artifact large;
  large.entries = {FileEntry{"a", std::uint64_t{1} << 40,
                             std::get<FileEntry>(model_.manifest.artifact.entries[0]).root}};
  const std::vector<std::uint64_t> first = {0};
  EXPECT_EQ(draw_spans(random_, large, first, kMaxSpotBytes / 4, 100)->size(), 4U);
}

}  // namespace
}  // namespace assay::server::test
