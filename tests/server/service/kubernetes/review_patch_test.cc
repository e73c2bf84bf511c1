// SPDX-License-Identifier: Apache-2.0
// What mutation changes in a pod: its annotations, its image volumes, the labels that its node must
// have.
#include "schemas/placement.h"
#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

class Patch : public BindTest {
 protected:
  // The pod after mutation.
  Json mutated(const Json& pod) {
    const Json response = ask(pod, AdmissionCall::kMutate);
    EXPECT_EQ(response["allowed"], true) << response.dump();
    const Json& object = pod["request"]["object"];
    return response.contains("patch") ? object.patch(patch_of(response)) : object;
  }
};

// Case 11.
TEST_F(Patch, ForgedAnnotations_DoNotSurvive) {
  Json pod = pod_review("", "acme/demo");
  Json& annotations = pod["request"]["object"]["metadata"]["annotations"];
  annotations["assay.dev/decision-id"] = "01900000-0000-7000-8000-000000000000";
  annotations["assay.dev/verified"] = "true";
  annotations["assay.dev/a~b/c"] = "x";
  annotations["example.com/mine"] = "kept";
  const Json response = ask(pod, AdmissionCall::kMutate);
  const Json after = pod["request"]["object"].patch(patch_of(response))["metadata"]["annotations"];
  EXPECT_EQ(after, (Json{{"assay.dev/model", "acme/demo@" + id_of(model_).text()},
                         {"assay.dev/decision-id", response["auditAnnotations"]["decision-id"]},
                         {"example.com/mine", "kept"}}));
}

// Another webhook may put it back, and ours is asked once more.
TEST_F(Patch, AnnotationForgedBetweenTwoCalls_IsReplacedAgain) {
  Json pod = pod_review("", "acme/demo");
  pod["request"]["object"] = mutated(pod);
  Json& annotations = pod["request"]["object"]["metadata"]["annotations"];
  annotations["assay.dev/decision-id"] = "01900000-0000-7000-8000-000000000000";
  const Json response = ask(pod, AdmissionCall::kMutate);
  const Json after = pod["request"]["object"].patch(patch_of(response))["metadata"]["annotations"];
  EXPECT_EQ(after["assay.dev/decision-id"], response["auditAnnotations"]["decision-id"]);
  EXPECT_EQ(after["assay.dev/model"], annotations["assay.dev/model"]);
}

TEST_F(Patch, PodThatNoPolicySelects_LosesForgedAnnotationsToo) {
  Json pod = pod_review("", "acme/demo");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  Json& annotations = pod["request"]["object"]["metadata"]["annotations"];
  annotations["example.com/mine"] = "kept";
  EXPECT_EQ(mutated(pod), pod["request"]["object"]) << "nothing to change";
  annotations["assay.dev/decision-id"] = "01900000-0000-7000-8000-000000000000";
  const Json after = mutated(pod)["metadata"]["annotations"];
  EXPECT_EQ(after, (Json{{"assay.dev/model", "acme/demo"}, {"example.com/mine", "kept"}}));
}

TEST_F(Patch, HostileAnnotations_AreNoWayAround) {
  for (const Json& annotations : {Json(nullptr), Json("text"), Json::array({1})}) {
    Json pod = pod_review("", "acme/demo");
    pod["request"]["object"]["metadata"]["annotations"] = annotations;
    const Json response = ask(pod, AdmissionCall::kMutate);
    if (response["allowed"] == true) {
      const Json after = pod["request"]["object"].patch(patch_of(response));
      EXPECT_EQ(after["metadata"]["annotations"]["assay.dev/decision-id"],
                response["auditAnnotations"]["decision-id"]);
    }
  }
}

TEST_F(Patch, ValidationAndTemplates_ChangeNothing) {
  EXPECT_FALSE(ask(pod_review("uid-1", "acme/demo")).contains("patch"));
  Json pod = pod_review("", "acme/demo");
  const Json object = pod["request"]["object"];
  pod["request"]["kind"]["kind"] = "Deployment";
  pod["request"]["object"] = {
      {"spec", {{"template", {{"metadata", object["metadata"]}, {"spec", object["spec"]}}}}}};
  EXPECT_FALSE(ask(pod, AdmissionCall::kMutate).contains("patch"));
}

// --- image volumes

