// SPDX-License-Identifier: Apache-2.0
// Nodes, jobs and outlines over the API: statuses, views, parameters, lists.

#include "attestation/simulate/simulation.h"
#include "schemas/core/outline.h"
#include "schemas/core/sha.h"
#include "schemas/endorsements.h"
#include "schemas/verification_report.h"
#include "server/service/documents/accept.h"
#include "server/service/nodes/enrol.h"
#include "tests/server/api/fixture.h"

namespace assay::server::test {
namespace {

constexpr const char* kNobodysJob = "0195b6e0-0000-7000-8000-000000000000";

class NodesApi : public ApiTest {
 protected:
  NodesApi() {
    services_->nodes.dangerous_allow_unmeasured = true;
    services_->nodes.dangerous_allow_unregistered = true;
    const auto accepted = accept_manifest(*services_, signed_manifest(model_), actor_);
    EXPECT_TRUE(accepted);
  }

  ApiAnswer send(const std::string& target, const Json& body, const std::string& role = "worker") {
    return post_json(target, role, body);
  }
  ApiAnswer post_nothing(const std::string& target, const std::string& role = "worker") {
    return call(Method::kPost, target, role, "", {{"content-type", "application/json"}});
  }
  Json ask_challenge(const std::string& node) {
    const auto answer = send("/v1/challenges", {{"purpose", "enrol"}, {"node", node}});
    EXPECT_EQ(answer.status, 201) << answer.body;
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
    EXPECT_TRUE(json::get<Challenge>(answer.json()));
    return answer.json();
  }
  Bytes signed_by_worker(std::string_view type, const Json& payload) {
    return signed_text(type, canonical_json(payload).value());
  }
  Bytes signed_text(std::string_view type, const std::string& payload) {
    const Signer* const signers[] = {key_.get()};
    return to_bytes(attestation::encode_envelope(
        attestation::sign_envelope(type, as_bytes(payload), signers).value()));
  }
  // An enrolment without evidence, or with evidence of a simulator.
  Bytes enrolment(const std::string& node, bool with_evidence = false) {
    return signed_by_worker(kEnrolmentPayloadType, to_json(made_enrolment(node, with_evidence)));
  }
  Enrolment made_enrolment(const std::string& node, bool with_evidence) {
    const Json challenge = ask_challenge(node);
    Enrolment made{{challenge["audience"], node, {}},
                   parse_nonce(challenge["nonce"].get<std::string>()).value(),
                   key_->public_key(),
                   {},
                   {}};
    if (with_evidence) {
      auto spec = attestation::tdx::valid_simulation(as_bytes("api"), clock_.now());
      made.request.platform = hex_encode(spec.platform.ppid);
      const auto simulation = attestation::tdx::simulate(spec);
      made.evidence = Evidence{std::string(kTdxEvidence), simulation.quote, simulation.event_log,
                               attestation::tdx::to_json(simulation.collateral)};
    }
    return made;
  }
  // What becomes of an enrolment whose evidence was changed: status and code.
  std::string enrol_changed(const std::function<void(Json&)>& change) {
    Json payload = to_json(made_enrolment("gpu-3", true));
    change(payload["evidence"]);
    const auto answer =
        post("/v1/nodes", "worker", signed_by_worker(kEnrolmentPayloadType, payload));
    const std::string detail = answer.json().value("detail", "");
    return std::to_string(answer.status) + " " + answer.code() +
           (answer.code() == "evidence-rejected" ? " " + detail.substr(0, detail.find(':')) : "");
  }
  void enrol(const std::string& node = "gpu-1") {
    const auto answer = post("/v1/nodes", "worker", enrolment(node));
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  Json job_request(const std::string& node = "gpu-1") const {
    return {{"artifact", id_of(model_).text()}, {"node", node}};
  }
  Json submission(const Json& lease) {
    const VerificationReport report{
        .job = lease["job"],
        .node = lease["node"],
        .nonce = parse_nonce(lease["challenge"]["nonce"].get<std::string>()).value(),
        .lease = lease["token"],
        .artifact = id_of(model_),
        .parameters = model_.artifact.parameters,
        .scope = JobScope::kFiles,
        .location = lease["location"],
        .volume = "pv-1",
        .pod = {},
        .entries = model_.artifact.entries,
        .not_covered = {},
        .device = {"cpu", "a processor", "none"},
        .kernel_digest = {},
        .check = "full",
        .bytes = 5,
        .started_at = clock_.now(),
        .finished_at = clock_.now()};
    return to_json(
        ReportSubmission{signed_by_worker(kVerificationReportPayloadType, to_json(report)), {}});
  }

  Manifest model_ = manifest("story");
  std::unique_ptr<Signer> key_ = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
};

TEST_F(NodesApi, Story_FromChallengeToVerified) {
  const auto enrolled = post("/v1/nodes", "worker", enrolment("gpu-1"));
  ASSERT_EQ(enrolled.status, 201) << enrolled.body;
  EXPECT_EQ(enrolled.header("Location"), "/v1/nodes/gpu-1");
  EXPECT_EQ(enrolled.json()["worker_measured"], false);
  EXPECT_EQ(enrolled.json()["ear"], Json());
  EXPECT_TRUE(enrolled.json()["receipt"].contains("inclusion"));
  EXPECT_EQ(post("/v1/nodes", "worker", enrolment("gpu-1")).status, 200) << "renewed";

  const auto created = send("/v1/jobs", job_request(), "decider");
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string id = created.json()["id"];
  EXPECT_EQ(created.header("Location"), "/v1/jobs/" + id);
  EXPECT_EQ(send("/v1/jobs", job_request(), "decider").status, 200) << "the same wish";

  const auto leased = post_nothing("/v1/nodes/gpu-1/lease?wait=0");
  ASSERT_EQ(leased.status, 200) << leased.body;
  EXPECT_TRUE(parse_job_lease(as_bytes(leased.body))) << "as the worker reads it";
  const Json lease = leased.json();
  EXPECT_EQ(lease["job"], id);
  EXPECT_EQ(post_nothing("/v1/nodes/gpu-1/lease").status, 204);
  const auto renewed = post_nothing("/v1/jobs/" + id + ":renew?lease=1");
  ASSERT_EQ(renewed.status, 200) << renewed.body;
  EXPECT_EQ(renewed.json()["expires_at"], to_rfc3339(clock_.now() + std::chrono::seconds(60)));

  const auto answer = send("/v1/jobs/" + id + "/report?lease=1", submission(lease));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(parse_report_answer(as_bytes(answer.body))->state, ReportAnswer::State::kVerified);
  const Json job = get("/v1/jobs/" + id).json();
  EXPECT_EQ(job["state"], "done");
  EXPECT_EQ(job["result"], "verified");
  EXPECT_EQ(job["worker_measured"], false);
  EXPECT_EQ(job["location"], model_.locations[0]);
  EXPECT_EQ(job["volume"], "pv-1");
  EXPECT_EQ(job["read_since"], to_rfc3339(clock_.now()));
  EXPECT_EQ(post_nothing("/v1/jobs/" + id + ":renew?lease=1").code(), "lease-lost");
}

TEST_F(NodesApi, WorkerThatCannot_EndsTheJobWithAKnownCode) {
  ASSERT_EQ(post("/v1/nodes", "worker", enrolment("gpu-1")).status, 201);
  const std::string job =
      "/v1/jobs/" + send("/v1/jobs", job_request(), "decider").json()["id"].get<std::string>();
  ASSERT_EQ(post_nothing("/v1/nodes/gpu-1/lease?wait=0").status, 200);
  EXPECT_EQ(post_nothing(job + ":fail?lease=1&code=model-mismatch").code(), "invalid-parameter");
  EXPECT_EQ(post_nothing(job + ":fail?lease=1").code(), "invalid-parameter");
  EXPECT_EQ(post_nothing(job + ":fail?lease=2&code=location-unmapped").code(), "lease-lost");
  EXPECT_EQ(post_nothing(job + ":fail?lease=1&code=instance-missing&refused=a%20lie").code(),
            "invalid-parameter");
  const auto back = post_nothing(job + ":fail?lease=1&code=device-failed");
  ASSERT_EQ(back.status, 200) << back.body;
  EXPECT_EQ(back.json()["state"], "leased");
  EXPECT_EQ(post_nothing(job + ":renew?lease=1").code(), "lease-lost");
  ASSERT_EQ(post_nothing("/v1/nodes/gpu-1/lease?wait=0").status, 200);
  const auto ended =
      post_nothing(job + ":fail?lease=2&code=instance-missing&refused=already-registered");
  ASSERT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(ended.json()["result"], "failed");
  EXPECT_EQ(ended.json()["detail"]["code"], "instance-missing");
  EXPECT_EQ(ended.json()["detail"]["refused"], "already-registered");
}

TEST_F(NodesApi, Refusals_CarryTheirCode) {
  const Bytes bytes = enrolment("gpu-1");
  ASSERT_EQ(post("/v1/nodes", "worker", bytes).status, 201);
  EXPECT_EQ(post("/v1/nodes", "worker", bytes).status, 200) << "a repetition";
  const auto late = enrolment("gpu-1");
  clock_.advance(std::chrono::seconds(120));
  const auto expired = post("/v1/nodes", "worker", late);
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.code(), "challenge-expired");
  EXPECT_EQ(post("/v1/nodes", "worker", late).code(), "challenge-used");
  key_ = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  const auto rejected = post("/v1/nodes", "worker", enrolment("gpu-2", true));
  EXPECT_EQ(rejected.status, 422);
  EXPECT_EQ(rejected.code(), "evidence-rejected");
  EXPECT_TRUE(rejected.json()["detail"].get<std::string>().starts_with("ROOT_CRL_SIGNATURE: "));
  EXPECT_EQ(get("/v1/nodes/gpu-2").status, 404);
  EXPECT_EQ(send("/v1/challenges", {{"purpose", "report"}, {"node", "gpu-1"}}).status, 400);
  EXPECT_EQ(send("/v1/challenges", {{"purpose", "enrol"}, {"node", "GPU"}}).status, 400);
}

// Each has its code, none a 5xx, and no node comes of it.
TEST_F(NodesApi, BadEvidence_LeavesNoNode) {
  const auto quote = [this](const std::string& text) {
    return enrol_changed([&](Json& evidence) { evidence["quote"] = text; });
  };
  EXPECT_EQ(quote(""), "400 schema-violation");
  EXPECT_EQ(quote(base64_encode(Bytes(1, 4))), "422 evidence-rejected QUOTE_TRUNCATED");
  EXPECT_EQ(quote(base64_encode(Bytes(1024))), "422 evidence-rejected QUOTE_VERSION_UNSUPPORTED");
  EXPECT_EQ(quote("BAAC\nAAAA"), "400 invalid-encoding");
  EXPECT_EQ(quote("BAAC*AAA"), "400 invalid-encoding");
  EXPECT_EQ(quote("BAA"), "400 invalid-encoding");
  EXPECT_EQ(quote(base64_encode(Bytes(kMaxQuoteBytes + 3))), "400 schema-violation");
  EXPECT_EQ(enrol_changed([](Json& evidence) { evidence["type"] = "tpm"; }),
            "422 evidence-type-unknown");
  const auto of_another_type = [this](std::size_t bytes) {
    return enrol_changed([&](Json& evidence) {
      evidence["type"] = "ear";
      evidence["quote"] = base64_encode(Bytes(bytes));
    });
  };
  EXPECT_EQ(of_another_type(kMaxOtherEvidenceBytes), "422 evidence-type-unknown");
  EXPECT_EQ(of_another_type(kMaxOtherEvidenceBytes + 1), "400 limit-exceeded");
  EXPECT_EQ(of_another_type(kMaxOtherEvidenceBytes + 3), "400 schema-violation");
  EXPECT_EQ(enrol_changed([](Json& evidence) { evidence.erase("collateral"); }),
            "422 collateral-missing");
  EXPECT_EQ(enrol_changed([](Json& evidence) { evidence["collateral"]["tcb_info"] = 7; }),
            "400 schema-violation");
  EXPECT_EQ(enrol_changed([](Json& evidence) { evidence["collateral"]["tcb_info"] = ""; }),
            "422 evidence-rejected ROOT_CRL_SIGNATURE");
  EXPECT_EQ(get("/v1/nodes/gpu-3").status, 404);
}

TEST_F(NodesApi, BadEnrolments_LeaveNoNode) {
  const auto payload = canonical_json(to_json(made_enrolment("gpu-3", true))).value();
  std::string twice = payload;
  const std::string member = R"("quote":)";
  twice.insert(twice.find(member), member + "\"AAAA\",");
  EXPECT_EQ(post("/v1/nodes", "worker", signed_text(kEnrolmentPayloadType, twice)).code(),
            "duplicate-key");
  const auto empty = post("/v1/nodes", "worker", Bytes());
  EXPECT_TRUE(empty.status >= 400 && empty.status < 500) << empty.status;
  const auto long_one = post("/v1/nodes", "worker", Bytes(10U << 20, ' '));
  EXPECT_TRUE(long_one.status >= 400 && long_one.status < 500) << long_one.status;
  EXPECT_EQ(get("/v1/nodes/gpu-3").status, 404);
}

TEST_F(NodesApi, JobsThatCannotBe_AreRefused) {
  EXPECT_EQ(send("/v1/jobs", job_request(), "decider").code(), "node-not-enrolled");
  enrol();
  Json request = job_request();
  request["artifact"] = id_of(manifest("unknown")).text();
  EXPECT_EQ(send("/v1/jobs", request, "submitter").code(), "not-found");
  request = job_request();
  request["location"] = "pvc://inference/../secret";
  EXPECT_EQ(send("/v1/jobs", request, "decider").status, 400);
  request = job_request();
  request["subset"] = {1};
  EXPECT_EQ(send("/v1/jobs", request, "decider").code(), "invalid-parameter");
}

TEST_F(NodesApi, LeaseParameters_AreChecked) {
  enrol();
  EXPECT_EQ(post_nothing("/v1/nodes/gpu-1/lease?wait=26").code(), "invalid-parameter");
  EXPECT_EQ(post_nothing("/v1/nodes/gpu-1/lease?wait=soon").code(), "invalid-parameter");
  EXPECT_EQ(post_nothing("/v1/nodes/gpu-9/lease").code(), "node-not-enrolled");
  const std::string job = std::string("/v1/jobs/") + kNobodysJob;
  EXPECT_EQ(post_nothing(job + ":renew").code(), "invalid-parameter");
  EXPECT_EQ(post_nothing(job + ":renew?lease=-1").code(), "invalid-parameter");
  EXPECT_EQ(post_nothing(job + ":renew?lease=1").code(), "not-found");
  for (const char* step : {"/report", "/outline", "/spot"}) {
    EXPECT_EQ(send(job + step, Json::object()).code(), "invalid-parameter") << step;
    EXPECT_LT(send(job + step + "?lease=1", Json::object()).status, 500) << step;
  }
}

TEST_F(NodesApi, NodeOfAnotherPrincipal_IsTaken) {
  enrol();
  put_principal({"second",
                 {AccessRole::kWorker},
                 {{CredentialKind::kToken, sha256(as_bytes("assay_second"))}},
                 {}});
  const auto answer = post_nothing("/v1/nodes/gpu-1/lease", "second");
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.code(), "node-taken");
}

TEST_F(NodesApi, Lists_GoOnFromTheLastItem) {
  for (const char* node : {"gpu-3", "gpu-1", "gpu-2"}) {
    key_ = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
    enrol(node);
    ASSERT_EQ(send("/v1/jobs", job_request(node), "decider").status, 201);
  }
  const auto names = [](const Json& page, const char* member) {
    std::string text;
    for (const Json& item : page["items"]) {
      text += item[member].get<std::string>() + " ";
    }
    return text;
  };
  const auto first = get("/v1/nodes?limit=2", "reader");
  EXPECT_EQ(names(first.json(), "node"), "gpu-1 gpu-2 ");
  EXPECT_EQ(first.header("Link"), "</v1/nodes?limit=2&after=gpu-2>; rel=\"next\"");
  EXPECT_TRUE(first.json().contains("tree_size"));
  const auto second = get("/v1/nodes?limit=2&after=gpu-2", "reader");
  EXPECT_EQ(names(second.json(), "node"), "gpu-3 ");
  EXPECT_FALSE(second.json().contains("next"));

  const Json page = get("/v1/jobs?limit=2&state=open", "reader").json();
  EXPECT_EQ(names(page, "node"), "gpu-2 gpu-1 ") << "newest first";
  const Json rest =
      get("/v1/jobs?limit=2&state=open&after=" + page["next"].get<std::string>(), "reader").json();
  EXPECT_EQ(names(rest, "node"), "gpu-3 ");
  EXPECT_EQ(names(get("/v1/jobs?node=gpu-1").json(), "node"), "gpu-1 ");
  EXPECT_EQ(get("/v1/jobs?state=finished").json()["items"].size(), 0U);
  EXPECT_EQ(get("/v1/jobs?artifact=" + id_of(model_).text()).json()["items"].size(), 3U);
  EXPECT_EQ(get("/v1/jobs?state=done").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/jobs?artifact=x").code(), "invalid-digest");
  EXPECT_EQ(get("/v1/jobs?limit=0").code(), "invalid-parameter");
  EXPECT_LT(get("/v1/jobs?after=nothing").status, 500);
}

TEST_F(NodesApi, Endorsements_AreTakenOnce_AndMoveForward) {
  const auto simulation =
      attestation::tdx::simulate(attestation::tdx::valid_simulation(as_bytes("api"), clock_.now()));
  Appraisal appraisal;
  appraisal.evidence_type = kTdxEvidence;
  appraisal.dangerous_anchors = {simulation.root};
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {PutAppraisal{appraisal}}, {&operator1_, &operator2_}), actor_));
  Endorsements bundle{
      2,
      clock_.now(),
      {{std::string(kTdxEvidence), attestation::tdx::to_json(simulation.collateral)}}};
  const auto send_bundle = [&](std::initializer_list<const TestKey*> keys) {
    return post("/v1/endorsements", "submitter",
                envelope(kEndorsementsPayloadType, canonical_json(to_json(bundle)).value(), keys));
  };
  const Json none = get("/v1/endorsements", "reader").json();
  EXPECT_EQ(none, Json({{"number", 0}, {"envelope", nullptr}}));
  EXPECT_EQ(send_bundle({&operator1_}).code(), "threshold-not-met");
  const auto taken = send_bundle({&operator1_, &operator2_});
  ASSERT_EQ(taken.status, 201) << taken.body;
  EXPECT_EQ(taken.json()["parts"].size(), 4U);
  EXPECT_EQ(send_bundle({&operator1_, &operator2_}).status, 200);
  EXPECT_EQ(get("/v1/endorsements", "reader").json()["number"], 2);
  EXPECT_EQ(get("/v1/collateral", "reader").json()["items"][0]["way"], "bundle");
  bundle.number = 1;
  const auto older = send_bundle({&operator1_, &operator2_});
  EXPECT_EQ(older.code(), "collateral-rollback");
  EXPECT_EQ(older.status, 409);
}

