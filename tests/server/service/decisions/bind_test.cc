// SPDX-License-Identifier: Apache-2.0
// Decisions at the point bind over a real store: allowed when all holds, refused for one change
// each, and replayed when the node is no more.
#include <functional>
#include <utility>

#include "server/service/jobs/job_steps.h"
#include "tests/server/service/bind_fixture.h"
#include "tests/support/stepping_clock.h"

namespace assay::server::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using Codes = std::vector<Reason>;

class Bind : public BindTest {
 protected:
  DecisionRequest request(const std::string& node = "gpu-1") {
    DecisionRequest request{.point = DecisionPoint::kBind,
                            .models = {id_of(model_).text()},
                            .workload = {"inference", {}, {"nvidia.com/gpu"}, node},
                            .context = Json::object(),
                            .principal = "orchestrator"};
    return request;
  }
  Decision decide_on(const DecisionRequest& asked) {
    const auto answer = decide(*services_, asked);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }
  // A report is in, and more is asked for: within a minute.
  storage::JobRow open_row(storage::JobState state, const Json& detail) {
    storage::JobRow row = report_row(id_of(model_));
    Pending pending{};
    pending.leased_at = clock_.now();
    pending.reported_at = clock_.now();
    pending.read_since = clock_.now();
    pending.report = std::exchange(row.report, std::nullopt);
    pending.worker_measured = true;
    pending.detail = detail;
    row.pending = to_json(pending);
    row.state = state;
    row.result.clear();
    row.finished_at.reset();
    row.lease_expires_at = clock_.now() + minutes(1);
    return row;
  }
  Codes reasons(const std::string& node = "gpu-1") {
    return decide_on(request(node)).verdict.reasons;
  }
};

TEST_F(Bind, NodeThatVerifiedTheModel_IsAllowed) {
  const Decision decision = decide_on(request());
  EXPECT_TRUE(decision.verdict.allowed) << to_json(decision.verdict).dump();
  EXPECT_EQ(decision.point, DecisionPoint::kBind);
  const TreeSize size = log_size();
  const auto record = store_->snapshot().value()->log_record(size - 1).value();
  EXPECT_EQ(parse_log_record(record).value().detail["node"], "gpu-1");
}

TEST_F(Bind, StaleEvidence_IsRefused) {
  clock_.advance(minutes(61));
  put(report_row(id_of(model_)));
  EXPECT_EQ(reasons(), Codes{Reason::kEvidenceStale});
}

TEST_F(Bind, StaleReport_IsRefused) {
  clock_.advance(minutes(61));
  put(node_row());
  EXPECT_EQ(reasons(), Codes{Reason::kReportStale});
}

TEST_F(Bind, NewerMismatch_IsRefusedNamingWhatDiffers) {
  storage::JobRow row = report_row(id_of(model_));
  row.result = "mismatch";
  row.detail = {{"differing", "model.bin bytes 0-1048576"}};
  put(row);
  const Decision decision = decide_on(request());
  EXPECT_EQ(decision.verdict.reasons.front(), Reason::kModelMismatch);
  const ConditionResult& result = decision.verdict.policies[0].conditions[2];
  EXPECT_EQ(result.actual["differing"], "model.bin bytes 0-1048576");
  EXPECT_EQ(result.evidence, std::vector<std::string>{row.report->text()});
}

TEST_F(Bind, ReportOnAPartOfTheModel_IsNoReport) {
  put(node_row("gpu-2"));
  storage::JobRow row = report_row(id_of(model_), "gpu-2");
  row.subset = Json::array({0});
  put(row);
  EXPECT_EQ(reasons("gpu-2"), Codes{Reason::kReportMissing});
  // Nor does it take the place of one on all of it.
  row = report_row(id_of(model_));
  row.subset = Json::array({0});
  put(row);
  EXPECT_EQ(reasons(), Codes{});
  row = report_row(id_of(model_));
  row.subset = Json::array({0});
  row.result = "mismatch";
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kModelMismatch});
}

