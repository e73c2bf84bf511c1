// SPDX-License-Identifier: Apache-2.0
// A pod's way to its node: its creation, its binding, and who it is for whom.
#include "tests/server/service/bind_fixture.h"
#include "tests/server/service/full_store.h"

namespace assay::server::test {
namespace {

class Binding : public BindTest {
 protected:
  // A pod that mounts the model at many long paths.
  static Json large_review(const std::string& uid, const std::string& different) {
    Json review = pod_review(uid, "acme/demo");
    Json& mounts = review["request"]["object"]["spec"]["containers"][0]["volumeMounts"];
    for (int i = 0; i < 500; ++i) {
      mounts.push_back({{"name", "model"},
                        {"mountPath", "/" + different + std::string(100, 'p') + std::to_string(i)},
                        {"readOnly", true}});
    }
    return review;
  }
  void use_up_hour(const std::string& counted) {
    for (;;) {
      const auto room =
          services_->namespace_quota.reserve(counted, kMaxUncountedBytes + 1, clock_.now());
      if (!room) {
        return;
      }
      (*room)->keep();
    }
  }
};

using Nodes = std::vector<std::string>;

TEST_F(Binding, AdmittedPodOnAVerifiedNode_IsBound) {
  const Json response = create_and_bind();
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "allow");
  const Json decision = decision_of(response);
  EXPECT_EQ(decision["point"], "bind");
  EXPECT_EQ(decision["models"][0]["artifact"], id_of(model_).text());
  const Json& pod = decision["verdict"]["preconditions"][0];
  EXPECT_EQ(pod["id"], "pod");
  EXPECT_EQ(pod["outcome"], "pass");
  EXPECT_EQ(pod["evidence"]["count"], 1) << "that of the creation";
  EXPECT_EQ(pod_row()->nodes, Nodes{"gpu-1"});
  EXPECT_EQ(pod_row()->decision, decision["id"].get<std::string>());
}

TEST_F(Binding, CreationRemembersThePod) {
  const Json created = ask(pod_review("uid-1", "acme/demo"));
  const auto row = pod_row();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->cluster, "kube-apiserver");
  EXPECT_EQ(row->uid, "uid-1");
  EXPECT_EQ(row->name_space, "inference");
  EXPECT_EQ(row->name, "llm-0");
  EXPECT_EQ(row->nodes, Nodes{});
  EXPECT_EQ(row->decision, created["auditAnnotations"]["decision-id"].get<std::string>());
  EXPECT_EQ(row->models, (std::vector<DecidedModel>{{id_of(model_), "acme/demo"}}));
  EXPECT_EQ(row->workload["resources"], Json::array({"nvidia.com/gpu"}));
  EXPECT_EQ(row->admitted_at, clock_.now());
}

TEST_F(Binding, MutationDryRunOrRefusal_RememberNoPod) {
  ask(pod_review("uid-1", "acme/demo"), AdmissionCall::kMutate);
  Json dry_run = pod_review("uid-1", "acme/demo");
  dry_run["request"]["dryRun"] = true;
  EXPECT_EQ(ask(dry_run)["allowed"], true);
  EXPECT_EQ(ask(pod_review("uid-1", "acme/unknown"))["allowed"], false);
  EXPECT_FALSE(pod_row());
}

TEST_F(Binding, PodThatWasNeverAdmitted_IsUnknown) {
  const Json response = ask(binding_review("uid-1"));
  EXPECT_TRUE(denied_with(response, "pod: pod-unknown"));
  EXPECT_EQ(decision_of(response)["verdict"]["allowed"], false);
}

