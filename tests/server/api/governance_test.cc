// SPDX-License-Identifier: Apache-2.0
// Policies, trust, decisions, admission, audit and the log through the API.

#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

using PoliciesTest = test::ApiTest;
using TrustTest = test::ApiTest;
using DecisionsTest = test::ApiTest;
using LogTest = test::ApiTest;

std::string text(const Json& json) { return json.get<std::string>(); }

std::vector<Digest> digests(const Json& list) {
  std::vector<Digest> result;
  for (const Json& hex : list) {
    result.push_back(Digest::from_hex(HashAlgorithm::kSha256, text(hex)).value());
  }
  return result;
}

Digest digest(const Json& hex) { return digests(Json::array({hex})).front(); }

TEST_F(PoliciesTest, Life_FromStoredToInForceToWithdrawn) {
  const auto stored = post("/v1/policies", "policy-author", policy());
  ASSERT_EQ(stored.status, 201) << stored.body;
  const StatementId id = StatementId::parse(text(stored.json()["id"])).value();
  const std::string path = "/v1/policies/" + id.text();
  EXPECT_EQ(get(path).json()["active"], false);
  EXPECT_EQ(get(path).json()["policy"]["name"], "gpu-models");
  EXPECT_EQ(get("/v1/policies?active=true").json()["items"].size(), 0U);

  const auto active =
      post(path + ":activate", "policy-approver", policy_approval(id, 1, policy_approver_));
  ASSERT_EQ(active.status, 200) << active.body;
  EXPECT_EQ(active.json()["policy_epoch"], 1);
  EXPECT_EQ(get(path).json()["active"], true);
  EXPECT_EQ(get("/v1/policies?active=true&name=gpu-models").json()["items"].size(), 1U);
  EXPECT_EQ(get("/v1/policies?active=true&name=other").json()["items"].size(), 0U);

  const PolicyApproval withdrawal{PolicyApproval::Action::kDeactivate, id, 2};
  const auto inactive =
      post(path + ":deactivate", "policy-approver",
           envelope(kPolicyApprovalPayloadType, to_json(withdrawal).dump(), {&policy_approver_}));
  ASSERT_EQ(inactive.status, 200) << inactive.body;
  EXPECT_EQ(get(path).json()["active"], false);
}

TEST_F(PoliciesTest, ApprovalOfAnotherEpoch_IsAConflict) {
  const auto stored = post("/v1/policies", "policy-author", policy());
  const StatementId id = StatementId::parse(text(stored.json()["id"])).value();
  const auto answer = post("/v1/policies/" + id.text() + ":activate", "policy-approver",
                           policy_approval(id, 7, policy_approver_));
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.code(), "trust-sequence");
}

TEST_F(PoliciesTest, Validate_SaysWhatItFinds) {
  const Json document = {{"name", "open"},
                         {"version", 1},
                         {"mode", "warn"},
                         {"match", Json::object()},
                         {"require", {{{"id", "m"}, {"manifest", Json::object()}}}}};
  const auto answer = post_json("/v1/policies:validate", "policy-author", document);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["valid"], true);
  EXPECT_FALSE(answer.json()["findings"].empty());
  Json wrong = document;
  wrong["require"].push_back(wrong["require"][0]);
  EXPECT_EQ(post_json("/v1/policies:validate", "policy-approver", wrong).code(), "policy-invalid");
}

TEST_F(PoliciesTest, Validate_IsForThoseWhoWriteAndApprovePolicies_OneAtATimeForEach) {
  const auto validate = [this](const std::string& role) {
    return post_json("/v1/policies:validate", role, {{"name", "x"}}).status;
  };
  for (const std::string& role : test::role_names()) {
    EXPECT_EQ(validate(role), role.starts_with("policy-") ? 400 : 403) << role;
  }
  {
    const auto turn = services_->validations.try_take("policy-author");
    const auto second = post_json("/v1/policies:validate", "policy-author", {{"name", "x"}});
    EXPECT_EQ(std::to_string(second.status) + " " + second.code(), "429 busy");
    EXPECT_EQ(second.header("Retry-After"), "1");
    EXPECT_EQ(validate("policy-approver"), 400) << "nobody else waits";
  }
  EXPECT_EQ(validate("policy-author"), 400);
}

