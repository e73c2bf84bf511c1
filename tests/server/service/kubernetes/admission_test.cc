// SPDX-License-Identifier: Apache-2.0
// AdmissionReview in, AdmissionReview out: the story's pods, what is not judged, and hostile
// reviews.
#include "server/service/kubernetes/admission.h"

#include <random>

#include "schemas/core/json_foreign.h"
#include "server/service/kubernetes/review.h"
#include "tests/server/service/fixture.h"
#include "tests/support/seed.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

Json pod_review(const std::string& annotation, const std::string& claim) {
  Json metadata = {{"name", "llm-0"}, {"labels", {{"app", "llm"}}}};
  if (!annotation.empty()) {
    metadata["annotations"] = {{"assay.dev/model", annotation}};
  }
  const Json container = {
      {"name", "server"},
      {"image", "registry.example.com/vllm:1"},
      {"volumeMounts", {{{"name", "model"}, {"mountPath", "/models"}, {"readOnly", true}}}},
      {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}};
  const Json volume = {{"name", "model"}, {"persistentVolumeClaim", {{"claimName", claim}}}};
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"},
            {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
            {"namespace", "inference"},
            {"name", "llm-0"},
            {"operation", "CREATE"},
            {"dryRun", false},
            {"object",
             {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", std::move(metadata)},
              {"spec",
               {{"containers", Json::array({container})}, {"volumes", Json::array({volume})}}}}}}}};
}

class Admission : public ServiceTest {
 protected:
  Admission() { put_policy_in_force(); }

  Json ask(const Json& review_json, AdmissionCall call = AdmissionCall::kValidate) {
    const auto answer = review(*services_, call, as_bytes(review_json.dump()), "kube-apiserver");
    EXPECT_TRUE(answer) << to_string(answer.error());
    const Json json = parse_json(answer->body).value();
    EXPECT_EQ(json["apiVersion"], "admission.k8s.io/v1");
    EXPECT_EQ(json["kind"], "AdmissionReview");
    EXPECT_EQ(json["response"]["uid"], review_json["request"]["uid"]);
    return json["response"];
  }
  static Json patch_of(const Json& response) {
    return parse_json(base64_decode(response["patch"].get<std::string>()).value()).value();
  }
};

TEST_F(Admission, GoodModel_IsAllowed) {
  store_good_model(manifest("good"));
  const Json response = ask(pod_review("acme/demo", "good"));
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "allow");
}

// A second call changes the decision that it names, and nothing else.
TEST_F(Admission, Mutation_PinsTheDigestOnce) {
  const Manifest model = manifest("good");
  store_good_model(model);
  Json pod = pod_review("acme/demo", "good");
  const Json response = ask(pod, AdmissionCall::kMutate);
  ASSERT_EQ(response["allowed"], true);
  EXPECT_EQ(response["patchType"], "JSONPatch");
  Json& object = pod["request"]["object"];
  object = object.patch(patch_of(response));
  EXPECT_EQ(object["metadata"]["annotations"]["assay.dev/model"],
            "acme/demo@" + id_of(model).text());
  const Json second = ask(pod, AdmissionCall::kMutate);
  EXPECT_EQ(second["allowed"], true);
  const Json patch = patch_of(second);
  ASSERT_EQ(patch.size(), 1U) << patch.dump();
  EXPECT_EQ(patch[0]["path"], "/metadata/annotations/assay.dev~1decision-id");
  EXPECT_EQ(patch[0]["value"], second["auditAnnotations"]["decision-id"]);
}

// The API server asks for no validation of what mutation denied, so that is where it is recorded.
TEST_F(Admission, PodThatIsDenied_LeavesOneDecision) {
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(manifest("bad")), actor_));
  const auto denials = [&] {
    storage::DecisionQuery query;
    query.allowed = false;
    return store_->snapshot().value()->decisions(query).value().items.size();
  };
  Json pod = pod_review("acme/demo", "bad");
  const Json denied = ask(pod, AdmissionCall::kMutate);
  EXPECT_EQ(denied["allowed"], false);
  EXPECT_FALSE(denied.contains("patch"));
  EXPECT_TRUE(denied["auditAnnotations"].contains("decision-id"));
  EXPECT_EQ(denials(), 1U);
  pod["request"]["dryRun"] = true;
  EXPECT_EQ(ask(pod, AdmissionCall::kMutate)["allowed"], false);
  EXPECT_EQ(denials(), 1U) << "a dry run leaves none";
}

