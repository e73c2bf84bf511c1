// SPDX-License-Identifier: Apache-2.0
// A pod's way through admission: its creation, the labels that its node must have, its binding.
#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

class Binding : public BindTest {
 protected:
  bool denied_with(const Json& response, std::string_view code) {
    const Json message = response.value("status", Json::object()).value("message", "");
    EXPECT_EQ(response["allowed"], false) << response.dump();
    return message.get<std::string>().find(code) != std::string::npos;
  }
  storage::PodRow pod_row() {
    return store_->snapshot().value()->pod("inference", "llm-0").value();
  }
};

TEST_F(Binding, AdmittedPodOnAVerifiedNode_IsBound) {
  const Json response = create_and_bind();
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "allow");
  const Json decision = decision_of(response);
  EXPECT_EQ(decision["point"], "bind");
  EXPECT_EQ(decision["artifact"], id_of(model_).text());
  const Json& pod = decision["verdict"]["preconditions"][0];
  EXPECT_EQ(pod["id"], "pod");
  EXPECT_EQ(pod["outcome"], "pass");
  EXPECT_EQ(pod["evidence"], Json::array({pod_row().decision}));
}

TEST_F(Binding, CreationRemembersThePod) {
  const Json created = ask(pod_review("uid-1", "acme/demo"));
  const storage::PodRow row = pod_row();
  EXPECT_EQ(row.uid, "uid-1");
  EXPECT_EQ(row.decision, created["auditAnnotations"]["decision-id"].get<std::string>());
  EXPECT_EQ(row.artifact, id_of(model_));
  EXPECT_EQ(row.model_name, "acme/demo");
  EXPECT_EQ(row.workload["resources"], Json::array({"nvidia.com/gpu"}));
  EXPECT_EQ(row.admitted_at, clock_.now());
}

TEST_F(Binding, MutationDryRunOrRefusal_RememberNoPod) {
  ask(pod_review("uid-1", "acme/demo"), AdmissionCall::kMutate);
  Json dry_run = pod_review("uid-1", "acme/demo");
  dry_run["request"]["dryRun"] = true;
  EXPECT_EQ(ask(dry_run)["allowed"], true);
  EXPECT_EQ(ask(pod_review("uid-1", "acme/unknown"))["allowed"], false);
  EXPECT_EQ(store_->snapshot().value()->pod("inference", "llm-0").error().code,
            ErrorCode::kNotFound);
}

TEST_F(Binding, PodThatWasNeverAdmitted_IsUnknown) {
  const Json response = ask(binding_review("uid-1"));
  EXPECT_TRUE(denied_with(response, "pod: pod-unknown"));
  EXPECT_EQ(decision_of(response)["verdict"]["allowed"], false);
}

TEST_F(Binding, UidOfAnotherPod_IsUnknown) {
  ask(pod_review("uid-1", "acme/demo"));
  EXPECT_TRUE(denied_with(ask(binding_review("uid-2")), "pod-unknown"));
  EXPECT_EQ(ask(binding_review(""))["allowed"], true);
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

TEST_F(Binding, PublisherRevokedSinceCreation_IsRefused) {
  ask(pod_review("uid-1", "acme/demo"));
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{publisher_.record.id, "stolen"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "published: key-revoked"));
}

TEST_F(Binding, PodThatNoPolicySelects_IsBoundAnywhere) {
  Json pod = pod_review("uid-1", "");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  EXPECT_EQ(ask(pod)["auditAnnotations"]["verdict"], "not-applicable");
  EXPECT_EQ(pod_row().decision, "");
  const Json response = ask(binding_review("uid-1", "any-node"));
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "not-applicable");
}

