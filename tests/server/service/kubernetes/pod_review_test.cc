// SPDX-License-Identifier: Apache-2.0
// What happens to a pod after its creation, and to templates of pods.
#include "schemas/core/json_foreign.h"
#include "server/service/kubernetes/review.h"
#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

class PodUpdate : public BindTest {
 protected:
  static Json object_of(const Json& review) { return review["request"]["object"]; }
  // The pod with an ephemeral container of this image.
  static Json with_debugger(const Json& pod, const std::string& image) {
    Json changed = pod;
    changed["spec"]["ephemeralContainers"] = {{{"name", "debugger"}, {"image", image}}};
    return changed;
  }
  static Json ephemeral_review(const Json& created, const std::string& image) {
    Json review = update_review(created, with_debugger(object_of(created), image));
    review["request"]["subResource"] = "ephemeralcontainers";
    return review;
  }
  // The pod as it is when its status was written and a controller removes its finalizer.
  static Json finalized(const Json& created) {
    Json before = created;
    Json& object = before["request"]["object"];
    object["metadata"]["uid"] = "uid-1";
    for (int i = 0; i < 256; ++i) {
      object["status"]["containerStatuses"].push_back(
          {{"name", "c" + std::to_string(i)}, {"imageID", std::string(500, 'i')}, {"ready", true}});
    }
    Json after = object;
    after["metadata"]["finalizers"] = Json::array();
    after["metadata"]["managedFields"].push_back(
        {{"manager", "kube-controller-manager"}, {"time", std::string(300, 't')}});
    return update_review(before, after);
  }
  const Json created_ = pod_review("uid-1", "acme/demo");
};

TEST_F(PodUpdate, OfMetadataAlone_IsNoReview) {
  ask(created_);
  const auto row = pod_row();
  revoke(publisher_);
  Json changed = object_of(created_);
  changed["metadata"]["labels"] = {{"app", "other"}};
  changed["metadata"]["finalizers"] = {"example.com/f"};
  changed["metadata"]["annotations"]["assay.dev/model"] = "acme/unknown";
  changed["spec"]["tolerations"] = {{{"key", "x"}}};
  const TreeSize size = log_size();
  const Json response = ask(update_review(created_, changed));
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "unchanged");
  EXPECT_EQ(log_size(), size);
  EXPECT_EQ(pod_row(), row);
}

// More labels and annotations than any honest pod has.
Json with_too_many(Json review, const char* member) {
  Json& texts = review["request"]["object"]["metadata"][member];
  for (int i = 0; i < 10'000; ++i) {
    texts["assay.dev/" + std::to_string(i)] = "x";
  }
  return review;
}

TEST_F(PodUpdate, CreationBeyondTheLimits_IsRefusedWithoutAPatch) {
  for (const char* member : {"labels", "annotations"}) {
    const Json review = with_too_many(created_, member);
    for (const AdmissionCall call : {AdmissionCall::kMutate, AdmissionCall::kValidate}) {
      const Json response = ask(review, call);
      EXPECT_EQ(response["allowed"], false) << member;
      EXPECT_FALSE(response.contains("patch")) << member;
      EXPECT_NE(response.dump().find("limit-exceeded"), std::string::npos) << member;
    }
  }
}

// A pod that is there, whoever let it in: its finalizers can be removed, so that it can go.
TEST_F(PodUpdate, UpdateOfMetadataAlone_PassesBeyondTheLimits) {
  for (const char* member : {"labels", "annotations"}) {
    for (const char* node : {"", "gpu-1"}) {
      Json review = with_too_many(created_, member);
      Json& before = review["request"]["object"];
      before["metadata"]["uid"] = "uid-large";
      before["metadata"]["finalizers"] = {"example.com/f"};
      if (*node != '\0') {
        before["spec"]["nodeName"] = node;
      }
      Json after = before;
      after["metadata"].erase("finalizers");
      const Json response = ask(update_review(review, after));
      EXPECT_EQ(response["allowed"], true) << member << node << response.dump().substr(0, 500);
      after["spec"]["containers"][0]["image"] = "registry.example.com/other:1";
      EXPECT_EQ(ask(update_review(review, after))["allowed"], false) << member << node;
    }
  }
}