TEST_F(Binding, UidOfAnotherPod_IsUnknown) {
  ask(pod_review("uid-1", "acme/demo"));
  EXPECT_TRUE(denied_with(ask(binding_review("uid-2")), "pod-unknown"));
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// Case 7: it used to be about the newest pod of the name.
TEST_F(Binding, WithoutUid_IsRefused) {
  ask(pod_review("uid-1", "acme/demo"));
  const Json response = ask(binding_review(""));
  EXPECT_TRUE(denied_with(response, "pod: binding-without-uid"));
  EXPECT_EQ(decision_of(response)["verdict"]["allowed"], false);
  EXPECT_EQ(pod_row()->nodes, Nodes{});
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// The API server takes the uid off a binding that is posted to the older resource `bindings`.
TEST_F(Binding, OfTheOlderResource_IsJudgedLikeTheOther) {
  ask(pod_review("uid-1", "acme/demo"));
  const auto legacy = [](const std::string& uid, const std::string& node) {
    Json review = binding_review(uid, node);
    review["request"]["resource"]["resource"] = "bindings";
    review["request"].erase("subResource");
    return review;
  };
  EXPECT_TRUE(denied_with(ask(legacy("", "gpu-1")), "binding-without-uid"));
  EXPECT_TRUE(denied_with(ask(legacy("uid-2", "gpu-1")), "pod-unknown"));
  EXPECT_TRUE(denied_with(ask(legacy("uid-1", "gpu-9")), "node-not-enrolled"));
  EXPECT_EQ(ask(legacy("uid-1", "gpu-1"))["allowed"], true);
}

// Case 12: the API server answers 409 to the second creation, after we allowed it.
TEST_F(Binding, CreationThatIsRefusedLater_LeavesTheWaitingPodAlone) {
  ask(pod_review("uid-1", "acme/demo"));
  const auto waiting = pod_row("uid-1");
  Json other = pod_review("uid-2", "");
  other["request"]["object"]["spec"]["containers"][0].erase("resources");
  EXPECT_EQ(ask(other)["allowed"], true);
  EXPECT_EQ(pod_row("uid-1"), waiting);
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

TEST_F(Binding, PodOfAnotherCluster_IsUnknown) {
  ask(pod_review("uid-1", "acme/demo"));
  const Json elsewhere = ask(binding_review("uid-1"), AdmissionCall::kValidate, "kube-west");
  EXPECT_TRUE(denied_with(elsewhere, "pod-unknown"));
  EXPECT_FALSE(pod_row("uid-1", "kube-west"));
  ask(pod_review("uid-1", "acme/demo"), AdmissionCall::kValidate, "kube-west");
  put_claim("good", "pv-1", "kube-west");
  EXPECT_EQ(ask(binding_review("uid-1"), AdmissionCall::kValidate, "kube-west")["allowed"], true);
  EXPECT_EQ(pod_row("uid-1")->nodes, Nodes{}) << "the other cluster's pod still waits";
}

// Case 13: the API server gives annotations of a binding to the pod.
TEST_F(Binding, AnnotationsOfOurs_AreRefused) {
  ask(pod_review("uid-1", "acme/demo"));
  for (const char* name : {"assay.dev/model", "assay.dev/decision-id", "assay.dev/x"}) {
    Json binding = binding_review("uid-1");
    binding["request"]["object"]["metadata"]["annotations"] = {{name, "acme/evil"}};
    EXPECT_TRUE(denied_with(ask(binding), "annotation-reserved")) << name;
  }
  Json binding = binding_review("uid-1");
  binding["request"]["object"]["metadata"]["annotations"] = {{"example.com/scheduler", "mine"}};
  EXPECT_EQ(ask(binding)["allowed"], true);
}

// Nothing is read from the pod after its creation: what pods/status or an update makes of its
// annotations changes nothing.
TEST_F(Binding, ModelThatWasNamedLater_DoesNotCount) {
  const Json created = pod_review("uid-1", "acme/demo");
  ask(created);
  Json renamed = created["request"]["object"];
  renamed["metadata"]["annotations"]["assay.dev/model"] = "acme/unknown";
  const Json update = ask(update_review(created, renamed));
  EXPECT_EQ(update["auditAnnotations"]["verdict"], "unchanged");
  const Json response = ask(binding_review("uid-1"));
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(decision_of(response)["models"][0]["name"], "acme/demo");
}

TEST_F(Binding, DryRun_LeavesThePodWhereItIs) {
  ask(pod_review("uid-1", "acme/demo"));
  Json binding = binding_review("uid-1");
  binding["request"]["dryRun"] = true;
  const TreeSize size = log_size();
  EXPECT_EQ(ask(binding)["allowed"], true);
  EXPECT_EQ(log_size(), size);
  EXPECT_EQ(pod_row()->nodes, Nodes{});
}

TEST_F(Binding, DeletedPod_IsUnknown) {
  ask(pod_review("uid-1", "acme/demo"));
  ask(pod_review("uid-2", "acme/demo"));
  Json deletion = pod_review("uid-1", "acme/demo");
  deletion["request"]["operation"] = "DELETE";
  std::swap(deletion["request"]["oldObject"], deletion["request"]["object"]);
  deletion["request"]["dryRun"] = true;
  EXPECT_EQ(ask(deletion)["allowed"], true);
  EXPECT_TRUE(pod_row("uid-1"));
  deletion["request"]["dryRun"] = false;
  EXPECT_EQ(ask(deletion)["allowed"], true);
  EXPECT_FALSE(pod_row("uid-1"));
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "pod-unknown"));
  EXPECT_EQ(ask(binding_review("uid-2"))["allowed"], true);
}

// Nothing is kept in memory only.
TEST_F(Binding, AfterARestart_IsJudgedTheSame) {
  ask(pod_review("uid-1", "acme/demo"));
  reopen();
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

TEST_F(Binding, PodOfAnotherNamespace_IsUnknown) {
  ask(pod_review("uid-1", "acme/demo"));
  Json elsewhere = binding_review("uid-1");
  elsewhere["request"]["namespace"] = "other";
  EXPECT_TRUE(denied_with(ask(elsewhere), "pod-unknown"));
}

TEST_F(Binding, NodeWithoutAReport_IsRefusedNamingTheCondition) {
  put(node_row("gpu-2"));
  EXPECT_TRUE(denied_with(create_and_bind("gpu-2"), "verified: report-missing"));
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1", "gpu-9")), "node: node-not-enrolled"));
}

TEST_F(Binding, WhatChangedSinceCreation_Counts) {
  ask(pod_review("uid-1", "acme/demo"));
  storage::JobRow row = report_row(id_of(model_));
  row.result = "mismatch";
  row.detail = {{"differing", "model.bin bytes 0-1048576"}};
  put(row);
  const Json response = ask(binding_review("uid-1"));
  EXPECT_TRUE(denied_with(response, "verified: model-mismatch"));
  EXPECT_TRUE(denied_with(response, "model.bin bytes 0-1048576"));
}

// Case 2: models and mounts are judged again, by the keys that count now.
TEST_F(Binding, PublisherRevokedSinceCreation_IsRefused) {
  ask(pod_review("uid-1", "acme/demo"));
  revoke(publisher_);
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "published: key-revoked"));
}

