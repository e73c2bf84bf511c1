// SPDX-License-Identifier: Apache-2.0
// On which node a pod is: what bindings that the API server refuses must not change.
#include "server/service/kubernetes/pod_node.h"

#include <algorithm>

#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

using Nodes = std::vector<std::string>;

class PodNodes : public BindTest {
 protected:
  PodNodes() {
    put(node_row("gpu-2"));
    put(report_row(id_of(model_), "gpu-2"));
    EXPECT_EQ(create_and_bind()["allowed"], true);
  }
  // The pod as the API server has it, and an update of it.
  static Json on_node(const std::string& node) {
    Json review = pod_review("uid-1", "acme/demo");
    review["request"]["object"]["spec"]["nodeName"] = node;
    return review;
  }
  Json annotated(const std::string& node) {
    const Json before = on_node(node);
    Json after = before["request"]["object"];
    after["metadata"]["annotations"]["note"] = "x";
    return ask(update_review(before, after));
  }
  Json with_ephemeral_container(const std::string& node) {
    const Json before = on_node(node);
    Json after = before["request"]["object"];
    after["spec"]["ephemeralContainers"] =
        Json::array({{{"name", "debug"}, {"image", "registry.example.com/vllm:1"}}});
    Json review = update_review(before, after);
    review["request"]["subResource"] = "ephemeralcontainers";
    return ask(review);
  }
  Outcome at(const std::string& asked) {
    return node_of_pod(pod_row().value(), asked).condition.outcome;
  }
};

TEST_F(PodNodes, OneBinding_IsWhereThePodIs) {
  EXPECT_EQ(pod_row()->nodes, Nodes{"gpu-1"});
  EXPECT_EQ(node_of_pod(*pod_row(), {}).node, "gpu-1");
  EXPECT_EQ(at({}), Outcome::kPass);
  EXPECT_EQ(at("gpu-1"), Outcome::kPass);
  EXPECT_EQ(at("gpu-2"), Outcome::kFail) << "never allowed for this pod";
}

// The API server answers the second binding with 409, which nobody tells the service.
TEST_F(PodNodes, SecondBinding_DoesNotMoveThePod) {
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-2"))["allowed"], true);
  EXPECT_EQ(pod_row()->nodes, (Nodes{"gpu-1", "gpu-2"}));
  EXPECT_EQ(at({}), Outcome::kFail) << "it is on one of them; who asks says on which";
  EXPECT_EQ(at("gpu-1"), Outcome::kPass);
  EXPECT_EQ(at("gpu-2"), Outcome::kPass);
  EXPECT_EQ(at("gpu-3"), Outcome::kFail);
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-1"))["allowed"], true);
  EXPECT_EQ(pod_row()->nodes, (Nodes{"gpu-2", "gpu-1"})) << "each once, the newest last";
}

TEST_F(PodNodes, ReviewOfThePodItself_SettlesIt) {
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-2"))["allowed"], true);
  EXPECT_EQ(annotated("gpu-1")["auditAnnotations"]["verdict"], "unchanged");
  EXPECT_EQ(pod_row()->settled, "gpu-1");
  EXPECT_EQ(at({}), Outcome::kPass);
  EXPECT_EQ(at("gpu-2"), Outcome::kFail) << "allowed, but not there";
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-2"))["allowed"], true);
  EXPECT_EQ(node_of_pod(*pod_row(), {}).node, "gpu-1");
}

// Metadata stay changeable, but no answer is about a node that nobody judged.
TEST_F(PodNodes, SettledOnANodeThatWasNeverAllowed_IsNowhere) {
  EXPECT_EQ(annotated("gpu-9")["allowed"], true);
  EXPECT_EQ(at({}), Outcome::kFail);
  EXPECT_EQ(at("gpu-1"), Outcome::kFail);
  EXPECT_EQ(at("gpu-9"), Outcome::kFail);
  EXPECT_EQ(node_of_pod(*pod_row(), {}).condition.code, Reason::kNodeUnknown);
}

TEST_F(PodNodes, EphemeralContainer_IsJudgedForTheNodeThatHasThePod) {
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-2"))["allowed"], true);
  const Json response = with_ephemeral_container("gpu-1");
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(decision_of(response)["point"], "bind");
  EXPECT_EQ(pod_row()->settled, "gpu-1");
  storage::JobRow row = report_row(id_of(model_));
  row.result = "mismatch";
  put(row);
  EXPECT_TRUE(denied_with(with_ephemeral_container("gpu-1"), "model-mismatch"));
}

// The binding was allowed and is not stored yet: the pod as it is then is what runs there.
TEST_F(PodNodes, EphemeralContainerBeforeTheBindingIsStored_IsJudgedForEachNodeThatWasAllowed) {
  EXPECT_EQ(ask(binding_review("uid-1", "gpu-2"))["allowed"], true);
  EXPECT_EQ(with_ephemeral_container("")["allowed"], true) << "the honest neighbour";
  storage::NodeRow node = node_row("gpu-2");
  node.revoked = Revocation{clock_.now(), "stolen"};
  put(node);
  EXPECT_TRUE(denied_with(with_ephemeral_container(""), "node-revoked"));
  EXPECT_EQ(pod_row()->nodes, (Nodes{"gpu-1", "gpu-2"}));
}

TEST_F(PodNodes, EphemeralContainerOnANodeThatWasNeverAllowed_IsRefused) {
  EXPECT_TRUE(denied_with(with_ephemeral_container("gpu-2"), "pod-node: node-unknown"));
  EXPECT_EQ(pod_row()->settled, "") << "a refusal keeps nothing";
  EXPECT_EQ(with_ephemeral_container("gpu-1")["allowed"], true);
}

TEST_F(PodNodes, NewObjectAlone_SettlesNothing) {
  const Json before = pod_review("uid-1", "acme/demo");
  ask(update_review(before, on_node("gpu-2")["request"]["object"]));
  EXPECT_EQ(pod_row()->settled, "");
}

TEST_F(PodNodes, ManyBindings_AreBounded) {
  for (std::size_t i = 0; i < storage::kMaxPodNodes + 4; ++i) {
    const std::string node = "many-" + std::to_string(i);
    put(node_row(node));
    put(report_row(id_of(model_), node));
    EXPECT_EQ(ask(binding_review("uid-1", node))["allowed"], true);
  }
  const Nodes nodes = pod_row()->nodes;
  EXPECT_EQ(nodes.size(), storage::kMaxPodNodes);
  EXPECT_EQ(nodes.back(), "many-19");
  EXPECT_EQ(std::ranges::find(nodes, "gpu-1"), nodes.end());
}

}  // namespace
}  // namespace assay::server::test
