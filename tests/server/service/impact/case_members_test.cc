// SPDX-License-Identifier: Apache-2.0
// What a stored case keeps for each member of a policy: a question about a policy that has the
// member is answered as the service would answer with that policy in force, or is undecided.
#include <fstream>
#include <set>

#include "schemas/core/sha.h"
#include "schemas/release.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/withdrawals.h"
#include "server/service/impact/decision_impact.h"
#include "tests/server/service/bind_fixture.h"

namespace assay::server {
namespace {

// A change of a policy that has no more than a manifest condition.
using Samples = std::map<std::string, Json>;

Json condition(const char* kind, Json value) { return {{"id", "added"}, {kind, std::move(value)}}; }

// Members of a policy, each as a merge patch. Those that name and order policies are left out.
Samples members() {
  const std::string image = "sha256:" + std::string(64, '1');
  return {{"mode", {{"mode", "warn"}}},
          {"match", {{"match", {{"namespaces", {"inference", "x"}}}}}},
          {"node_affinity", {{"node_affinity", {{"assay.dev/x", {"y"}}}}}},
          {"other_volumes", {{"other_volumes", {"nfs"}}}},
          {"images", {{"images", {"elsewhere.example/*"}}}},
          {"mounts", {{"mounts", "within"}}},
          {"mount_paths", {{"mount_paths", {"/elsewhere"}}}},
          {"writable_mounts", {{"writable_mounts", true}}},
          {"fill_at_run", {{"fill_at_run", {image}}}},
          {"fillers",
           {{"fill_at_run", {image}}, {"fillers", {{{"image", image}, {"args", {"fill"}}}}}}},
          {"names", {{"names", {{"resolve", "none"}}}}},
          {"require",
           {{"require", {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 2}}}}}}}}}}};
}

Samples match_members() {
  return {
      {"namespaces", {{"namespaces", {"elsewhere"}}}},
      {"labels", {{"labels", {{"team", "a"}}}}},
      {"resources", {{"resources", {"amd.com/gpu"}}}},
      {"exclude_namespaces", {{"exclude_namespaces", {"inference"}}}},
      {"accelerators", {{"accelerators", "any"}}},
      {"harmless_resources", {{"accelerators", "any"}, {"harmless_resources", {"nvidia.com/*"}}}},
      {"nodes", {{"nodes", {"gpu-7"}}}}};
}

Samples conditions() {
  const Json plain = {{"id", "inner"}, {"parameters", {{"hash", {"sha384"}}}}};
  const Json lineage = {{"id", "inner-lineage"}, {"lineage", Json::object()}};
  return {{"manifest", {{"signers", {{"at_least", 2}}}}},
          {"statement",
           {{"predicate_type", std::string(kLifecyclePredicateType)}, {"stage", "approve"}}},
          {"parameters", {{"hash", {"sha384"}}}},
          {"node", {{"max_evidence_age_seconds", 1}}},
          {"report", {{"min_spot_checks", 1000}}},
          {"lineage", Json::object()},
          {"request", {{"users", {"alice"}}}},
          {"window", {{"not_after", "2020-01-01T00:00:00Z"}}},
          {"all", Json::array({plain})},
          {"any", Json::array({plain, lineage})},
          {"not", plain},
          {"at_least", {{"count", 1}, {"of", Json::array({plain, lineage})}}}};
}

Json schema() {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/schemas/json/policy.schema.json");
  return Json::parse(file);
}

std::set<std::string> names(const Json& properties) {
  std::set<std::string> found;
  for (const auto& [name, unused] : properties.items()) {
    found.insert(name);
  }
  return found;
}

std::set<std::string> names(const Samples& samples) {
  std::set<std::string> found;
  for (const auto& [name, unused] : samples) {
    found.insert(name);
  }
  return found;
}

class CaseMembers : public test::BindTest {
 protected:
  Json base() {
    return {{"name", "bind-models"},
            {"version", ++version_},
            {"mode", "enforce"},
            {"match", {{"namespaces", {"inference"}}}},
            {"require", {{{"id", "published"}, {"manifest", Json::object()}}}}};
  }
  // The answer to the creation of a pod that names its model, and to its binding.
  std::pair<bool, bool> decide_pod() {
    const std::string uid = "uid-" + std::to_string(++pods_);
    const bool created = ask(pod_review(uid, "acme/demo"))["allowed"];
    return {created, created && ask(binding_review(uid))["allowed"]};
  }
  Json ask_if(Hypothesis hypothesis, Timestamp since) {
    const auto answer =
        decision_impact(*services_, {.hypothesis = std::move(hypothesis), .since = since}, {});
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer.value_or(Json());
  }