// Without a pod the request names where the model lies, or every place with a report counts.
TEST_F(Bind, ReportOnAnotherLocation_CountsUnlessTheRequestNamesSome) {
  storage::JobRow row = report_row(id_of(model_));
  row.location = "hostpath:///data";
  row.volume.clear();
  row.result = "mismatch";
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kModelMismatch});
  DecisionRequest asked = request();
  asked.locations = {"pvc://inference/good"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{});
  asked.locations = {"pvc://inference/other"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{Reason::kReportMissing});
}

// Each location that is named needs a report, whatever somebody signed about it.
TEST_F(Bind, LocationThatNoReportIsOn_IsMissedBesideOneThatHasOne) {
  DecisionRequest asked = request();
  asked.locations = {"pvc://inference/good", "pvc://inference/evil"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{Reason::kReportMissing});
  const TestKey stranger =
      make_key(KeyPurpose::kPublisher, "mallory", {publisher_role("strangers")});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{stranger.record}}, {&operator1_, &operator2_}), actor_));
  Manifest claimed = manifest("good", "strangers/m");
  claimed.locations = {"pvc://strangers/mine"};
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(claimed, {&stranger}), actor_));
  storage::JobRow row = report_row(id_of(model_));
  row.location = "pvc://strangers/mine";
  put(row);
  asked.locations = {"pvc://strangers/mine"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{}) << "the bytes lie there, too";
  asked.locations = {"pvc://inference/evil", "pvc://strangers/mine"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{Reason::kReportMissing});
  asked.locations = {"pvc://inference/good", "pvc://strangers/mine"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{});
}

TEST_F(Bind, TwoModelsAtTwoPlaces_NeedTheReportsOfTheirOwnPlaces) {
  const TestKey second = make_key(KeyPurpose::kPublisher, "second", {publisher_role()});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{second.record}}, {&operator1_, &operator2_}), actor_));
  const Manifest other = manifest("other", "acme/other");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(other, {&second}), actor_));
  storage::JobRow row = report_row(id_of(other));
  row.location = "pvc://inference/other";
  put(row);
  DecisionRequest asked = request();
  asked.models.push_back(id_of(other).text());
  asked.locations = {"pvc://inference/good", "pvc://inference/other"};
  const Decision decision = decide_on(asked);
  EXPECT_EQ(decision.verdict.reasons, Codes{}) << to_json(decision.verdict).dump();
  EXPECT_TRUE(replay(*services_, decision.id)->reproduced);
  asked.locations.emplace_back("pvc://inference/evil");
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{Reason::kReportMissing});
  asked.locations = {"pvc://inference/other"};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{Reason::kReportMissing})
      << "the first model has to lie somewhere";
  // What no signature that counts says of the other model leaves nothing out for the first.
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(2, {RevokeKey{second.record.id, "lost"}}, {&operator1_, &operator2_}), actor_));
  asked.locations = {"pvc://inference/good", "pvc://inference/other"};
  const Codes reasons = decide_on(asked).verdict.reasons;
  EXPECT_NE(std::find(reasons.begin(), reasons.end(), Reason::kReportMissing), reasons.end());
}

TEST_F(Bind, BytesReadSixHoursAgo_AreNotNew) {
  storage::JobRow row = report_row(id_of(model_));
  clock_.advance(hours(6));
  put(node_row());
  row.finished_at = clock_.now();
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kReportStale});
}