TEST_F(Admission, PodWithoutAnnotations_GetsTheMapAndThePin) {
  const Manifest model = manifest("good");
  store_good_model(model);
  Json pod = pod_review("", "good");
  const Json response = ask(pod, AdmissionCall::kMutate);
  ASSERT_EQ(response["allowed"], true) << response.dump();
  const Json patched = pod["request"]["object"].patch(patch_of(response));
  EXPECT_EQ(patched["metadata"]["annotations"]["assay.dev/model"],
            "acme/demo@" + id_of(model).text());
}

TEST_F(Admission, UnsignedArtifact_IsRefusedNamingEveryCondition) {
  store_good_model(manifest("good"));
  const Json response = ask(pod_review(id_of(manifest("flipped")).text(), "good"));
  EXPECT_EQ(response["allowed"], false);
  EXPECT_EQ(response["status"]["code"], 403);
  const std::string message = response["status"]["message"];
  for (const char* line :
       {"\npublished: no manifest by a trusted publisher names this model [manifest-missing]\n",
        "\nevaluated: no trusted statement of the required kind is about this model "
        "[statement-missing]\n",
        "\napproved: no trusted statement of the required kind is about this model "
        "[statement-missing]\n",
        "\nreference-bound: the pod does not mount the model where its manifest says it lies "
        "[reference-unbound]\n"}) {
    EXPECT_NE(message.find(line), std::string::npos) << line << " in " << message;
  }
  EXPECT_TRUE(message.starts_with("assay: this workload may not run here:\n")) << message;
  EXPECT_TRUE(message.ends_with("\nThe whole decision: assay decision show " +
                                response["auditAnnotations"]["decision-id"].get<std::string>()))
      << message;
}

TEST_F(Admission, SelectedPodWithoutModel_IsRefused) {
  store_good_model(manifest("good"));
  const Json response = ask(pod_review("", "elsewhere"));
  EXPECT_EQ(response["allowed"], false);
  EXPECT_NE(response["status"]["message"].get<std::string>().find("model-reference-missing"),
            std::string::npos);
}

TEST_F(Admission, WorkloadThatNoPolicySelects_IsAllowedAndLogged) {
  Json pod = pod_review("", "x");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  const TreeSize size = log_size();
  const Json response = ask(pod);
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "not-applicable");
  EXPECT_EQ(log_size(), size) << "counted, and logged with others";
  ASSERT_TRUE(services_->unselected.flush());
  const auto record = store_->snapshot().value()->log_record(size).value();
  EXPECT_EQ(parse_log_record(record).value().type, event::kNotApplicable);
}

TEST_F(Admission, GpuInAnyContainerList_IsSelected) {
  for (const char* list : {"initContainers", "ephemeralContainers"}) {
    Json pod = pod_review("", "x");
    Json& spec = pod["request"]["object"]["spec"];
    spec[list] = spec["containers"];
    spec["containers"][0].erase("resources");
    EXPECT_EQ(ask(pod)["allowed"], false) << list;
  }
}

TEST_F(Admission, MutationOfWhatNoPolicySelects_IsNotLogged) {
  Json pod = pod_review("", "x");
  pod["request"]["object"]["spec"]["containers"][0].erase("resources");
  const TreeSize size = log_size();
  EXPECT_EQ(ask(pod, AdmissionCall::kMutate)["auditAnnotations"]["verdict"], "not-applicable");
  EXPECT_EQ(log_size(), size);
}