TEST_F(Binding, PolicyThatCameAfterCreation_SelectsThePodAtItsBinding) {
  Json pod = pod_review("uid-1", "");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
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

TEST_F(Binding, DeadlineThatIsOver_IsADenial) {
  const Json pod = pod_review("uid-1", "acme/demo");
  const auto answer = review(*services_, AdmissionCall::kValidate, as_bytes(pod.dump()),
                             "kube-apiserver", clock_.now());
  ASSERT_TRUE(answer) << to_string(answer.error());
  const Json response = parse_json(*answer).value()["response"];
  EXPECT_TRUE(denied_with(response, "evaluation-deadline"));
  EXPECT_EQ(store_->snapshot().value()->pod("inference", "llm-0").error().code,
            ErrorCode::kNotFound);
}

// --- node affinity

class Affinity : public BindTest {
 protected:
  // The pod's spec after mutation, which must change nothing the second time.
  Json mutated_spec(const Json& affinity) {
    Json pod = pod_review("uid-1", "acme/demo");
    Json& object = pod["request"]["object"];
    if (!affinity.is_null()) {
      object["spec"]["affinity"] = affinity;
    }
    const Json response = ask(pod, AdmissionCall::kMutate);
    EXPECT_EQ(response["allowed"], true) << response.dump();
    object = object.patch(patch_of(response));
    const Json second = ask(pod, AdmissionCall::kMutate);
    EXPECT_FALSE(second.contains("patch")) << patch_of(second).dump();
    return object["spec"];
  }
  static Json required(Json terms) {
    return {{"nodeAffinity",
             {{"requiredDuringSchedulingIgnoredDuringExecution",
               {{"nodeSelectorTerms", std::move(terms)}}}}}};
  }
  static Json in(const char* key, const char* value) {
    return {{"key", key}, {"operator", "In"}, {"values", {value}}};
  }
  const Json ours_ = in("assay.dev/attested", "true");
};

TEST_F(Affinity, PodWithoutAny_GetsTheStructureAndTheLabel) {
  const Json wanted = required({{{"matchExpressions", Json::array({ours_})}}});
  EXPECT_EQ(mutated_spec(nullptr)["affinity"], wanted);
  EXPECT_EQ(mutated_spec(Json::object())["affinity"], wanted);
  EXPECT_EQ(mutated_spec({{"nodeAffinity", nullptr}})["affinity"], wanted);
}

TEST_F(Affinity, EveryTerm_GetsTheLabel) {
  const Json zone = in("zone", "a");
  const Json field = in("metadata.name", "gpu-1");
  const Json spec = mutated_spec(required(
      {{{"matchExpressions", Json::array({zone})}}, {{"matchFields", Json::array({field})}}}));
  EXPECT_EQ(spec["affinity"], required({{{"matchExpressions", {zone, ours_}}},
                                        {{"matchFields", Json::array({field})},
                                         {"matchExpressions", Json::array({ours_})}}}));
}

// A term without expressions selects nothing: with ours alone it would open the pod's own choice.
TEST_F(Affinity, EmptyTerm_StaysEmpty) {
  const Json zone = in("zone", "a");
  const Json spec = mutated_spec(
      required(Json::array({{{"matchExpressions", Json::array({zone})}}, Json::object()})));
  const Json& terms = spec["affinity"]["nodeAffinity"]
                          ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  EXPECT_EQ(terms[0]["matchExpressions"], (Json{zone, ours_}));
  EXPECT_EQ(terms[1], Json::object());
}

TEST_F(Affinity, OtherAffinity_IsKept) {
  const Json mine = {
      {"podAntiAffinity", {{"x", 1}}},
      {"nodeAffinity", {{"preferredDuringSchedulingIgnoredDuringExecution", {{{"weight", 1}}}}}}};
  const Json affinity = mutated_spec(mine)["affinity"];
  EXPECT_EQ(affinity["podAntiAffinity"], mine["podAntiAffinity"]);
  EXPECT_EQ(affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"],
            mine["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]);
}

TEST_F(Affinity, LabelsOfTwoPolicies_AreMerged) {
  Json second = bind_policy();
  second["name"] = "zones";
  second["node_affinity"] = {{"zone", {"b", "a"}}, {"assay.dev/attested", {"true", "maybe"}}};
  put_policy(second);
  const Json affinity = mutated_spec(nullptr)["affinity"];
  const Json zones = {{"key", "zone"}, {"operator", "In"}, {"values", {"a", "b"}}};
  EXPECT_EQ(affinity, required({{{"matchExpressions", {ours_, zones}}}}));
}

TEST_F(Affinity, PoliciesThatLeaveNoNode_Deny) {
  Json second = bind_policy();
  second["name"] = "contrary";
  second["node_affinity"] = {{"assay.dev/attested", {"false"}}};
  put_policy(second);
  const Json response = ask(pod_review("uid-1", "acme/demo"), AdmissionCall::kMutate);
  EXPECT_EQ(response["allowed"], false);
  const std::string message = response["status"]["message"];
  EXPECT_NE(message.find("node-affinity: condition-failed"), std::string::npos) << message;
}

TEST_F(Affinity, UpdatesAndTemplates_AreLeftAlone) {
  Json pod = pod_review("uid-1", "acme/demo");
  pod["request"]["operation"] = "UPDATE";
  Json response = ask(pod, AdmissionCall::kMutate);
  ASSERT_EQ(response["allowed"], true) << response.dump();
  EXPECT_FALSE(pod["request"]["object"].patch(patch_of(response))["spec"].contains("affinity"));
  const Json object = pod["request"]["object"];
  pod["request"]["operation"] = "CREATE";
  pod["request"]["kind"]["kind"] = "Deployment";
  pod["request"]["object"] = {
      {"spec", {{"template", {{"metadata", object["metadata"]}, {"spec", object["spec"]}}}}}};
  response = ask(pod, AdmissionCall::kMutate);
  ASSERT_EQ(response["allowed"], true) << response.dump();
  for (const Json& operation : patch_of(response)) {
    EXPECT_EQ(operation["path"].get<std::string>().find("affinity"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::server::test