TEST_F(Bind, MissingReport_OrdersAJobOnce) {
  put(node_row("gpu-2"));
  DecisionRequest asked = request("gpu-2");
  asked.locations = {"pvc://inference/good"};
  const auto first = decide(*services_, asked).value();
  EXPECT_FALSE(first.decision->verdict.allowed);
  ASSERT_EQ(first.ordered.size(), 1U);
  EXPECT_EQ(first.ordered[0].location, "pvc://inference/good");
  const auto again = decide(*services_, asked).value();
  ASSERT_EQ(again.ordered.size(), 1U);
  EXPECT_EQ(again.ordered[0].id, first.ordered[0].id);
  const storage::JobRow job = store_->snapshot().value()->job(first.ordered[0].id).value();
  EXPECT_EQ(job.node, "gpu-2");
  EXPECT_EQ(job.location, "pvc://inference/good");
  EXPECT_EQ(job.created_by, "system");
  asked.dry_run = true;
  EXPECT_TRUE(decide(*services_, asked)->ordered.empty());
  // Nothing is missing on the other node, and one that may not act gets no job.
  EXPECT_TRUE(decide(*services_, request())->ordered.empty());
  asked.dry_run = false;
  asked.workload.node = "gpu-9";
  EXPECT_TRUE(decide(*services_, asked)->ordered.empty());
}

TEST_F(Bind, MismatchThatAwaitsItsOutline_IsRefused) {
  put(open_row(storage::JobState::kOutline, {{"differing", "model.bin changed"}}));
  const Decision decision = decide_on(request());
  EXPECT_EQ(decision.verdict.reasons, Codes{Reason::kModelMismatch});
  EXPECT_EQ(decision.verdict.policies[0].conditions[2].actual["differing"], "model.bin changed");
}

TEST_F(Bind, SpotCheckThatNobodyAnswers_IsRefusedInTheEnd) {
  put(open_row(storage::JobState::kSpot, Json::object()));
  EXPECT_EQ(reasons(), Codes{});
  clock_.advance(minutes(1));
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
}

TEST_F(Bind, JobThatEndedWithoutAReport_LeavesTheReportBefore) {
  storage::JobRow row = report_row(id_of(model_));
  row.result = "failed";
  row.report.reset();
  row.read_since.reset();
  put(row);
  EXPECT_EQ(reasons(), Codes{});
}

TEST_F(Bind, FailedSpotCheck_IsRefused) {
  storage::JobRow row = report_row(id_of(model_));
  row.result = "failed";
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
}

TEST_F(Bind, TooFewSpotChecks_AreRefused) {
  storage::JobRow row = report_row(id_of(model_));
  row.detail = {{"spot_checks", 15}};
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kSpotCheckMissing});
  row = report_row(id_of(model_));
  row.detail = {{"spot_checks", "many"}};
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kSpotCheckMissing});
}

TEST_F(Bind, ReportOfTheMachineThatHadTheNameBefore_IsNone) {
  storage::NodeRow row = node_row();
  put(row);
  EXPECT_EQ(reasons(), Codes{}) << "read when it got the name";
  clock_.advance(std::chrono::milliseconds(1));
  row.held_since = clock_.now();
  put(row);
  DecisionRequest asked = request();
  asked.locations = {"pvc://inference/good"};
  const auto answer = decide(*services_, asked).value();
  EXPECT_EQ(answer.decision->verdict.reasons, Codes{Reason::kReportMissing});
  EXPECT_EQ(answer.ordered.size(), 1U) << "of the machine that has it now";
  put(report_row(id_of(model_)));
  EXPECT_EQ(reasons(), Codes{});
}

TEST_F(Bind, UnmeasuredWorker_IsRefused) {
  storage::NodeRow row = node_row();
  row.measured.reset();
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kWorkerNotMeasured});
}

TEST_F(Bind, SimulatorAnchor_MustBeNamed) {
  storage::NodeRow row = node_row();
  row.measured->anchor_is_vendor = false;
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kAnchorNotAccepted});
  Json named = bind_policy();
  named["version"] = 2;
  named["require"][1]["node"]["anchors"] = {row.measured->anchor.text()};
  put_policy(named);
  EXPECT_EQ(reasons(), Codes{});
}

TEST_F(Bind, RevokedNode_IsRefused) {
  storage::NodeRow row = node_row();
  row.revoked = Revocation{clock_.now(), "stolen"};
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kNodeRevoked});
}