TEST_F(PoliciesTest, ActiveParameter_IsTrueOrFalse) {
  EXPECT_EQ(get("/v1/policies?active=yes").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/policies?active=false").status, 200);
}

TEST_F(TrustTest, Principals_AreForAdminAndAuditor) {
  const Json seen = get("/v1/trust", "auditor").json();
  EXPECT_EQ(seen["epochs"]["trust"], 0);
  EXPECT_EQ(seen["keys"].size(), 10U);
  EXPECT_EQ(seen["principals"].size(), test::role_names().size());
  EXPECT_EQ(seen.dump().find("credential"), std::string::npos);
  EXPECT_TRUE(seen["registrations"].is_array());
  EXPECT_FALSE(get("/v1/trust", "policy-author").json().contains("principals"));
  EXPECT_FALSE(get("/v1/trust", "policy-author").json().contains("appraisals"));
  EXPECT_EQ(seen["appraisals"], Json::array());
  EXPECT_FALSE(get("/v1/trust", "policy-author").json().contains("registrations"));
}

TEST_F(TrustTest, Change_TakesEffectAtOnce) {
  EXPECT_EQ(get("/version", "worker").status, 200);
  const Bytes change = trust_change(1, {RemovePrincipal{"worker"}}, {&operator1_, &operator2_});
  const auto answer = post("/v1/trust/changes", "admin", change);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["epochs"]["trust"], 1);
  // The clock stands still: what was remembered is gone all the same.
  EXPECT_EQ(get("/version", "worker").status, 401);
}

TEST_F(TrustTest, ChangeByOneIdentity_IsRefused) {
  const Bytes change =
      trust_change(1, {RemovePrincipal{"worker"}}, {&operator1_, &operator1_second_});
  EXPECT_EQ(post("/v1/trust/changes", "admin", change).code(), "threshold-not-met");
  EXPECT_EQ(get("/version", "worker").status, 200);
}

Json question(const std::string& model) {
  return {{"point", "create"},
          {"model", model},
          {"workload", {{"namespace", "prod"}, {"resources", {"nvidia.com/gpu"}}}}};
}

TEST_F(DecisionsTest, GoodModel_IsAllowedStoredAndReplayed) {
  put_policy_in_force();
  store_good_model(manifest("one"));
  const auto answer = post_json("/v1/decisions", "decider", question("acme/demo"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json body = answer.json();
  EXPECT_EQ(body["selected"], true);
  EXPECT_EQ(body["decision"]["verdict"]["allowed"], true);
  EXPECT_EQ(body["decision"]["models"][0]["artifact"], id_of(manifest("one")).text());
  EXPECT_EQ(body["envelope"]["payloadType"], kDecisionPayloadType);
  EXPECT_TRUE(body["log"].contains("checkpoint"));
  EXPECT_EQ(decided_, (std::vector<bool>{true}));

  const std::string location = answer.header("Location");
  EXPECT_EQ(get(location).json(), body["decision"]);
  EXPECT_EQ(Json::parse(get(location, "reader", {{"accept", std::string(kDsse)}}).body),
            body["envelope"]);
  const auto again = call(Method::kPost, location + ":replay", "auditor");
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.json()["reproduced"], true);
}

TEST_F(DecisionsTest, UnknownModel_IsDeniedWith200) {
  put_policy_in_force();
  const auto answer = post_json("/v1/decisions", "decider", question("acme/unknown"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["decision"]["verdict"]["allowed"], false);
  EXPECT_FALSE(answer.json()["decision"]["verdict"]["reasons"].empty());
}

TEST_F(DecisionsTest, Node_BelongsToBindAndServe) {
  put_policy_in_force();
  store_good_model(manifest("one"));
  Json request = question("acme/demo");
  request["node"] = "gpu-1";
  EXPECT_EQ(post_json("/v1/decisions", "decider", request).code(), "invalid-parameter");
  request["point"] = "bind";
  const auto answer = post_json("/v1/decisions", "decider", request);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["decision"]["point"], "bind");
  EXPECT_EQ(answer.json()["decision"]["request"]["node"], "gpu-1");
  request.erase("node");
  EXPECT_EQ(post_json("/v1/decisions", "decider", request).code(), "invalid-parameter");
  for (const Json& node : {Json(""), Json("GPU 1"), Json(7), Json(std::string(254, 'a'))}) {
    request["node"] = node;
    EXPECT_EQ(post_json("/v1/decisions", "decider", request).status, 400) << node;
  }
}

TEST_F(DecisionsTest, DryRun_LeavesNoTrace) {
  put_policy_in_force();
  const TreeSize before = log_size();
  Json request = question("acme/demo");
  request["dry_run"] = true;
  const auto answer = post_json("/v1/decisions", "decider", request);
  ASSERT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.json()["log"].is_null());
  EXPECT_TRUE(answer.json()["envelope"].is_null());
  EXPECT_EQ(answer.header("Location"), "");
  EXPECT_EQ(log_size(), before);
}

