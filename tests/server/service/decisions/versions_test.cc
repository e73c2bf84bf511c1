// SPDX-License-Identifier: Apache-2.0
// What lands between reading the facts of a decision and writing it is in the decision.
#include "tests/server/service/bind_fixture.h"
#include "tests/server/service/hooked_store.h"

namespace assay::server::test {
namespace {

class BetweenReadAndWrite : public BindTest {
 protected:
  // Decides at bind; `happens` runs before the decision is written, the first `times` times.
  Result<DecisionAnswer> decide_while(const std::function<void()>& happens, int times = 1) {
    writes_ = 0;
    StoreWithHook store(*store_, [&] {
      if (writes_++ < times) {
        happens();
      }
    });
    Services services{store, *service_key_, clock_, random_, "example.com/log"};
    return decide(services, request_);
  }
  // Codes of the decision that is made in the end.
  std::vector<Reason> reasons_while(const std::function<void()>& happens) {
    const auto answer = decide_while(happens);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer ? answer->decision->verdict.reasons : std::vector<Reason>();
  }
  void put_mismatch(const ArtifactId& artifact, const std::string& node = "gpu-1") {
    storage::JobRow row = report_row(artifact, node);
    row.result = "mismatch";
    put(row);
  }

  DecisionRequest request_{.point = DecisionPoint::kBind,
                           .models = {id_of(model_).text()},
                           .workload = {"inference", {}, {"nvidia.com/gpu"}, "gpu-1"},
                           .context = Json::object(),
                           .principal = "kube-apiserver"};
  int writes_ = 0;
};

using Codes = std::vector<Reason>;

TEST_F(BetweenReadAndWrite, Nothing_IsOneAttempt) {
  EXPECT_EQ(reasons_while([] {}), Codes());
  EXPECT_EQ(writes_, 1);
}

// Case 14.
TEST_F(BetweenReadAndWrite, AMismatch_IsNotMissed) {
  EXPECT_EQ(reasons_while([&] { put_mismatch(id_of(model_)); }), Codes{Reason::kModelMismatch});
  EXPECT_EQ(writes_, 2);
}

TEST_F(BetweenReadAndWrite, ARevokedNode_IsNotMissed) {
  storage::NodeRow row = node_row();
  row.revoked = Revocation{clock_.now(), "stolen"};
  EXPECT_EQ(reasons_while([&] { put(row); }), Codes{Reason::kNodeRevoked});
}

TEST_F(BetweenReadAndWrite, AStatementAboutTheModel_IsNotMissed) {
  Json policy = bind_policy();
  policy["version"] = 2;
  policy["require"].push_back(
      {{"id", "good"},
       {"statement",
        {{"predicate_type", kLifecyclePredicateType},
         {"stage", "evaluate"},
         {"where", {{{"pointer", "/metrics/accuracy/value"}, {"op", ">="}, {"value", 0.9}}}}}}});
  put_policy(policy);
  EXPECT_EQ(reasons_while([&] {
              EXPECT_TRUE(accept_attestation(*services_, evaluation(model_, 0.5), actor_));
            }),
            Codes{Reason::kPredicateMismatch});
  EXPECT_EQ(writes_, 2);
}

// What the decision does not rest on does not make it judged again.
TEST_F(BetweenReadAndWrite, WhatIsOfOthers_ChangesNothing) {
  put(node_row("gpu-2"));
  const Manifest other = manifest("other", "acme/other");
  EXPECT_EQ(reasons_while([&] {
              put_mismatch(id_of(model_), "gpu-2");
              EXPECT_TRUE(accept_manifest(*services_, signed_manifest(other), actor_));
              storage::JobRow queued = report_row(id_of(model_));
              queued.state = storage::JobState::kQueued;
              queued.result.clear();
              queued.report.reset();
              queued.worker_measured = false;
              queued.finished_at.reset();
              put(queued);
            }),
            Codes());
  EXPECT_EQ(writes_, 1);
}

TEST_F(BetweenReadAndWrite, ANodeThatKeepsChanging_IsNoDecision) {
  const TreeSize size = log_size();
  const auto answer = decide_while([&] { put(report_row(id_of(model_))); }, 100);
  EXPECT_EQ(refusal(answer), ErrorCode::kUnavailable);
  EXPECT_EQ(log_size(), size);
}

// --- the pod itself

TEST_F(BetweenReadAndWrite, APodThatChanged_IsAskedAboutAgain) {
  ask(pod_review("uid-1", "acme/demo"));
  storage::PodRow other = *pod_row();
  other.workload["labels"] = {{"app", "other"}};
  request_.seen = pod_row();
  request_.keeps = pod_row();
  request_.keeps->nodes = {"gpu-1"};
  const TreeSize size = log_size();
  const auto put_other = [&] {
    ASSERT_TRUE(store_->write([&](storage::Transaction& t) { return t.put_pod(other); }));
  };
  EXPECT_EQ(refusal(decide_while(put_other)), ErrorCode::kUnavailable);
  EXPECT_EQ(log_size(), size);
  EXPECT_EQ(pod_row(), other);
  request_.seen = other;
  EXPECT_TRUE(decide_while([] {}));
  EXPECT_EQ(pod_row()->nodes, std::vector<std::string>{"gpu-1"});
}

}  // namespace
}  // namespace assay::server::test
