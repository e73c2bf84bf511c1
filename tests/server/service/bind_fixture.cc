// SPDX-License-Identifier: Apache-2.0
#include "tests/server/service/bind_fixture.h"

#include <sstream>

#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/nodes/reappraise.h"
#include "tests/support/seen_codes.h"

namespace assay::server::test {

using std::chrono::hours;

BindTest::BindTest() {
  store_good_model(model_);
  put_policy(bind_policy());
  put(node_row());
  put(report_row(id_of(model_)));
  put_claim("good", "pv-1");
}

void BindTest::put_claim(const std::string& name, const std::string& volume,
                         const std::string& cluster) {
  const auto written = store_->write([&](storage::Transaction& transaction) {
    return transaction.put_claim({cluster, "inference", name, "uid of " + volume, volume});
  });
  EXPECT_TRUE(written) << to_string(written.error());
}

storage::NodeRow BindTest::node_row(const std::string& name) const {
  const Timestamp now = clock_.now();
  const Bytes key = to_bytes("public key of " + name);
  const DocumentId stored(sha256(as_bytes(name)));
  storage::NodeRow row{.name = name,
                       .principal = "worker-" + name,
                       .key = KeyId(sha256(ByteView(key))),
                       .public_key = key,
                       .platform = "00",
                       .enrolled_at = now,
                       .held_since = held_since_,
                       .expires_at = now + hours(24),
                       .revoked = {},
                       .enrolment = stored,
                       .measured = {},
                       .log_index = 0,
                       .registration = {},
                       .ended = {}};
  row.measured = storage::NodeRow::Measured{.appraisal = stored,
                                            .appraised_at = now,
                                            .evidence_type = "tdx",
                                            .tcb_status = "UpToDate",
                                            .anchor = Anchor::root(sha256(as_bytes("root"))),
                                            .anchor_is_vendor = true};
  return row;
}

storage::EvidenceRow BindTest::evidence_row(const std::string& subject,
                                            const storage::NodeRow& node) const {
  return {.subject = subject,
          .node = node.name,
          .type = node.measured->evidence_type,
          .evidence = node.measured->appraisal,
          .expected = Bytes(64),
          .platform = node.platform,
          .policy = appraisal_id_in_force(*store_->snapshot().value(), "tdx").value(),
          .error = {},
          .appraisal = node.measured->appraisal,
          .appraised_at = node.measured->appraised_at,
          .tcb_status = node.measured->tcb_status,
          .anchor = node.measured->anchor,
          .anchor_is_vendor = node.measured->anchor_is_vendor,
          .marks = Json::object()};
}

storage::JobRow BindTest::report_row(const ArtifactId& artifact, const std::string& node) {
  storage::JobRow row{.id = make_uuid_v7(random_, clock_.now()).value(),
                      .artifact = artifact,
                      .model_name = "acme/demo",
                      .scope = "files",
                      .node = node,
                      .location = "pvc://inference/good",
                      .created_by = "tester",
                      .created_at = clock_.now(),
                      .state = storage::JobState::kDone,
                      .token = 1,
                      .lease_expires_at = {},
                      .pending = nullptr,
                      .result = "verified",
                      .detail = {{"spot_checks", 16}},
                      .report = document("report " + std::to_string(++jobs_)),
                      .volume = "pv-1",
                      .read_since = clock_.now(),
                      .worker_measured = true,
                      .finished_at = clock_.now()};
  return row;
}

DocumentId BindTest::document(const std::string& text) {
  std::optional<DocumentId> id;
  const auto written = store_->write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(id, transaction.put_document("application/json", as_bytes(text)));
    return {};
  });
  EXPECT_TRUE(written) << to_string(written.error());
  return id.value();
}

void BindTest::put(storage::NodeRow row) {
  std::optional<storage::EvidenceRow> evidence;
  if (row.measured) {
    evidence = evidence_row("node:" + row.name, row);
  }
  const auto written = store_->write([&](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_document("application/json", as_bytes(row.name)));
    if (evidence) {
      ASSAY_TRY(transaction.put_evidence(*evidence));
    }
    ASSAY_TRY(transaction.put_node(row));
    if (row.revoked) {  // a change of trust, which has a record
      ASSAY_TRY(transaction.append({.type = "trust.changed",
                                    .time = transaction.now(),
                                    .actor = "test",
                                    .subjects = {},
                                    .documents = {},
                                    .detail = Json::object()}));
    }
    return {};
  });
  EXPECT_TRUE(written) << to_string(written.error());
}

void BindTest::put(storage::JobRow row) {
  const storage::EvidenceRow evidence = evidence_row("job:" + row.id, node_row(row.node));
  const auto written = store_->write([&](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.put_document("application/json", as_bytes(row.node)));
    if (row.worker_measured) {
      ASSAY_TRY(transaction.put_evidence(evidence));
    }
    return transaction.put_job(row);
  });
  EXPECT_TRUE(written) << to_string(written.error());
}

Json BindTest::bind_policy() {
  return {
      {"name", "bind-models"},
      {"version", 1},
      {"mode", "enforce"},
      {"match", {{"resources", {"nvidia.com/gpu"}}}},
      {"node_affinity", {{"assay.dev/attested", {"true"}}}},
      {"require",
       {{{"id", "published"}, {"manifest", Json::object()}},
        {{"id", "node"}, {"node", {{"max_evidence_age_seconds", 3600}}}},
        {{"id", "verified"}, {"report", {{"max_age_seconds", 3600}, {"min_spot_checks", 16}}}}}}};
}

void BindTest::put_policy(const Json& document) {
  const auto accepted = accept_policy(
      *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
      actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  const StatementId id = accepted->row.id;
  const auto applied =
      apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                            policy_approval(id, ++policy_epoch_, policy_approver_), actor_);
  ASSERT_TRUE(applied) << to_string(applied.error());
}