TEST_F(Admission, DeploymentTemplate_IsJudgedLikeAPod) {
  store_good_model(manifest("good"));
  Json pod = pod_review("acme/demo", "good");
  Json& request = pod["request"];
  const Json object = request["object"];
  request["kind"]["kind"] = "Deployment";
  request["object"] = {
      {"spec", {{"template", {{"metadata", object["metadata"]}, {"spec", object["spec"]}}}}}};
  EXPECT_EQ(ask(pod)["allowed"], true);
  request["object"]["spec"]["template"]["metadata"]["annotations"]["assay.dev/model"] =
      "acme/unknown";
  const Json response = ask(pod);
  EXPECT_EQ(response["allowed"], true) << "its pods are denied";
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "advice");
}

TEST_F(Admission, UnknownKindOrOperation_IsDenied) {
  Json pod = pod_review("acme/demo", "good");
  pod["request"]["kind"]["kind"] = "VirtualMachine";
  EXPECT_EQ(ask(pod)["allowed"], false);
  pod = pod_review("acme/demo", "good");
  pod["request"]["operation"] = "PATCH";
  EXPECT_EQ(ask(pod)["allowed"], false);
}

TEST_F(Admission, DeleteAndConnect_AreAllowedUnjudged) {
  for (const char* operation : {"DELETE", "CONNECT"}) {
    Json pod = pod_review("", "x");
    pod["request"]["operation"] = operation;
    pod["request"]["object"] = nullptr;
    EXPECT_EQ(ask(pod)["allowed"], true) << operation;
  }
}

TEST_F(Admission, UpdateThatChangesNothingJudged_IsAllowed) {
  Json pod = pod_review("acme/unknown", "x");
  pod["request"]["operation"] = "UPDATE";
  pod["request"]["oldObject"] = pod["request"]["object"];
  pod["request"]["object"]["metadata"]["finalizers"] = {"example.com/f"};
  pod["request"]["object"]["metadata"]["labels"]["app"] = "other";
  EXPECT_EQ(ask(pod)["allowed"], true);
  pod["request"]["object"]["spec"]["containers"][0]["image"] = "registry.example.com/vllm:2";
  EXPECT_EQ(ask(pod)["allowed"], false);
}

TEST_F(Admission, DryRun_IsJudgedButNotLogged) {
  store_good_model(manifest("good"));
  Json pod = pod_review("acme/demo", "good");
  pod["request"]["dryRun"] = true;
  const TreeSize size = log_size();
  EXPECT_EQ(ask(pod)["allowed"], true);
  EXPECT_EQ(log_size(), size);
}

// Kubernetes has integers of 64 bits: kept as text, judged like any other.
TEST_F(Admission, IntegersBeyondWhatJsonKeepsExact_AreNoReasonToRefuse) {
  store_good_model(manifest("good"));
  const auto answer_to = [&](const Json& made, const std::string& digits) {
    std::string text = made.dump();
    const std::string mark = "4711";
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), digits);
    }
    const auto answer =
        review(*services_, AdmissionCall::kValidate, as_bytes(text), "kube-apiserver");
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer ? parse_json(answer->body).value()["response"] : Json();
  };
  Json good = pod_review("acme/demo", "good");
  good["request"]["object"]["spec"]["terminationGracePeriodSeconds"] = 4711;
  Json bad = good;
  bad["request"]["object"]["metadata"]["annotations"]["assay.dev/model"] = "acme/unknown";
  Json update = good;
  update["request"]["operation"] = "UPDATE";
  update["request"]["oldObject"] = update["request"]["object"];
  update["request"]["oldObject"]["metadata"]["finalizers"] = {"example.com/x"};
  for (const char* digits : {"9223372036854775807", "-9223372036854775808", "9007199254740992"}) {
    EXPECT_EQ(answer_to(good, digits)["allowed"], true) << digits;
    EXPECT_EQ(answer_to(bad, digits)["allowed"], false) << digits;
    EXPECT_EQ(answer_to(update, digits)["allowed"], true) << digits;
  }
}