TEST_F(Bind, ExpiredEnrolment_IsRefused) {
  storage::NodeRow row = node_row();
  row.expires_at = clock_.now();
  put(row);
  EXPECT_EQ(reasons(), Codes{Reason::kEnrolmentExpired});
}

TEST_F(Bind, ReportOfAnotherNode_DoesNotCount) {
  put(node_row("gpu-2"));
  EXPECT_EQ(reasons("gpu-2"), Codes{Reason::kReportMissing});
}

TEST_F(Bind, ReportOfAnotherModel_DoesNotCount) {
  const Manifest other = manifest("other");
  store_good_model(other);
  DecisionRequest asked = request();
  asked.models = {id_of(other).text()};
  EXPECT_EQ(decide_on(asked).verdict.reasons, Codes{Reason::kReportMissing});
}

TEST_F(Bind, NodeThatNeverEnrolled_IsRefused) {
  EXPECT_EQ(reasons("gpu-9"), Codes{Reason::kNodeNotEnrolled});
}

TEST_F(Bind, NodeAndPoint_MustFitTogether) {
  EXPECT_EQ(refusal(decide(*services_, request(""))), ErrorCode::kInvalidParameter);
  EXPECT_EQ(refusal(decide(*services_, request("GPU 1"))), ErrorCode::kInvalidParameter);
  DecisionRequest create = request();
  create.point = DecisionPoint::kCreate;
  EXPECT_EQ(refusal(decide(*services_, create)), ErrorCode::kInvalidParameter);
  create.workload.node.clear();
  const Decision decision = decide_on(create);
  EXPECT_TRUE(decision.verdict.allowed);
  EXPECT_EQ(decision.verdict.policies[0].conditions[1].outcome, Outcome::kDeferred);
}

TEST_F(Bind, Replay_ReproducesWhateverBecameOfTheNode) {
  const Decision allowed = decide_on(request());
  clock_.advance(minutes(1));
  storage::JobRow job = report_row(id_of(model_));
  job.result = "mismatch";
  put(job);
  storage::NodeRow row = node_row();
  row.revoked = Revocation{clock_.now(), "stolen"};
  put(row);
  const Decision denied = decide_on(request());
  EXPECT_FALSE(denied.verdict.allowed);
  clock_.advance(hours(24 * 365));
  for (const Decision& decision : {allowed, denied}) {
    const auto again = replay(*services_, decision.id);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_TRUE(again->reproduced);
    EXPECT_EQ(again->recomputed, decision.replay_digest);
    EXPECT_EQ(again->verdict.allowed, decision.verdict.allowed);
  }
}

// How often a decision reads the clock before it is written does not matter: with every deadline
// it is either denied without a trace, or made as a whole.
TEST_F(Bind, Deadline_StopsBeforeEvaluationOrBeforeTheWrite) {
  const Timestamp start = clock_.now();
  int stopped = 0;
  int made = 0;
  for (int deadline = 1; deadline <= 8; ++deadline) {
    const SteppingClock clock(start, std::chrono::milliseconds(10));
    Services services{*store_, *service_key_, clock, random_, "example.com/log"};
    DecisionRequest asked = request();
    storage::PodRow pod;
    pod.cluster = "kube-apiserver";
    pod.uid = "uid-" + std::to_string(deadline);
    asked.keeps = pod;
    asked.deadline = start + std::chrono::milliseconds(10 * deadline);
    const TreeSize before = log_size();
    const auto answer = decide(services, asked);
    const bool kept = pod_row(pod.uid).has_value();
    if (answer) {
      ++made;
      EXPECT_EQ(log_size(), before + 1);
    } else {
      ++stopped;
      EXPECT_EQ(answer.error().code, ErrorCode::kEvaluationDeadline);
      EXPECT_EQ(log_size(), before);
    }
    EXPECT_EQ(kept, answer.has_value());
  }
  // `now`, the manifest that is read, before evaluation, before the write: the clock is read four
  // times.
  EXPECT_EQ(stopped, 4);
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace assay::server::test