Json BindTest::pod_review(const std::string& uid, const std::string& model,
                          const std::string& claim) {
  const Json container = {
      {"name", "server"},
      {"image", "registry.example.com/vllm:1"},
      {"volumeMounts", {{{"name", "model"}, {"mountPath", "/models"}, {"readOnly", true}}}},
      {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}};
  const Json volume = {{"name", "model"}, {"persistentVolumeClaim", {{"claimName", claim}}}};
  const Json pod = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", "llm-0"}, {"uid", uid}, {"annotations", {{"assay.dev/model", model}}}}},
      {"spec", {{"containers", Json::array({container})}, {"volumes", Json::array({volume})}}}};
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"},
            {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
            {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
            {"namespace", "inference"},
            {"name", "llm-0"},
            {"operation", "CREATE"},
            {"object", pod}}}};
}

Json BindTest::binding_review(const std::string& uid, const std::string& node) {
  Json metadata = {{"name", "llm-0"}, {"namespace", "inference"}};
  if (!uid.empty()) {
    metadata["uid"] = uid;
  }
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "805ab4f5-6393-11e8-b7cc-42010a800002"},
            {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Binding"}}},
            {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
            {"subResource", "binding"},
            {"namespace", "inference"},
            {"name", "llm-0"},
            {"operation", "CREATE"},
            {"object",
             {{"apiVersion", "v1"},
              {"kind", "Binding"},
              {"metadata", metadata},
              {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}}}}}};
}

Json BindTest::update_review(const Json& before, const Json& after) {
  Json review = before;
  review["request"]["operation"] = "UPDATE";
  review["request"]["oldObject"] = before["request"]["object"];
  review["request"]["object"] = after;
  return review;
}

Json BindTest::claim_review(const std::string& operation, const std::string& uid,
                            const std::string& volume) {
  Json spec = Json::object();
  if (!volume.empty()) {
    spec["volumeName"] = volume;
  }
  const Json claim = {{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"metadata", {{"name", "good"}, {"namespace", "inference"}, {"uid", uid}}},
                      {"spec", spec}};
  Json review = {
      {"apiVersion", "admission.k8s.io/v1"},
      {"kind", "AdmissionReview"},
      {"request",
       {{"uid", "905ab4f5-6393-11e8-b7cc-42010a800002"},
        {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "PersistentVolumeClaim"}}},
        {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "persistentvolumeclaims"}}},
        {"namespace", "inference"},
        {"name", "good"},
        {"operation", operation},
        {"object", nullptr},
        {"oldObject", nullptr}}}};
  review["request"][operation == "DELETE" ? "oldObject" : "object"] = claim;
  return review;
}

bool BindTest::denied_with(const Json& response, std::string_view code) {
  const std::string message = response.value("status", Json::object()).value("message", "");
  EXPECT_EQ(response["allowed"], false) << response.dump();
  const std::size_t colon = code.find(": ");
  if (colon == code.npos) {
    return message.find(code) != std::string::npos;
  }
  // "ID: CODE": the line on that condition has the code among its codes.
  const std::string_view id = code.substr(0, colon + 2);
  const std::string wanted(code.substr(colon + 2));
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t codes = line.rfind('[');
    if (line.starts_with(id) && codes != line.npos && line.find(wanted, codes) != line.npos) {
      return true;
    }
  }
  ADD_FAILURE() << message;
  return false;
}

std::optional<storage::PodRow> BindTest::pod_row(const std::string& uid,
                                                 const std::string& cluster) {
  EXPECT_TRUE(services_->unselected.flush());
  const auto row = store_->snapshot().value()->pod(cluster, uid);
  EXPECT_TRUE(row || row.error().code == ErrorCode::kNotFound) << to_string(row.error());
  return row ? std::optional(*row) : std::nullopt;
}

void BindTest::revoke(const TestKey& key) { change_trust({RevokeKey{key.record.id, "stolen"}}); }

void BindTest::change_trust(std::vector<TrustOperation> operations) {
  const auto changed = apply_trust_change(
      *services_, trust_change(++trust_epoch_, std::move(operations), {&operator1_, &operator2_}),
      actor_);
  ASSERT_TRUE(changed) << to_string(changed.error());
}

Json BindTest::ask(const Json& review_json, AdmissionCall call, const std::string& cluster) {
  const auto answer = review(*services_, call, as_bytes(review_json.dump()), cluster);
  EXPECT_TRUE(answer) << to_string(answer.error());
  const Json json = parse_json(answer->body).value();
  EXPECT_EQ(json["response"]["uid"], review_json["request"]["uid"]);
  const Json annotations = json["response"].value("auditAnnotations", Json::object());
  std::istringstream reasons(annotations.value("reasons", ""));
  for (std::string reason; std::getline(reasons, reason, ',');) {
    assay::test::note_seen_line("text " + reason);
  }
  return json["response"];
}

Json BindTest::patch_of(const Json& response) {
  return parse_json(base64_decode(response["patch"].get<std::string>()).value()).value();
}

Json BindTest::create_and_bind(const std::string& node) {
  const Json created = ask(pod_review("uid-1", "acme/demo"));
  EXPECT_EQ(created["allowed"], true) << created.dump();
  return ask(binding_review("uid-1", node));
}

Json BindTest::decision_of(const Json& response) {
  const std::string id = response["auditAnnotations"]["decision-id"];
  const auto snapshot = store_->snapshot().value();
  const storage::DecisionRow row = snapshot->decision(id).value();
  return load_decision(*snapshot, row).value();
}

}  // namespace assay::server::test