bool is_too_long(const Json& response) {
  return response["allowed"] == false &&
         response.dump().find("limit-exceeded") != std::string::npos;
}

// The review with a variable of the container whose value is `fill`, `count` times.
Json with_env(Json review, std::size_t count, const std::string& fill) {
  Json& env = review["request"]["object"]["spec"]["containers"][0]["env"] = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    env.push_back({{"name", "V" + std::to_string(i)}, {"value", fill}});
  }
  return review;
}

TEST_F(PodUpdate, LongestPodThatIsLetIn_CanStillLoseItsFinalizers) {
  Json created = created_;
  created["request"]["object"]["metadata"]["finalizers"] = {"example.com/f"};
  const auto spare = [](const Json& review) {
    return kMaxObjectBytes - review["request"]["object"].dump().size();
  };
  const std::string fill(spare(with_env(created, 1, "")), 'x');
  const Json longest = with_env(created, 1, fill);
  EXPECT_FALSE(is_too_long(ask(longest)));
  EXPECT_TRUE(is_too_long(ask(with_env(created, 1, fill + 'x'))));
  EXPECT_EQ(ask(finalized(longest))["allowed"], true);
  // The API server writes six bytes for each of these, which makes the review long.
  Json escaped = with_env(created, 1, std::string(kMaxObjectBytes / 6, '<'));
  escaped["request"]["options"] = std::string(kMaxObjectBytes, 'x');
  EXPECT_TRUE(is_too_long(ask(escaped)));
}

