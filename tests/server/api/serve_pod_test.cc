// SPDX-License-Identifier: Apache-2.0
// A pod at `serve`, by requests alone: reviews admit and bind it, its node's agent reports its
// memory and sends heartbeats, and the decision joins them by the pod's uid.

#include "schemas/core/sha.h"
#include "schemas/heartbeat.h"
#include "schemas/verification_report.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/policies.h"
#include "tests/server/api/fixture.h"
#include "tests/support/cut_file.h"

namespace assay::server::test {
namespace {

constexpr const char* kPod = "uid-1";
const std::string kGoodImage = "registry.example.com/serving/vllm@sha256:" + std::string(64, 'a');
const std::string kOtherImage = "registry.example.com/other/vllm@sha256:" + std::string(64, 'b');

class ServePod : public ApiTest {
 protected:
  ServePod() {
    services_->nodes.dangerous_allow_unmeasured = true;
    services_->nodes.dangerous_allow_unregistered = true;
    const auto entry = std::get<FileEntry>(model_.artifact.entries[0]);
    constexpr std::uint64_t kHeader = 64;  // bytes
    const TensorEntry tensor{"w", "U8", {entry.size}, entry.path, kHeader, entry.size, entry.root};
    model_.artifact.entries = {
        assay::test::cut_file(entry.path, kHeader + entry.size,
                              {CutFormat::kSafetensors, kHeader, sha256(as_bytes("header"))},
                              {tensor}),
        tensor};
    EXPECT_TRUE(accept_manifest(*services_, signed_manifest(model_), actor_));
    EXPECT_TRUE(accept_manifest(*services_, signed_manifest(other_), actor_));
    put_policy("registry.example.com/serving/*@sha256:*");
    for (const char* node : {"gpu-1", "gpu-2"}) {
      enrol(node);
    }
  }

  // Servers run these images, publish what they serve, and have it in memory.
  void put_policy(const std::string& images) {
    const Json document = {{"name", "serving"},
                           {"version", ++policy_version_},
                           {"mode", "enforce"},
                           {"match", {{"resources", {"nvidia.com/gpu"}}}},
                           {"images", {images}},
                           {"require",
                            {{{"id", "published"}, {"manifest", Json::object()}},
                             {{"id", "loaded"},
                              {"report",
                               {{"scope", "device-memory"},
                                {"worker_measured", false},
                                {"max_age_seconds", 3600}}}}}}};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    ASSERT_TRUE(apply_policy_approval(
        *services_, PolicyApproval::Action::kActivate, accepted->row.id,
        policy_approval(accepted->row.id, policy_version_, policy_approver_), actor_));
  }

  // --- the node's agent; both nodes have one with a key of its own