TEST_F(DecisionsTest, Filters_NarrowTheList) {
  put_policy_in_force();
  store_good_model(manifest("one"));
  post_json("/v1/decisions", "decider", question("acme/demo"));
  post_json("/v1/decisions", "decider", question("acme/unknown"));
  const auto count = [this](const std::string& query) {
    return get("/v1/decisions" + query, "decider").json()["items"].size();
  };
  EXPECT_EQ(count(""), 2U);
  EXPECT_EQ(count("?verdict=allow"), 1U);
  EXPECT_EQ(count("?verdict=deny"), 1U);
  EXPECT_EQ(count("?model=acme/demo"), 1U);
  EXPECT_EQ(count("?model=acme/unknown"), 1U)
      << "a name that stands for nothing was asked for, too";
  EXPECT_EQ(count("?model=acme/never"), 0U);
  EXPECT_EQ(get("/v1/decisions?pod=" + std::string(254, 'p'), "decider").json()["detail"],
            "this name has 1 to 253 characters");
  EXPECT_EQ(count("?namespace=prod"), 2U);
  EXPECT_EQ(count("?namespace=other"), 0U);
  EXPECT_EQ(count("?subject=" + id_of(manifest("one")).text()), 1U);
  EXPECT_EQ(get("/v1/decisions?verdict=maybe", "decider").code(), "invalid-parameter");
  const Json counted = get("/v1/decisions?total=true&limit=1", "decider").json();
  EXPECT_EQ(counted["items"].size(), 1U);
  EXPECT_GE(counted["total"], 1U);
  EXPECT_FALSE(get("/v1/decisions", "decider").json().contains("total"));
  const Json denied = get("/v1/decisions?verdict=deny", "decider").json()["items"][0];
  EXPECT_EQ(count("?reason=" + text(denied["reasons"][0])), 1U);
}

TEST_F(DecisionsTest, RefusalOfAnAmbiguousName_IsFoundByTheName) {
  put_policy_in_force();
  store_good_model(manifest("one"));
  store_good_model(manifest("two"));
  const Json made = post_json("/v1/decisions", "decider", question("acme/demo")).json();
  EXPECT_EQ(made["decision"]["verdict"]["reasons"][0], "model-reference-ambiguous");
  EXPECT_EQ(made["decision"]["request"]["asked"], Json{"acme/demo"});
  const Json found = get("/v1/decisions?verdict=deny&model=acme/demo", "decider").json()["items"];
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["id"], made["decision"]["id"]);
}

TEST_F(DecisionsTest, List_IsNewestFirstUnlessAskedOtherwise) {
  put_policy_in_force();
  std::vector<std::string> ids;
  std::vector<std::string> times;
  for (int i = 0; i < 3; ++i) {
    times.push_back(to_rfc3339(clock_.now()));
    const Json made = post_json("/v1/decisions", "decider", question("acme/unknown")).json();
    ids.push_back(text(made["decision"]["id"]));
    clock_.advance(std::chrono::seconds(60));
  }
  const auto listed = [this](const std::string& query) {
    std::vector<std::string> found;
    const Json answer = get("/v1/decisions" + query, "decider").json();
    for (const Json& item : answer["items"]) {
      found.push_back(text(item["id"]));
    }
    return found;
  };
  const std::vector<std::string> newest = {ids[2], ids[1], ids[0]};
  EXPECT_EQ(listed(""), newest);
  EXPECT_EQ(listed("?order=newest"), newest);
  EXPECT_EQ(listed("?order=oldest"), ids);
  EXPECT_EQ(listed("?limit=1"), std::vector{ids[2]}) << "a list that is cut has the newest";
  // From `since` on, up to but without `until`.
  EXPECT_EQ(listed("?since=" + times[1]), (std::vector{ids[2], ids[1]}));
  EXPECT_EQ(listed("?until=" + times[1]), std::vector{ids[0]});
  EXPECT_EQ(listed("?since=" + times[1] + "&until=" + times[2]), std::vector{ids[1]});
}