TEST_F(Admission, ReviewBeyondItsLimit_IsAnError) {
  store_good_model(manifest("good"));
  std::string text = pod_review("acme/demo", "good").dump();
  text.resize(kMaxReviewBytes, ' ');
  EXPECT_TRUE(review(*services_, AdmissionCall::kValidate, as_bytes(text), "kube-apiserver"));
  EXPECT_EQ(kMaxReviewBytes, std::size_t{3} << 20);
  text += ' ';
  EXPECT_EQ(::assay::test::code_of(
                review(*services_, AdmissionCall::kValidate, as_bytes(text), "kube-apiserver")),
            "limit-exceeded");
}

// Values cost more to read than bytes do.
TEST_F(Admission, ReviewOfTooManyValues_IsAnError) {
  store_good_model(manifest("good"));
  Json large = pod_review("acme/demo", "good");
  Json& fill = large["request"]["options"] = Json::array();
  fill.insert(fill.end(), 36'000, Json::object({{"a", 1}}));
  fill.push_back("");
  const std::size_t spare = kMaxReviewMemory - json_memory(large);
  ASSERT_LT(spare, std::size_t{1} << 20);
  fill.back() = std::string(spare, 'x');
  EXPECT_EQ(ask(large)["allowed"], true);
  fill.back() = std::string(spare + 1, 'x');
  EXPECT_EQ(::assay::test::code_of(review(*services_, AdmissionCall::kValidate,
                                          as_bytes(large.dump()), "kube-apiserver")),
            "limit-exceeded");
}

TEST_F(Admission, ReviewWithoutUid_IsAnError) {
  Json pod = pod_review("acme/demo", "good");
  pod["request"].erase("uid");
  EXPECT_EQ(refusal(review(*services_, AdmissionCall::kValidate, as_bytes(pod.dump()), "k")),
            ErrorCode::kMalformedAdmissionReview);
  pod = pod_review("acme/demo", "good");
  pod["apiVersion"] = "admission.k8s.io/v1beta1";
  EXPECT_EQ(refusal(review(*services_, AdmissionCall::kValidate, as_bytes(pod.dump()), "k")),
            ErrorCode::kMalformedAdmissionReview);
}

// Replaces one random value anywhere in `json` by a value of another type.
void corrupt(Json& json, std::mt19937_64& random) {
  static const Json values[] = {nullptr, 7, "text", Json::array({1}), Json::object(), true, -0.5};
  Json* place = &json;
  while (place->is_structured() && !place->empty() && random() % 5 != 0) {
    auto it = place->begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random() % place->size()));
    place = &*it;
  }
  *place = values[random() % std::size(values)];
}

TEST_F(Admission, CorruptedReviews_NeverCrashAndNeverAllowAnUnsignedModel) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 400; ++i) {
    Json pod = pod_review("acme/unknown", "x");
    // What selects the workload stays: the rest is anybody's.
    const Json containers = pod["request"]["object"]["spec"]["containers"];
    corrupt(pod["request"]["object"]["metadata"], random);
    corrupt(pod["request"]["object"]["spec"]["volumes"], random);
    corrupt(pod["request"]["kind"], random);
    const auto answer =
        review(*services_, AdmissionCall::kMutate, as_bytes(pod.dump()), "kube-apiserver");
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(parse_json(answer->body).value()["response"]["allowed"], false) << pod.dump();
  }
}

TEST_F(Admission, PublicSampleReviews_AreAnsweredWithTheirUid) {
  const auto samples = ::assay::test::shared_vectors("admission/admissionreview");
  if (!samples) {
    GTEST_SKIP() << "the public sample reviews are not beside the project";
  }
  for (const auto& file : std::filesystem::directory_iterator(*samples)) {
    const std::string text = ::assay::test::read_file(file.path());
    const auto answer = review(*services_, AdmissionCall::kValidate, as_bytes(text), "k");
    const bool invalid = file.path().filename().string().starts_with("invalid-");
    if (!answer) {
      EXPECT_TRUE(invalid) << file.path() << " " << to_string(answer.error());
      continue;
    }
    const Json response = parse_json(answer->body).value()["response"];
    EXPECT_FALSE(invalid && response["allowed"].get<bool>()) << file.path();
  }
}

}  // namespace
}  // namespace assay::server::test