  Bytes signed_by(const std::string& node, std::string_view type, const Json& payload) {
    const Signer* const signers[] = {keys_.at(node).get()};
    return to_bytes(attestation::encode_envelope(
        attestation::sign_envelope(type, as_bytes(canonical_json(payload).value()), signers)
            .value()));
  }
  void enrol(const std::string& node) {
    keys_[node] = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
    const Json challenge =
        post_json("/v1/challenges", "worker", {{"purpose", "enrol"}, {"node", node}}).json();
    const Enrolment made{{challenge["audience"], node, {}},
                         parse_nonce(challenge["nonce"].get<std::string>()).value(),
                         keys_[node]->public_key(),
                         {},
                         {}};
    const auto answer =
        post("/v1/nodes", "worker", signed_by(node, kEnrolmentPayloadType, to_json(made)));
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  // What it found in the memory of this pod, as a job ordered it.
  void report(const std::string& node, const std::string& pod) {
    const auto created = post_json("/v1/jobs", "decider",
                                   {{"artifact", id_of(model_).text()},
                                    {"node", node},
                                    {"scope", "device-memory"},
                                    {"instance", {{"pod", pod}, {"instance", "main"}}}});
    ASSERT_LT(created.status, 202) << created.body;
    const auto leased = call(Method::kPost, "/v1/nodes/" + node + "/lease?wait=0", "worker", "",
                             {{"content-type", "application/json"}});
    ASSERT_EQ(leased.status, 200) << leased.body;
    const Json lease = leased.json();
    const auto& tensor = std::get<TensorEntry>(model_.artifact.entries[1]);
    VerificationReport made{
        .job = lease["job"],
        .node = node,
        .nonce = parse_nonce(lease["challenge"]["nonce"].get<std::string>()).value(),
        .lease = lease["token"],
        .artifact = id_of(model_),
        .parameters = model_.artifact.parameters,
        .scope = JobScope::kDeviceMemory,
        .location = {},
        .volume = {},
        .pod = {},
        .instance = JobInstance{pod, "main"},
        .memory = MemoryFacts{},
        .entries = {tensor},
        .not_covered = {},
        .device = {"opencl:0", "A GPU", "1"},
        .kernel_digest = {},
        .check = "full",
        .bytes = tensor.size,
        .started_at = clock_.now(),
        .finished_at = clock_.now()};
    made.memory->in_place = tensor.size;
    made.memory->registered = tensor.size;
    made.memory->redrawn = 1;
    made.memory->detection = 0.5;
    made.memory->uncovered_count = 2;
    made.memory->read_by = {{{0}, "opencl:0", "A GPU", "580.1", "GPU-1", "0000:1b:00.0", {}}};
    const auto answer =
        post_json("/v1/jobs/" + lease["job"].get<std::string>() + "/report?lease=1", "worker",
                  to_json(ReportSubmission{
                      signed_by(node, kVerificationReportPayloadType, to_json(made)), {}}));
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_EQ(answer.json()["state"], "verified") << answer.body;
  }
  void beat(const std::string& node, const std::string& pod, InstanceState state,
            std::vector<BeatFinding> findings = {}) {
    std::optional<WatchedBy> watch;
    if (state == InstanceState::kVerified) {
      watch = WatchedBy{WatchCheck::kTags, 2000, 100};
    }
    const Heartbeat made{node,
                         services_->heartbeats.session(random_).value(),
                         ++sequence_,
                         {{{pod, "main"},
                           id_of(model_),
                           state,
                           DocumentId(sha256(as_bytes("a report"))),
                           std::move(findings),
                           watch}}};
    const auto answer = post("/v1/nodes/" + node + "/heartbeat", "worker",
                             signed_by(node, kHeartbeatPayloadType, to_json(made)));
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_EQ(answer.json()["counts"], true);
  }

  // --- the cluster's API server

  Json review(const char* kind, Json object) {
    Json request = {{"uid", "705ab4f5"},
                    {"kind", {{"group", ""}, {"version", "v1"}, {"kind", kind}}},
                    {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                    {"namespace", "inference"},
                    {"name", "llm-0"},
                    {"operation", "CREATE"},
                    {"object", std::move(object)}};
    if (std::string_view(kind) == "Binding") {
      request["subResource"] = "binding";
    }
    const std::string body = Json{
        {"apiVersion", "admission.k8s.io/v1"},
        {"kind", "AdmissionReview"},
        {"request",
         std::move(request)}}.dump();
    Head made = head(Method::kPost, "/v1/admission/validate", "admission", body,
                     {{"content-type", "application/json"}});
    const auto answer = drive(Listener::kAdmission, std::move(made), body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["response"];
  }
  // Serves what lies on the claim with the model's name.
  bool creates(const std::string& uid, const std::string& image = kGoodImage,
               const std::string& model = "served") {
    const Json mount = {{"name", "model"}, {"mountPath", "/models"}, {"readOnly", true}};
    const Json container = {{"name", "server"},
                            {"image", image},
                            {"volumeMounts", Json::array({mount})},
                            {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}};
    const Json volume = {{"name", "model"}, {"persistentVolumeClaim", {{"claimName", model}}}};
    const Json metadata = {
        {"name", "llm-0"}, {"uid", uid}, {"annotations", {{"assay.dev/model", "acme/" + model}}}};
    const Json spec = {{"containers", Json::array({container})},
                       {"volumes", Json::array({volume})}};
    return review("Pod", {{"metadata", metadata}, {"spec", spec}})["allowed"];
  }
  bool binds(const std::string& uid, const std::string& node) {
    return review(
        "Binding",
        {{"apiVersion", "v1"},
         {"kind", "Binding"},
         {"metadata", {{"name", "llm-0"}, {"namespace", "inference"}, {"uid", uid}}},
         {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}})["allowed"];
  }

  // --- who sends requests to the server

  ApiAnswer ask(const std::string& uid, const Json& more = Json::object(),
                const std::string& cluster = "admission") {
    Json request = {{"point", "serve"}, {"pod", {{"cluster", cluster}, {"uid", uid}}}};
    request.update(more);
    return post_json("/v1/decisions", "decider", request);
  }
  // Codes of the reasons, in order; "" for an allow.
  std::string reasons(const std::string& uid, const Json& more = Json::object(),
                      const std::string& cluster = "admission") {
    const auto answer = ask(uid, more, cluster);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json verdict = answer.json()["decision"]["verdict"];
    std::string codes;
    for (const Json& reason : verdict["reasons"]) {
      codes += (codes.empty() ? "" : " ") + reason.get<std::string>();
    }
    EXPECT_EQ(verdict["allowed"], codes.empty()) << answer.body;
    return codes;
  }
  // What the decision says of this condition.
  Json actual_of(const Json& decision, const std::string& id) {
    const std::string text = decision.dump();
    Json found;
    const std::function<void(const Json&)> search = [&](const Json& value) {
      if (value.is_object() && value.value("id", Json()) == id && value.contains("actual")) {
        found = value["actual"];
      }
      for (const Json& item : value) {
        if (item.is_structured()) {
          search(item);
        }
      }
    };
    search(decision);
    EXPECT_FALSE(found.is_null()) << id << text;
    return found;
  }

  Manifest model_ = manifest("served", "acme/served");
  Manifest other_ = manifest("another", "acme/another");
  std::map<std::string, std::unique_ptr<Signer>> keys_;
  std::uint64_t policy_version_ = 0;
  std::uint64_t sequence_ = 0;
};

TEST_F(ServePod, AdmittedPlacedReadAndWatched_MayServe) {
  EXPECT_EQ(reasons(kPod), "pod-unknown no-matching-policy");
  ASSERT_TRUE(creates(kPod));
  ASSERT_TRUE(binds(kPod, "gpu-1"));
  EXPECT_EQ(reasons(kPod), "report-missing");
  report("gpu-1", kPod);
  EXPECT_EQ(reasons(kPod), "instance-unwatched");
  beat("gpu-1", kPod, InstanceState::kVerified);
  EXPECT_EQ(reasons(kPod), "");
  EXPECT_EQ(reasons(kPod, {{"node", "gpu-1"}}), "");
  const Json memory = actual_of(ask(kPod).json()["decision"], "loaded")["memory"];
  EXPECT_EQ(memory["check"], "full");
  EXPECT_EQ(memory["detection"], 0.5);
  EXPECT_EQ(memory["uncovered_count"], 2);
  EXPECT_EQ(memory["read_by"], Json::parse(R"([{"ranks":[0],"id":"opencl:0","name":"A GPU",
      "driver":"580.1","uuid":"GPU-1","pci":"0000:1b:00.0","kernel_digest":null}])"));
}

// What another pod has in its memory says nothing of this one, on whatever node.
TEST_F(ServePod, MemoryOfAnotherPod_DoesNotCount) {
  for (const char* uid : {kPod, "uid-2", "uid-3"}) {
    ASSERT_TRUE(creates(uid));
  }
  ASSERT_TRUE(binds(kPod, "gpu-1"));
  ASSERT_TRUE(binds("uid-2", "gpu-1"));
  ASSERT_TRUE(binds("uid-3", "gpu-2"));
  report("gpu-1", kPod);
  beat("gpu-1", kPod, InstanceState::kVerified);
  EXPECT_EQ(reasons(kPod), "");
  EXPECT_EQ(reasons("uid-2"), "report-missing");
  EXPECT_EQ(reasons("uid-3"), "report-missing");
  report("gpu-2", "uid-2");
  beat("gpu-2", "uid-2", InstanceState::kVerified);
  EXPECT_EQ(reasons("uid-2"), "report-missing") << "a node that it is not on";
  EXPECT_TRUE(reasons("uid-2", {{"node", "gpu-2"}}).starts_with("node-unknown "));
  EXPECT_EQ(reasons("uid-9"), "pod-unknown no-matching-policy");
  EXPECT_EQ(reasons(kPod, Json::object(), "another-cluster"), "pod-unknown no-matching-policy");
}

// The models are those that it was admitted with.
TEST_F(ServePod, PodWithAnotherModel_IsNotServed) {
  ASSERT_TRUE(creates(kPod, kGoodImage, "another"));
  ASSERT_TRUE(binds(kPod, "gpu-1"));
  report("gpu-1", kPod);
  beat("gpu-1", kPod, InstanceState::kVerified);
  EXPECT_NE(reasons(kPod), "");
}

TEST_F(ServePod, ImagesOfTheAdmission_AreJudged) {
  EXPECT_FALSE(creates("uid-2", kOtherImage));
  ASSERT_TRUE(creates(kPod));
  ASSERT_TRUE(binds(kPod, "gpu-1"));
  report("gpu-1", kPod);
  beat("gpu-1", kPod, InstanceState::kVerified);
  EXPECT_EQ(reasons(kPod), "");
  put_policy("registry.example.com/other/*@sha256:*");
  EXPECT_EQ(reasons(kPod), "image-not-allowed");
}

TEST_F(ServePod, WhatThePodRuns_IsNotAsked) {
  ASSERT_TRUE(creates(kPod));
  for (const Json& more :
       {Json{{"model", "acme/served"}}, Json{{"workload", {{"namespace", "inference"}}}},
        Json{{"locations", {"pvc://inference/served"}}}, Json{{"point", "create"}}}) {
    EXPECT_EQ(ask(kPod, more).code(), "invalid-parameter") << more;
  }
  EXPECT_EQ(ask("").code(), "schema-violation");
  EXPECT_EQ(post_json("/v1/decisions", "reader", {{"point", "serve"}}).code(), "forbidden");
}

// Found by the node's agent, told by a heartbeat: the place is in the node, the record and the
// decision.
TEST_F(ServePod, ChangedBytes_AreNamedWithTheirPlace) {
  ASSERT_TRUE(creates(kPod));
  ASSERT_TRUE(binds(kPod, "gpu-1"));
  report("gpu-1", kPod);
  beat("gpu-1", kPod, InstanceState::kVerified);
  Json node = get("/v1/nodes/gpu-1").json();
  EXPECT_EQ(node["state"], "enrolled");
  EXPECT_EQ(node["heard_at"], to_rfc3339(clock_.now()));
  ASSERT_EQ(node["instances"].size(), 1U);
  EXPECT_EQ(node["instances"][0]["pod"], kPod);
  EXPECT_EQ(node["instances"][0]["state"], "verified");
  const Json watch = {{"check", "tags"}, {"period_ms", 2000}, {"share_percent", 100}};
  EXPECT_EQ(node["instances"][0]["watch"], watch);
  EXPECT_EQ(actual_of(ask(kPod).json()["decision"], "loaded")["watch"], watch);

  const BeatFinding found{"w", "rank 0: its bytes are not what they were"};
  beat("gpu-1", kPod, InstanceState::kViolated, {found});
  EXPECT_EQ(reasons(kPod), "instance-violated");
  const TreeSize size = log_size();
  const BeatFinding located{"w", found.detail + ": bytes 0 to 6"};
  beat("gpu-1", kPod, InstanceState::kViolated, {located});
  EXPECT_EQ(log_size(), size + 1) << "where it is comes later";
  beat("gpu-1", kPod, InstanceState::kViolated, {located});
  EXPECT_EQ(log_size(), size + 1);
  const auto record =
      parse_log_record(store_->snapshot().value()->log_record(size).value()).value();
  const Json list = Json::array({to_json(located)});
  EXPECT_EQ(record.detail["instances"][0]["findings"], list);
  EXPECT_EQ(actual_of(ask(kPod).json()["decision"], "loaded")["findings"], list);
  node = get("/v1/nodes/gpu-1").json();
  EXPECT_EQ(node["state"], "violated");
  EXPECT_EQ(node["instances"][0]["state"], "violated");
  EXPECT_EQ(node["instances"][0]["findings"], list);
  EXPECT_EQ(node["instances"][0]["watch"], Json());
  EXPECT_EQ(get("/v1/nodes").json()["items"][0]["state"], "violated");
  const Json pods = get("/v1/pods/affected").json()["items"];
  ASSERT_EQ(pods.size(), 1U) << pods.dump(1);
  EXPECT_EQ(pods[0]["uid"], kPod);
  EXPECT_EQ(pods[0]["state"], "violated");
  EXPECT_EQ(pods[0]["point"], "serve");
  EXPECT_NE(pods[0].dump().find("instance-violated"), std::string::npos) << pods[0].dump(1);
  EXPECT_EQ(get("/v1/nodes/gpu-2").json()["state"], "enrolled");
  clock_.advance(std::chrono::seconds(11));
  EXPECT_EQ(get("/v1/nodes/gpu-1").json()["state"], "violated") << "as decisions have it";
  beat("gpu-1", kPod, InstanceState::kVerified);
  clock_.advance(std::chrono::seconds(11));
  node = get("/v1/nodes/gpu-1").json();
  EXPECT_EQ(node["state"], "enrolled");
  EXPECT_EQ(node["instances"][0]["state"], "unknown") << "nobody says so any more";
  EXPECT_EQ(node["instances"][0]["watch"], Json());
  EXPECT_EQ(node["instances"][0]["findings"], Json::array());
}

// The agent that found the change is gone with its key: what it said is not of the new one.
TEST_F(ServePod, ANodeThatEnrolsAgain_HasNoInstancesYet) {
  beat("gpu-1", kPod, InstanceState::kViolated);
  EXPECT_EQ(get("/v1/nodes/gpu-1").json()["state"], "violated");
  enrol("gpu-1");
  const Json node = get("/v1/nodes/gpu-1").json();
  EXPECT_EQ(node["state"], "enrolled");
  EXPECT_EQ(node["instances"], Json::array());
  EXPECT_EQ(node["heard_at"], Json());
}

}  // namespace
}  // namespace assay::server::test