TEST_F(DecisionsTest, WrongRequests_HaveTheirCode) {
  EXPECT_EQ(post_json("/v1/decisions", "decider", {{"model", "a"}}).code(), "schema-violation");
  EXPECT_EQ(post_json("/v1/decisions", "decider", {{"point", "create"}, {"modle", "a"}}).code(),
            "unknown-member");
  EXPECT_EQ(get("/v1/decisions/0198f0aa-0000-7000-8000-000000000000").status, 404);
  EXPECT_EQ(get("/v1/decisions/abc").status, 404);
  EXPECT_EQ(call(Method::kPost, "/v1/decisions/abc:replay", "auditor").status, 404);
}

// The clock stands still, so only a timeout too short for anything is over.
TEST_F(DecisionsTest, AdmissionTimeout_BoundsTheDecision) {
  put_policy_in_force();
  const Json container = {{"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}};
  const Json review = {{"apiVersion", "admission.k8s.io/v1"},
                       {"kind", "AdmissionReview"},
                       {"request",
                        {{"uid", "u"},
                         {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                         {"operation", "CREATE"},
                         {"object", {{"spec", {{"containers", Json::array({container})}}}}}}}};
  const std::string body = review.dump();
  const auto message = [&](const std::string& query) {
    Head made = head(Method::kPost, "/v1/admission/validate" + query, "admission", body,
                     {{"content-type", "application/json"}});
    const auto answer = drive(Listener::kAdmission, std::move(made), body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["response"]["allowed"], false);
    return text(answer.json()["response"]["status"]["message"]);
  };
  EXPECT_NE(message("?timeout=1ms").find("evaluation-deadline"), std::string::npos);
  for (const char* query : {"", "?timeout=10s", "?timeout=2ms", "?timeout=99999s", "?timeout=0s",
                            "?timeout=1", "?timeout=-1s", "?timeout=99999999999s"}) {
    EXPECT_NE(message(query).find("model-reference-missing"), std::string::npos) << query;
  }
}

// A body has a limit of its own; what the API does with it is timed from its end.
TEST_F(DecisionsTest, SlowUpload_LeavesTheRequestItsTime) {
  body_takes_ = std::chrono::seconds(55);
  EXPECT_EQ(post("/v1/manifests", "submitter", signed_manifest(manifest("slow"))).status, 201);
}

TEST_F(DecisionsTest, Admission_AnswersWithTheUid) {
  put_policy_in_force();
  const Json review = {{"apiVersion", "admission.k8s.io/v1"},
                       {"kind", "AdmissionReview"},
                       {"request",
                        {{"uid", "u-1"},
                         {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                         {"operation", "CREATE"},
                         {"namespace", "prod"},
                         {"object",
                          {{"metadata", {{"name", "p"}}},
                           {"spec",
                            {{"containers",
                              {{{"name", "c"},
                                {"image", "registry.example.com/x"},
                                {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}}}}}}};
  for (const char* verb : {"validate", "mutate"}) {
    const std::string body = review.dump();
    Head made = head(Method::kPost, std::string("/v1/admission/") + verb + "?timeout=10s",
                     "admission", body, {{"content-type", "application/json"}});
    const auto answer = drive(Listener::kAdmission, std::move(made), body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["response"]["uid"], "u-1");
    EXPECT_EQ(answer.json()["response"]["allowed"], false);
  }
  EXPECT_EQ(decided_, (std::vector<bool>{false, false}));
}

TEST_F(LogTest, Events_AreFoundByTypeActorAndSubject) {
  post("/v1/manifests", "submitter", signed_manifest(manifest("one")));
  const auto count = [this](const std::string& query) {
    return get("/v1/audit/events" + query).json()["items"].size();
  };
  EXPECT_EQ(count(""), 3U);
  EXPECT_EQ(count("?type=manifest.accepted"), 1U);
  EXPECT_EQ(count("?type=trust."), 2U);
  EXPECT_EQ(count("?actor=submitter"), 1U);
  EXPECT_EQ(count("?actor=system"), 1U);
  EXPECT_EQ(count("?subject=" + id_of(manifest("one")).text()), 1U);
  const std::vector<Json> up = pages("/v1/audit/events", 1);
  std::vector<Json> down = pages("/v1/audit/events?order=newest", 1);
  EXPECT_EQ(up.size(), 3U);
  std::ranges::reverse(down);
  EXPECT_EQ(down, up);
}

TEST_F(LogTest, CitedDocument_IsExact) {
  const Bytes envelope = signed_manifest(manifest("one"));
  post("/v1/manifests", "submitter", envelope);
  const Json event = get("/v1/audit/events?type=manifest.accepted").json()["items"][0];
  const auto document = get("/v1/documents/" + text(event["documents"][0]), "auditor",
                            {{"accept", "application/vnd.dsse.envelope.v1+json"}});
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.body, as_text(envelope));
  EXPECT_NE(document.header("Cache-Control").find("immutable"), std::string::npos);
}

TEST_F(LogTest, Proofs_Verify) {
  for (int i = 0; i < 5; ++i) {
    post("/v1/manifests", "submitter", signed_manifest(manifest(std::to_string(i))));
  }
  const TreeSize size = log_size();
  for (LeafIndex index = 0; index < size; ++index) {
    const auto record = get("/v1/log/entries/" + std::to_string(index), "reader");
    const Digest leaf = merkle_leaf(HashAlgorithm::kSha256, as_bytes(record.body));
    for (TreeSize at = index + 1; at <= size; ++at) {
      const Json proof =
          get("/v1/log/entries/" + std::to_string(index) + "/proof?tree_size=" + std::to_string(at),
              "reader")
              .json();
      EXPECT_EQ(text(proof["leaf_hash"]), leaf.hex());
      EXPECT_TRUE(
          verify_inclusion(leaf, index, at, digests(proof["inclusion"]), digest(proof["root"])));
    }
  }
  const Json grown = get("/v1/log/consistency?first=2", "reader").json();
  EXPECT_TRUE(verify_consistency(2, size, digest(grown["first_root"]), digest(grown["second_root"]),
                                 digests(grown["consistency"])));
  EXPECT_EQ(grown["second_root"], get("/v1/log/checkpoint", "reader").json()["root"]);
}

TEST_F(LogTest, OutOfRange_HasItsCode) {
  EXPECT_EQ(get("/v1/log/entries/2", "reader").status, 404);
  EXPECT_EQ(get("/v1/log/entries/x", "reader").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/log/entries/0/proof?tree_size=3", "reader").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/log/entries/0/proof?tree_size=0", "reader").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/log/consistency", "reader").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/log/consistency?first=0", "reader").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/log/consistency?first=3", "reader").code(), "invalid-parameter");
}

TEST_F(LogTest, Tiles_AreTheRecords) {
  post("/v1/manifests", "submitter", signed_manifest(manifest("one")));
  const auto note = get("/log/checkpoint", "");
  EXPECT_EQ(note.content_type, "text/plain; charset=utf-8");
  const auto checkpoint = parse_checkpoint(note.body);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->checkpoint.size, 3U);
  const auto tile = get("/log/tile/0/000.p/3", "");
  ASSERT_EQ(tile.body.size(), 96U);
  EXPECT_EQ(tile.content_type, "application/octet-stream");
  const auto hash = [&](std::size_t i) {
    return Digest::from_bytes(HashAlgorithm::kSha256, as_bytes(tile.body).subspan(i * 32, 32))
        .value();
  };
  EXPECT_EQ(merkle_node(merkle_node(hash(0), hash(1)), hash(2)), checkpoint->checkpoint.root);
  const auto bundle = get("/log/tile/entries/000.p/3", "auditor");
  const std::string first = get("/v1/log/entries/0", "reader").body;
  EXPECT_EQ(bundle.body.substr(2, first.size()), first);
  EXPECT_EQ(get("/log/tile/0/000", "").status, 404);
  EXPECT_EQ(get("/log/tile/0/000.p/4", "").status, 404);
  EXPECT_EQ(get("/log/tile/64/000", "").status, 404);
  EXPECT_EQ(get("/log/tile/entries/x001", "auditor").status, 404);
}

TEST_F(LogTest, Operations_Answer) {
  EXPECT_EQ(get("/livez", "").body, "ok\n");
  EXPECT_EQ(get("/readyz", "worker").status, 200);
  EXPECT_EQ(get("/metrics", "monitor").body, "metrics\n");
  EXPECT_EQ(get("/version", "worker").json()["version"], "1.2.3");
  EXPECT_EQ(get("/openapi.json", "").json()["info"]["title"], "Assay");
  EXPECT_TRUE(get("/.well-known/jwks.json", "").json().contains("keys"));
}

}  // namespace
}  // namespace assay::server