  // Compares what is said about `variant` with what the service does under it. Returns whether it
  // was undecided.
  bool check(const std::string& what, Json variant) {
    SCOPED_TRACE(what);
    clock_.advance(std::chrono::seconds(1));
    put_policy(base());
    const Timestamp since = clock_.now();
    EXPECT_EQ(decide_pod(), std::pair(true, true));
    variant["version"] = ++version_;
    const auto document = parse_policy(as_bytes(variant.dump()));
    EXPECT_TRUE(document) << to_string(document.error());
    if (!document) {
      return false;
    }
    const Json said = ask_if({.activate = {*document}}, since);
    EXPECT_EQ(said["examined"], 2) << said.dump(1);
    EXPECT_EQ(said["allowed"], 0);
    put_policy(variant);
    const auto [created, bound] = decide_pod();
    const std::size_t denied = said["denied"].get<std::size_t>();
    if (said["undecided"].empty()) {
      EXPECT_EQ(denied, std::size_t{!created} + std::size_t{!bound}) << said.dump(1);
      return false;
    }
    EXPECT_EQ(names(said["undecided"]), std::set<std::string>{"case-incomplete"});
    EXPECT_LE(denied, std::size_t{!created} + std::size_t{!bound}) << said.dump(1);
    return true;
  }

  std::uint64_t version_ = 1;
  int pods_ = 0;
};

TEST_F(CaseMembers, EachMemberOfAPolicy_IsAnsweredRight_OrUndecided) {
  std::set<std::string> known = names(members());
  known.insert({"name", "version", "description"});
  ASSERT_EQ(names(schema()["properties"]), known) << "what does a case keep for a new member?";
  std::set<std::string> undecided;
  for (const auto& [name, patch] : members()) {
    Json variant = base();
    variant.merge_patch(patch);
    if (check(name, variant)) {
      undecided.insert(name);
    }
  }
  EXPECT_EQ(undecided, (std::set<std::string>{"fill_at_run", "fillers", "images", "names"}));
}

TEST_F(CaseMembers, EachPartOfAMatch_IsAnsweredRight_OrUndecided) {
  ASSERT_EQ(names(schema()["properties"]["match"]["properties"]), names(match_members()));
  std::set<std::string> undecided;
  for (const auto& [name, match] : match_members()) {
    Json variant = base();
    variant["match"] = match;
    if (check(name, variant)) {
      undecided.insert(name);
    }
  }
  EXPECT_TRUE(undecided.contains("labels"));
  EXPECT_FALSE(undecided.contains("namespaces"));
  EXPECT_FALSE(undecided.contains("nodes"));
}

TEST_F(CaseMembers, EachKindOfCondition_IsAnsweredRight_OrUndecided) {
  std::set<std::string> known = names(conditions());
  known.insert("id");
  ASSERT_EQ(names(schema()["definitions"]["condition"]["properties"]), known);
  std::set<std::string> undecided;
  for (const auto& [name, value] : conditions()) {
    Json variant = base();
    variant["require"].push_back(condition(name.c_str(), value));
    if (check(name, variant)) {
      undecided.insert(name);
    }
  }
  EXPECT_EQ(undecided, (std::set<std::string>{"any", "at_least", "lineage", "request"}));
}

// What a bare name stood for may be another artifact once a release is withdrawn.
TEST_F(CaseMembers, AReleaseThatIsWithdrawn_IsNeverNoChange) {
  const Release release{"acme/demo", "1", id_of(model_), std::nullopt};
  const auto accepted = accept_attestation(
      *services_, statement_envelope(to_statement(release).value(), {&publisher_}), actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  Json document = base();
  document["names"] = {{"resolve", "release"}};
  put_policy(document);
  clock_.advance(std::chrono::seconds(1));
  const Timestamp since = clock_.now();
  ASSERT_EQ(decide_pod(), std::pair(true, true));
  const Json said = ask_if({.withdraw_statements = {accepted->row.id}}, since);
  EXPECT_EQ(said["undecided"], (Json{{"case-incomplete", 1}})) << said.dump(1);
  EXPECT_EQ(said["denied"], 0);
  // The binding is about an artifact id, and the release of another name is about nothing.
  EXPECT_EQ(
      ask_if({.withdraw_statements = {StatementId(sha256(as_bytes("other")))}}, since)["undecided"],
      Json::object());
  EXPECT_EQ(ask_if({.revoke_keys = {publisher_.record.id}}, since)["denied"], 2);
  const std::string payload =
      canonical_json(to_json(Withdrawal{accepted->row.id, "vulnerable", "it leaks", {}})).value();
  ASSERT_TRUE(accept_withdrawal(*services_,
                                envelope(kWithdrawalPayloadType, payload, {&publisher_}), actor_));
  EXPECT_EQ(decide_pod().first, false);
}

}  // namespace
}  // namespace assay::server