TEST_F(NodesApi, Node_IsShownWithItsState) {
  enrol();
  Json node = get("/v1/nodes/gpu-1").json();
  EXPECT_EQ(node["state"], "enrolled");
  EXPECT_EQ(node["principal"], "worker");
  EXPECT_EQ(node["key_id"], key_->key_id().text());
  EXPECT_EQ(node["measured"], Json());
  clock_.advance(std::chrono::hours(24));
  EXPECT_EQ(get("/v1/nodes/gpu-1").json()["state"], "expired");
  EXPECT_EQ(get("/v1/nodes/gpu-9").status, 404);
  EXPECT_EQ(get(std::string("/v1/jobs/") + kNobodysJob).status, 404);
}

TEST_F(NodesApi, Outline_IsPutOnce) {
  const auto& entry = std::get<FileEntry>(model_.artifact.entries[0]);
  const Outline outline{kDefaultOutlineSpan, {{entry.root}}};
  const Bytes blob = encode_outline(outline, model_.artifact).value();
  const std::string target = "/v1/models/" + id_of(model_).text() + "/outline";
  const Headers headers = {{"content-type", "application/octet-stream"}};
  const auto put = [&](ByteView bytes) {
    return call(Method::kPut, target, "submitter", as_text(bytes), headers);
  };
  EXPECT_EQ(put(as_bytes("no outline")).code(), "malformed-outline");
  const auto stored = put(blob);
  ASSERT_EQ(stored.status, 201) << stored.body;
  EXPECT_EQ(stored.json()["span"], kDefaultOutlineSpan);
  EXPECT_EQ(put(blob).status, 200);
  EXPECT_EQ(
      call(Method::kPut, target, "submitter", as_text(blob), {{"content-type", "application/json"}})
          .status,
      415);
}

}  // namespace
}  // namespace assay::server::test