TEST_F(PodUpdate, PodOfTheMostValuesThatIsLetIn_CanStillLoseItsFinalizers) {
  const auto spare = [](const Json& review) {
    return kMaxObjectMemory - json_memory(review["request"]["object"]);
  };
  Json created = created_;
  created["request"]["object"]["metadata"]["finalizers"] = {"example.com/f"};
  Json most = with_env(created, 6'500, "");
  Json& value = most["request"]["object"]["spec"]["containers"][0]["env"][0]["value"];
  ASSERT_LT(spare(most), 1U << 20);
  value = std::string(spare(most), 'x');
  EXPECT_FALSE(is_too_long(ask(most)));
  EXPECT_EQ(ask(finalized(most))["allowed"], true);
  value = value.get<std::string>() + 'x';
  EXPECT_TRUE(is_too_long(ask(most)));
}

// Else a pod would grow until the reviews of its updates are too long.
TEST_F(PodUpdate, GrowthBeyondTheLimits_IsRefusedButForWhatAControllerAdds) {
  const Json before = with_env(created_, 1, std::string(kMaxObjectBytes, 'x'));
  Json after = object_of(before);
  const std::size_t old = after.dump().size();
  Json& grown = after["metadata"]["managedFields"] = "";
  grown = std::string(kMaxGrowthBytes - (after.dump().size() - old), 'm');
  EXPECT_EQ(after.dump().size(), old + kMaxGrowthBytes);
  EXPECT_EQ(ask(update_review(before, after))["allowed"], true);
  grown = grown.get<std::string>() + 'm';
  EXPECT_TRUE(is_too_long(ask(update_review(before, after))));
  // From small to long is no way either.
  EXPECT_TRUE(is_too_long(ask(update_review(created_, after))));
  EXPECT_EQ(ask(update_review(before, object_of(created_)))["allowed"], true);
}

// Else many small steps would lead where no review is parsed, and nobody could remove its
// finalizers.
TEST_F(PodUpdate, GrowthInManySteps_EndsWhereThePodCanStillBeMadeShorter) {
  struct Case {
    const char* what;
    Json before;
    std::string step;
    std::size_t many;
  };
  for (const auto& [what, before, step, many] :
       {Case{"bytes", with_env(created_, 1, std::string(kMaxGrownBytes - 8 * kMaxGrowthBytes, 'x')),
             std::string(kMaxGrowthBytes - 100, 's'), 1},
        Case{"values", with_env(created_, 7'400, ""), "", 40}}) {
    Json review = before;
    Json after = object_of(before);
    after["metadata"]["finalizers"] = {"example.com/f"};
    int steps = 0;
    while (ask(update_review(review, after))["allowed"] == true) {
      ASSERT_LT(++steps, 1'000) << what;
      review["request"]["object"] = after;
      for (std::size_t i = 0; i < many; ++i) {
        after["metadata"]["managedFields"].push_back({{"manager", step}});
      }
    }
    EXPECT_GT(steps, 2) << what;
    after = object_of(review);
    after["metadata"].erase("finalizers");
    EXPECT_EQ(ask(update_review(review, after))["allowed"], true) << what;
  }
}

// What no policy selects is nobody's business here, whatever its size.
TEST_F(PodUpdate, PodThatNoPolicySelects_IsNotRefusedForItsSize) {
  Json plain = pod_review("uid-1", "");
  plain["request"]["object"]["spec"]["containers"][0].erase("resources");
  const Json large = with_env(plain, 1, std::string(kMaxObjectBytes, 'x'));
  for (const AdmissionCall call : {AdmissionCall::kMutate, AdmissionCall::kValidate}) {
    EXPECT_EQ(ask(large, call)["auditAnnotations"]["verdict"], "not-applicable");
  }
  EXPECT_EQ(ask(finalized(large))["allowed"], true);
  EXPECT_EQ(ask(binding_review("uid-1"))["auditAnnotations"]["verdict"], "not-applicable");
  // With a GPU the policy selects it.
  EXPECT_TRUE(is_too_long(ask(with_env(created_, 1, std::string(kMaxObjectBytes, 'x')))));
  // Half of what a review may have is the end: an update has the pod twice.
  EXPECT_TRUE(is_too_long(ask(with_env(plain, 1, std::string(kMaxUnselectedBytes, 'x')))));
}

TEST_F(PodUpdate, UnreadablePodOfANamespaceThatNoPolicyCovers_IsLetPass) {
  Json policy = bind_policy();
  policy["version"] = 2;
  policy["match"]["namespaces"] = {"inference"};
  put_policy(policy);
  for (const char* member : {"labels", "annotations"}) {
    Json review = with_too_many(pod_review("uid-1", ""), member);
    EXPECT_TRUE(is_too_long(ask(review))) << member << ": a policy may select it";
    review["request"]["namespace"] = "elsewhere";
    review["request"]["object"]["metadata"]["namespace"] = "elsewhere";
    EXPECT_EQ(ask(review)["auditAnnotations"]["verdict"], "not-applicable") << member;
    Json changed = object_of(review);
    changed["spec"]["containers"][0]["image"] = "registry.example.com/other:1";
    EXPECT_EQ(ask(update_review(review, changed))["allowed"], true) << member;
  }
  Json review = with_too_many(pod_review("uid-1", ""), "labels");
  review["request"]["namespace"] = "elsewhere";
  review["request"]["object"]["metadata"]["annotations"]["assay.dev/decision-id"] = "forged";
  const Json response = ask(review, AdmissionCall::kMutate);
  EXPECT_EQ(patch_of(response).size(), 1U) << response.dump();
}

// An id of a decision stands beside what was decided, or does not stand there.
TEST_F(PodUpdate, AnnotationsBesideADecision_StayAsTheyAre) {
  Json created = created_;
  const Json mutation = ask(created_, AdmissionCall::kMutate);
  created["request"]["object"] = object_of(created_).patch(patch_of(mutation));
  ASSERT_EQ(ask(created)["allowed"], true);
  Json bound = created;
  bound["request"]["object"]["spec"]["nodeName"] = "gpu-1";
  for (const Json& before : {created, bound}) {
    const auto changed = [&](const std::function<void(Json&)>& change) {
      Json after = object_of(before);
      change(after["metadata"]["annotations"]);
      return ask(update_review(before, after));
    };
    for (const auto& change : std::vector<std::function<void(Json&)>>{
             [](Json& a) { a["assay.dev/model"] = "acme/unknown"; },
             [](Json& a) { a["assay.dev/model"] = "acme/demo@assay-tree-v1-sha256:00"; },
             [](Json& a) { a["assay.dev/model"] = "acme/demo,acme/unknown"; },
             [](Json& a) { a["assay.dev/verified"] = "true"; },
             [](Json& a) { a["assay.dev/decision-id"] = "another"; },
             [](Json& a) { a.erase("assay.dev/model"); }}) {
      EXPECT_TRUE(denied_with(changed(change), "annotation-reserved"));
    }
    for (const auto& change : std::vector<std::function<void(Json&)>>{
             [](Json& a) { a["example.com/note"] = "mine"; },
             [](Json& a) { a["assay.dev/model"] = "acme/demo"; },  // as the pod's file has it
             [](Json& a) {
               a.erase("assay.dev/decision-id");
               a["assay.dev/model"] = "acme/unknown";
             }}) {
      EXPECT_EQ(changed(change)["allowed"], true);
    }
  }
}

// The pod never showed one.
TEST_F(PodUpdate, DecisionThatIsAddedLater_IsRefused) {
  ask(created_);
  Json changed = object_of(created_);
  changed["metadata"]["annotations"]["assay.dev/decision-id"] = "of another pod";
  EXPECT_TRUE(denied_with(ask(update_review(created_, changed)), "annotation-reserved"));
}

// Case 7: the change is judged, about the model that was admitted, and replaces what was judged.
TEST_F(PodUpdate, EphemeralContainer_IsAReviewOfItsOwn) {
  ask(created_);
  const auto row = pod_row();
  const Json review = ephemeral_review(created_, "registry.example.com/debug:1");
  const Json response = ask(review);
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "allow") << response.dump();
  const Json decision = decision_of(response);
  EXPECT_EQ(decision["point"], "create");
  EXPECT_EQ(decision["models"][0]["artifact"], id_of(model_).text());
  EXPECT_NE(pod_row()->workload, row->workload);
  EXPECT_EQ(pod_row()->decision, decision["id"].get<std::string>());
  EXPECT_EQ(pod_row()->admitted_at, row->admitted_at);
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
  revoke(publisher_);
  const auto before = pod_row();
  EXPECT_TRUE(denied_with(ask(ephemeral_review(created_, "x:2")), "published: key-revoked"));
  EXPECT_EQ(pod_row(), before);
}

// Case 7: an own image can hold an own model, and an own mount can change the admitted one.
TEST_F(PodUpdate, EphemeralContainerWithAnotherModel_IsRefused) {
  Json policy = bind_policy();
  policy["version"] = 2;
  policy["images"] = {"registry.example.com/*"};
  put_policy(policy);
  ask(created_);
  const auto row = pod_row();
  EXPECT_TRUE(denied_with(ask(ephemeral_review(created_, "docker.io/evil/model:1")),
                          "images: image-not-allowed"));
  Json writes = ephemeral_review(created_, "registry.example.com/debug:1");
  Json& debugger = writes["request"]["object"]["spec"]["ephemeralContainers"][0];
  debugger["volumeMounts"] = {{{"name", "model"}, {"mountPath", "/models"}}};
  EXPECT_TRUE(denied_with(ask(writes), "volumes: mount-writable"));
  EXPECT_EQ(pod_row(), row);
  debugger["volumeMounts"][0]["readOnly"] = true;
  EXPECT_EQ(ask(writes)["allowed"], true);
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// A runtime may read devices from annotations: these are not metadata alone.
TEST_F(PodUpdate, AnnotationThatAsksForDevices_IsAReviewOfItsOwn) {
  Json policy = bind_policy();
  policy["version"] = 2;
  policy["match"] = {{"accelerators", "any"}};
  put_policy(policy);
  Json plain = pod_review("uid-1", "");
  plain["request"]["object"]["spec"]["containers"][0].erase("resources");
  plain["request"]["object"]["spec"]["containers"][0].erase("volumeMounts");
  EXPECT_EQ(ask(plain)["auditAnnotations"]["verdict"], "not-applicable");
  Json changed = object_of(plain);
  changed["metadata"]["annotations"]["cdi.k8s.io/mine"] = "nvidia.com/gpu=all";
  EXPECT_TRUE(denied_with(ask(update_review(plain, changed)), "model-reference-missing"));
  Json binding = binding_review("uid-1");
  binding["request"]["object"]["metadata"]["annotations"] = {
      {"cdi.k8s.io/mine", "nvidia.com/gpu=all"}};
  EXPECT_TRUE(denied_with(ask(binding), "model-reference-missing"));
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// Plugins of the runtime mount, and make device files, by annotations that come later.
TEST_F(PodUpdate, AnnotationThatMounts_IsAReviewOfItsOwn) {
  ask(created_);
  const auto row = pod_row();
  for (const auto& [name, code] : std::map<std::string, std::string>{
           {"mounts.nri.io/container.server", "volumes: volume-unaccounted"},
           {"devices.gke.io/container.server", "volumes: mount-writable"}}) {
    Json changed = object_of(created_);
    changed["metadata"]["annotations"][name] = "x";
    EXPECT_TRUE(denied_with(ask(update_review(created_, changed)), code)) << name;
    Json binding = binding_review("uid-1");
    binding["request"]["object"]["metadata"]["annotations"] = {{name, "x"}};
    EXPECT_TRUE(denied_with(ask(binding), code)) << name;
    EXPECT_EQ(pod_row(), row);
  }
  Json changed = object_of(created_);
  changed["metadata"]["annotations"]["balloon.balloons.resource-policy.nri.io"] = "x";
  EXPECT_EQ(ask(update_review(created_, changed))["auditAnnotations"]["verdict"], "unchanged");
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

TEST_F(PodUpdate, ChangedImage_IsAReviewOfItsOwn) {
  ask(created_);
  Json changed = object_of(created_);
  changed["spec"]["containers"][0]["image"] = "registry.example.com/other:1";
  EXPECT_EQ(ask(update_review(created_, changed))["auditAnnotations"]["verdict"], "allow");
  changed["spec"]["containers"][0]["image"] = "registry.example.com/other:2";
  revoke(publisher_);
  EXPECT_TRUE(denied_with(ask(update_review(created_, changed)), "published: key-revoked"));
}

// The models that were admitted stay those of the pod, whatever its annotation says by now.
TEST_F(PodUpdate, AnnotationAtTheChange_DoesNotCount) {
  ask(created_);
  Json review = ephemeral_review(created_, "registry.example.com/debug:1");
  review["request"]["object"]["metadata"]["annotations"]["assay.dev/model"] = "acme/unknown";
  const Json response = ask(review);
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(decision_of(response)["models"][0]["name"], "acme/demo");
}

TEST_F(PodUpdate, OfABoundPod_IsJudgedAtBind) {
  Json bound = created_;
  ASSERT_EQ(create_and_bind()["allowed"], true);
  bound["request"]["object"]["spec"]["nodeName"] = "gpu-1";
  const Json response = ask(ephemeral_review(bound, "registry.example.com/debug:1"));
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(decision_of(response)["point"], "bind");
  EXPECT_EQ(pod_row()->nodes, std::vector<std::string>{"gpu-1"});
  EXPECT_EQ(pod_row()->settled, "gpu-1");
  storage::JobRow row = report_row(id_of(model_));
  row.result = "mismatch";
  put(row);
  EXPECT_TRUE(denied_with(ask(ephemeral_review(bound, "x:2")), "verified: model-mismatch"));
}

// --- pods that are not known: they waited when the webhook came, or their row was lost

TEST_F(PodUpdate, OfAnUnknownWaitingPod_MakesItKnown) {
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "pod-unknown"));
  Json changed = object_of(created_);
  changed["metadata"]["annotations"]["seen"] = "1";
  const Json response = ask(update_review(created_, changed));
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "allow") << response.dump();
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

TEST_F(PodUpdate, OfAnUnknownPodThatWouldBeDenied_LeavesItUnknown) {
  const Json bad = pod_review("uid-1", "acme/unknown");
  Json changed = object_of(bad);
  changed["metadata"]["finalizers"] = Json::array();
  const Json response = ask(update_review(bad, changed));
  EXPECT_EQ(response["allowed"], true) << "metadata stay changeable";
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "unchanged");
  EXPECT_EQ(response["warnings"].size(), 1U);
  EXPECT_FALSE(pod_row());
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "pod-unknown"));
  EXPECT_TRUE(denied_with(ask(ephemeral_review(bad, "x:1")), "model-reference-missing"));
}

TEST_F(PodUpdate, OfAnUnknownBoundPod_IsJudgedAtBindWhenItChangesWhatRuns) {
  Json bound = created_;
  bound["request"]["object"]["spec"]["nodeName"] = "gpu-1";
  Json changed = object_of(bound);
  changed["metadata"]["labels"] = {{"app", "other"}};
  EXPECT_EQ(ask(update_review(bound, changed))["auditAnnotations"]["verdict"], "unchanged");
  EXPECT_FALSE(pod_row());
  Json elsewhere = bound;
  elsewhere["request"]["object"]["spec"]["nodeName"] = "gpu-9";
  EXPECT_TRUE(denied_with(ask(ephemeral_review(elsewhere, "x:1")), "node-not-enrolled"));
  const Json response = ask(ephemeral_review(bound, "x:1"));
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(decision_of(response)["point"], "bind");
  EXPECT_EQ(pod_row()->nodes, std::vector<std::string>{"gpu-1"});
  EXPECT_EQ(pod_row()->settled, "gpu-1");
}

TEST_F(PodUpdate, WithoutAnOldObject_IsAChange) {
  ask(created_);
  revoke(publisher_);
  Json review = update_review(created_, object_of(created_));
  review["request"]["oldObject"] = nullptr;
  EXPECT_TRUE(denied_with(ask(review), "published: key-revoked"));
}

TEST_F(PodUpdate, DryRun_KeepsNothing) {
  ask(created_);
  const auto row = pod_row();
  Json review = ephemeral_review(created_, "x:1");
  review["request"]["dryRun"] = true;
  const TreeSize size = log_size();
  EXPECT_EQ(ask(review)["allowed"], true);
  EXPECT_EQ(log_size(), size);
  EXPECT_EQ(pod_row(), row);
}

// --- templates

Json template_of(const Json& pod_review, const std::string& kind) {
  Json review = pod_review;
  const Json& pod = pod_review["request"]["object"];
  Json wrapped = {{"template", {{"metadata", pod["metadata"]}, {"spec", pod["spec"]}}}};
  if (kind == "CronJob") {
    wrapped = {{"jobTemplate", {{"spec", wrapped}}}};
  }
  review["request"]["kind"] = {
      {"group", kind.ends_with("Job") ? "batch" : "apps"}, {"version", "v1"}, {"kind", kind}};
  review["request"]["object"] = {{"metadata", {{"name", "llm"}}}, {"spec", wrapped}};
  return review;
}

TEST_F(PodUpdate, Templates_GetWarningsAndLeaveNoTrace) {
  for (const char* kind :
       {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"}) {
    const TreeSize size = log_size();
    Json response = ask(template_of(pod_review("uid-1", "acme/demo"), kind));
    EXPECT_EQ(response["allowed"], true) << kind;
    EXPECT_FALSE(response.contains("warnings")) << response.dump();
    response = ask(template_of(pod_review("uid-1", "acme/unknown"), kind));
    EXPECT_EQ(response["allowed"], true) << kind;
    EXPECT_EQ(response["auditAnnotations"]["verdict"], "advice");
    EXPECT_TRUE(response["auditAnnotations"]["reasons"].get<std::string>().starts_with(
        "model-reference-missing"));
    ASSERT_TRUE(response.contains("warnings")) << response.dump();
    EXPECT_NE(response["warnings"][1].get<std::string>().find("model-reference-missing"),
              std::string::npos);
    EXPECT_EQ(log_size(), size);
  }
  EXPECT_EQ(ask(pod_review("uid-1", "acme/unknown"))["allowed"], false) << "its pod is denied";
}

}  // namespace
}  // namespace assay::server::test