TEST_F(Binding, PodThatNoPolicySelects_IsBoundAnywhere) {
  Json pod = pod_review("uid-1", "");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  EXPECT_EQ(ask(pod)["auditAnnotations"]["verdict"], "not-applicable");
  EXPECT_EQ(pod_row()->decision, "");
  const Json response = ask(binding_review("uid-1", "any-node"));
  EXPECT_EQ(pod_row()->nodes, Nodes{"any-node"});
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "not-applicable");
}

// A full disk stops what policies select, and nothing else.
TEST_F(Binding, WithAFullDisk_WhatNoPolicySelectsIsCreatedAndBound) {
  FullStore full(*store_);
  full.full = true;
  Services services{full, *service_key_, clock_, random_, "example.com/log"};
  const auto allowed = [&](const Json& json) {
    const auto answer =
        review(services, AdmissionCall::kValidate, as_bytes(json.dump()), "kube-apiserver");
    EXPECT_TRUE(answer) << to_string(answer.error());
    return parse_json(answer->body).value()["response"]["allowed"].get<bool>();
  };
  Json pod = pod_review("uid-1", "");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  EXPECT_TRUE(allowed(pod));
  EXPECT_TRUE(allowed(binding_review("uid-1", "any-node")));
  EXPECT_EQ(full.writes, 0U);
  EXPECT_FALSE(allowed(pod_review("uid-2", "acme/demo")));
  EXPECT_FALSE(allowed(binding_review("uid-2")));
  // What was seen meanwhile is known once there is room again.
  full.full = false;
  ASSERT_TRUE(services.unselected.flush());
  EXPECT_EQ(pod_row("uid-1")->nodes, Nodes{"any-node"});
}

// A Deployment and its pods cost one record a second, not one for each review.
TEST_F(Binding, ManyWorkloadsThatNoPolicySelects_AreOneRecord) {
  const TreeSize size = log_size();
  for (int i = 0; i < 20; ++i) {
    Json pod = pod_review("uid-" + std::to_string(i), "");
    pod["request"]["object"]["spec"]["containers"][0].erase("resources");
    EXPECT_EQ(ask(pod)["allowed"], true);
    EXPECT_EQ(ask(binding_review("uid-" + std::to_string(i), "any-node"))["allowed"], true);
  }
  EXPECT_EQ(log_size(), size);
  ASSERT_TRUE(services_->unselected.flush());
  EXPECT_EQ(log_size(), size + 1);
  EXPECT_EQ(pod_row("uid-19")->nodes, Nodes{"any-node"});
}

TEST_F(Binding, PolicyThatCameAfterCreation_SelectsThePodAtItsBinding) {
  Json pod = pod_review("uid-1", "");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  pod["request"]["object"]["spec"]["volumes"] = Json::array();
  pod["request"]["object"]["spec"]["containers"][0].erase("volumeMounts");
  EXPECT_EQ(ask(pod)["allowed"], true);
  Json all = bind_policy();
  all["version"] = 2;
  all["match"] = {{"namespaces", {"inference"}}};
  put_policy(all);
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "model-reference-missing"));
}