class ImageVolume : public Patch {
 protected:
  static std::string digest(char digit) { return "sha256:" + std::string(64, digit); }
  // Stores a model that is published as these images.
  void publish(const std::vector<std::string>& locations) {
    Manifest model = manifest("image", "acme/image");
    model.locations = locations;
    ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
    artifact_ = id_of(model).text();
  }
  std::string mutated_reference(const std::string& reference) {
    Json pod = pod_review("", artifact_);
    Json& volume = pod["request"]["object"]["spec"]["volumes"][0];
    volume.erase("persistentVolumeClaim");
    volume["image"] = {{"reference", reference}};
    const Json response = ask(pod, AdmissionCall::kMutate);
    if (!response.contains("patch")) {
      return reference;
    }
    const Json after = pod["request"]["object"].patch(patch_of(response));
    return after["spec"]["volumes"][0]["image"]["reference"];
  }
  std::string artifact_;
};

TEST_F(ImageVolume, ByTag_GetsTheDigestThatTheManifestNames) {
  publish({"oci://registry.example.com/acme/model@" + digest('a'),
           "oci://docker.io/acme/model@" + digest('b'), "pvc://inference/models"});
  EXPECT_EQ(mutated_reference("registry.example.com/acme/model:v1"),
            "registry.example.com/acme/model:v1@" + digest('a'));
  EXPECT_EQ(mutated_reference("acme/model"), "acme/model@" + digest('b'));
}

TEST_F(ImageVolume, OfAnotherRepositoryOrWithADigest_IsLeftAlone) {
  publish({"oci://registry.example.com/acme/model@" + digest('a')});
  for (const std::string& reference :
       {std::string("registry.example.com/acme/model2:v1"), std::string("acme/model:v1"),
        "registry.example.com/acme/model:v1@" + digest('c'), std::string("UPPER/case"),
        std::string()}) {
    EXPECT_EQ(mutated_reference(reference), reference);
  }
}

TEST_F(ImageVolume, WithTwoDigestsToChooseFrom_IsLeftAlone) {
  publish({"oci://registry.example.com/acme/model@" + digest('a'),
           "oci://registry.example.com/acme/model@" + digest('b')});
  EXPECT_EQ(mutated_reference("registry.example.com/acme/model:v1"),
            "registry.example.com/acme/model:v1");
}

// Moving a model takes no new manifest, here neither.
TEST_F(ImageVolume, ThatAPlacementNames_GetsItsDigest) {
  publish({"pvc://inference/models"});
  const std::string location = "oci://registry.example.com/acme/model@" + digest('a');
  const Statement placement =
      to_statement(Placement{"acme/image", ArtifactId::parse(artifact_).value(), {location}})
          .value();
  EXPECT_EQ(mutated_reference("registry.example.com/acme/model:v1"),
            "registry.example.com/acme/model:v1");
  ASSERT_TRUE(accept_attestation(*services_, statement_envelope(placement, {&publisher_}), actor_));
  EXPECT_EQ(mutated_reference("registry.example.com/acme/model:v1"),
            "registry.example.com/acme/model:v1@" + digest('a'));
}

// A publisher whom the policy does not list writes nothing into pods, and stops no pin either.
TEST_F(ImageVolume, OfAPublisherWhomThePolicyDoesNotList_IsNotLookedAt) {
  Json listed = bind_policy();
  listed["version"] = 2;
  listed["require"] = {
      {{"id", "published"}, {"manifest", {{"signers", {{"identities", {"release"}}}}}}}};
  put_policy(listed);
  const TestKey other = make_key(KeyPurpose::kPublisher, "other", {publisher_role()});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{other.record}}, {&operator1_, &operator2_}), actor_));
  publish({"oci://registry.example.com/acme/model@" + digest('a')});
  const auto place = [&](char digit) {
    const Placement placement{"acme/image",
                              ArtifactId::parse(artifact_).value(),
                              {"oci://registry.example.com/acme/model@" + digest(digit),
                               "oci://registry.example.com/acme/other@" + digest(digit)}};
    return accept_attestation(
        *services_, statement_envelope(to_statement(placement).value(), {&other}), actor_);
  };
  ASSERT_TRUE(place('b'));
  EXPECT_EQ(mutated_reference("registry.example.com/acme/model:v1"),
            "registry.example.com/acme/model:v1@" + digest('a'));
  EXPECT_EQ(mutated_reference("registry.example.com/acme/other:v1"),
            "registry.example.com/acme/other:v1");
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
    EXPECT_EQ(object.patch(patch_of(second))["spec"], object["spec"]);
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
  EXPECT_NE(
      message.find("node-affinity: a combination of conditions does not hold [condition-failed]"),
      std::string::npos)
      << message;
}

}  // namespace
}  // namespace assay::server::test