TEST_F(Binding, UnknownPodWhereNothingIsEnforced_IsAllowed) {
  Json elsewhere = bind_policy();
  elsewhere["version"] = 2;
  elsewhere["match"]["namespaces"] = {"prod-*"};
  put_policy(elsewhere);
  EXPECT_EQ(ask(binding_review("uid-1"))["auditAnnotations"]["verdict"], "not-applicable");
  Json warn = bind_policy();
  warn["version"] = 3;
  warn["mode"] = "warn";
  put_policy(warn);
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

TEST_F(Binding, PodWithAPresetNode_IsDecidedAtBind) {
  Json pod = pod_review("uid-1", "acme/demo");
  pod["request"]["object"]["spec"]["nodeName"] = "gpu-1";
  const Json response = ask(pod);
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(decision_of(response)["point"], "bind");
  pod["request"]["object"]["spec"]["nodeName"] = "gpu-9";
  EXPECT_TRUE(denied_with(ask(pod), "node: node-not-enrolled"));
  // The volume still has to be the model's.
  pod["request"]["object"]["spec"]["nodeName"] = "gpu-1";
  pod["request"]["object"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = "other";
  EXPECT_TRUE(denied_with(ask(pod), "reference-unbound"));
}

TEST_F(Binding, HostileBindings_AreDenied) {
  ask(pod_review("uid-1", "acme/demo"));
  std::vector<Json> reviews(8, binding_review("uid-1"));
  reviews[0]["request"]["object"]["target"].erase("name");
  reviews[1]["request"]["object"]["target"]["kind"] = "VirtualNode";
  reviews[2]["request"]["object"]["target"]["name"] = "GPU 1";
  reviews[3]["request"]["object"]["metadata"]["name"] = "llm-1";
  reviews[4]["request"]["object"]["metadata"].erase("name");
  reviews[5]["request"]["object"] = nullptr;
  reviews[6]["request"]["operation"] = "UPDATE";
  reviews[7]["request"]["kind"]["group"] = "example.com";
  for (std::size_t i = 0; i < reviews.size(); ++i) {
    EXPECT_EQ(ask(reviews[i])["allowed"], false) << i;
  }
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// What was admitted is bound wherever it goes: nothing of it is new at its binding.
TEST_F(Binding, LargePodOfANamespaceThatUsedUpItsHour_IsBound) {
  put(node_row("gpu-2"));
  put(report_row(id_of(model_), "gpu-2"));
  const Json created = ask(large_review("uid-1", "a"));
  ASSERT_EQ(created["allowed"], true) << created.dump();
  use_up_hour("kube-apiserver/inference");
  EXPECT_TRUE(denied_with(ask(large_review("uid-2", "b")), "limit-exceeded"));
  EXPECT_EQ(ask(large_review("uid-3", "a"))["allowed"], true) << "of the same template";
  for (const char* node : {"gpu-1", "gpu-2"}) {
    const Json bound = ask(binding_review("uid-1", node));
    EXPECT_EQ(bound["allowed"], true) << bound.dump();
    const auto again =
        replay(*services_, bound["auditAnnotations"]["decision-id"].get<std::string>());
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_TRUE(again->reproduced);
  }
  EXPECT_EQ(ask(pod_review("uid-4", "acme/demo"))["allowed"], true) << "an ordinary one";
}

TEST_F(Binding, WhatCouldNotBeWritten_UsesUpNoHour) {
  FullStore full(*store_);
  Services services{full, *service_key_, clock_, random_, "example.com/log"};
  const auto allowed = [&] {
    const auto answer = review(services, AdmissionCall::kValidate,
                               as_bytes(large_review("uid-1", "a").dump()), "kube-apiserver");
    return parse_json(answer.value().body).value()["response"]["allowed"].get<bool>();
  };
  const auto used = services.namespace_quota.reserve("kube-apiserver/inference",
                                                     kMaxNewBytesAnHour - (1U << 20), clock_.now());
  ASSERT_TRUE(used);
  full.full = true;
  for (int i = 0; i < 16; ++i) {
    EXPECT_FALSE(allowed());
  }
  full.full = false;
  EXPECT_TRUE(allowed());
}

TEST_F(Binding, DeadlineThatIsOver_IsADenial) {
  const Json pod = pod_review("uid-1", "acme/demo");
  const auto answer = review(*services_, AdmissionCall::kValidate, as_bytes(pod.dump()),
                             "kube-apiserver", clock_.now());
  ASSERT_TRUE(answer) << to_string(answer.error());
  const Json response = parse_json(answer->body).value()["response"];
  EXPECT_TRUE(denied_with(response, "evaluation-deadline"));
  EXPECT_FALSE(pod_row());
}

}  // namespace
}  // namespace assay::server::test
