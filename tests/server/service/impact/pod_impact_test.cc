// SPDX-License-Identifier: Apache-2.0
// long-file: all tests share one fixture, a store with admitted pods.
// Which pods lose their allow under a hypothesis, and which have lost it.
#include "server/service/impact/pod_impact.h"

#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/withdrawals.h"
#include "server/service/impact/decision_impact.h"
#include "server/service/impact/note_affected.h"
#include "server/service/impact/suppose.h"
#include "tests/server/service/bind_fixture.h"
#include "tests/support/stepping_clock.h"

namespace assay::server {
namespace {

class PodImpactTest : public test::BindTest {
 protected:
  PodImpactTest() {
    const Json bound = create_and_bind();
    EXPECT_EQ(bound["allowed"], true) << bound.dump();
  }
  Result<Json> ask_if(const Hypothesis& hypothesis, ImpactRequest request = {}) {
    request.hypothesis = hypothesis;
    return pod_impact(*services_, request, {});
  }
  // Expects that the pod would be denied, for this condition.
  void expect_denied(const Hypothesis& hypothesis, const std::string& condition,
                     std::string_view code) {
    const TreeSize before = log_size();
    const auto answer = ask_if(hypothesis);
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ((*answer)["denied"], 1) << answer->dump(1);
    ASSERT_EQ((*answer)["items"].size(), 1U);
    const Json& item = (*answer)["items"][0];
    EXPECT_EQ(item["name"], "llm-0");
    EXPECT_EQ(item["cluster"], "kube-apiserver");
    EXPECT_EQ(item["before"]["verdict"], "allow");
    EXPECT_EQ(item["after"]["verdict"], "deny");
    EXPECT_EQ((*answer)["nodes"], Json::array({"gpu-1"}));
    EXPECT_EQ((*answer)["models"], Json::array({id_of(model_).text()}));
    bool found = false;
    for (const Json& cause : (*answer)["why"]) {
      found = found || (cause["condition"] == condition && cause["code"] == code &&
                        cause["count"] == 1 && cause["policy"] == "bind-models");
    }
    EXPECT_TRUE(found) << (*answer)["why"].dump(1);
    EXPECT_EQ(log_size(), before) << "a question writes nothing";
  }
  void expect_no_change(const Hypothesis& hypothesis) {
    const auto answer = ask_if(hypothesis);
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ((*answer)["examined"], 1);
    EXPECT_EQ((*answer)["denied"], 0) << answer->dump(1);
    EXPECT_EQ((*answer)["allowed"], 0);
    EXPECT_EQ((*answer)["items"], Json::array());
    EXPECT_EQ((*answer)["undecided"], Json::object());
  }
  static PolicyDocument policy_of(const Json& document) {
    return parse_policy(as_bytes(document.dump())).value();
  }
  std::vector<Json> affected(const AffectedQuery& query) {
    const auto answer = affected_pods(*services_, query, {});
    EXPECT_TRUE(answer) << to_string(answer.error());
    return (*answer)["items"].get<std::vector<Json>>();
  }
  StatementId say(const std::string& stage, const Manifest& about, const Manifest* input,
                  const test::TestKey& key) {
    Lifecycle lifecycle;
    lifecycle.stage = stage;
    if (input != nullptr) {
      lifecycle.inputs = {{"dataset", input->name, subject_of(*input).digest}};
    }
    const auto accepted = accept_attestation(
        *services_,
        statement_envelope(to_statement(lifecycle, {subject_of(about)}).value(), {&key}), actor_);
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return accepted->row.id;
  }
  void require_lineage() {
    Json document = bind_policy();
    document["version"] = 2;
    document["require"].push_back({{"id", "origins"}, {"lineage", Json::object()}});
    put_policy(document);
  }
  StatementId manifest_id() {
    storage::StatementQuery query;
    query.kind = storage::StatementKind::kManifest;
    return store_->snapshot().value()->statements(query)->items.front().id;
  }
};

TEST_F(PodImpactTest, RevokedKey_IsSeenBefore_AndListedAfter) {
  expect_denied({.revoke_keys = {publisher_.record.id}}, "published", "key-revoked");
  expect_no_change({.revoke_keys = {evaluator_.record.id}});
  EXPECT_TRUE(affected({}).empty());

  revoke(publisher_);
  const std::vector<Json> pods = affected({.key = publisher_.record.id});
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods[0]["uid"], "uid-1");
  EXPECT_EQ(pods[0]["namespace"], "inference");
  EXPECT_EQ(pods[0]["node"], "gpu-1");
  EXPECT_EQ(pods[0]["models"], Json::array({id_of(model_).text()}));
  EXPECT_FALSE(pods[0]["reasons"].empty());
  EXPECT_FALSE(pods[0]["why"].empty());
  EXPECT_EQ(affected({}).size(), 1U);
  EXPECT_EQ(affected({.statement = manifest_id()}).size(), 1U);
  EXPECT_EQ(affected({.artifact = id_of(model_).text()}).size(), 1U);
  EXPECT_TRUE(affected({.key = operator1_.record.id}).empty());
  EXPECT_TRUE(affected({.statement = StatementId(sha256(as_bytes("other")))}).empty());
  EXPECT_TRUE(affected({.artifact = id_of(manifest("other")).text()}).empty());
}

TEST_F(PodImpactTest, WithdrawnManifestAndModel) {
  expect_denied({.withdraw_statements = {manifest_id()}}, "published", "statement-withdrawn");
  expect_no_change({.withdraw_statements = {StatementId(sha256(as_bytes("other")))}});
  expect_denied({.without_artifacts = {id_of(model_).text()}}, "published", "statement-withdrawn");
  expect_no_change({.without_artifacts = {id_of(manifest("other")).text()}});
}

TEST_F(PodImpactTest, NodesAndTheirPlatforms) {
  expect_denied({.tcb_status_lost = {"UpToDate"}}, "node", "evidence-rejected");
  expect_no_change({.tcb_status_lost = {"OutOfDate"}});
  expect_denied({.revoke_nodes = {"gpu-1"}}, "node", "node-revoked");
  expect_no_change({.revoke_nodes = {"gpu-2"}});
  // A node that runs nothing is named all the same.
  put(node_row("gpu-7"));
  EXPECT_EQ(ask_if({.revoke_nodes = {"gpu-7"}}).value()["nodes"], Json::array({"gpu-7"}));
  EXPECT_EQ(ask_if({.tcb_status_lost = {"UpToDate"}}).value()["nodes"],
            Json::array({"gpu-1", "gpu-7"}));
}

// What the hypothesis itself is about stands on the first page, however many nodes there are.
TEST_F(PodImpactTest, NodesOfTheHypothesis_AreAllNamed_OnTheFirstPage) {
  constexpr std::size_t kMany = 1005;  // more than are read at a time
  storage::PodRow row = pod_row().value();
  row.uid = "uid-2";
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    for (std::size_t i = 0; i < kMany; ++i) {
      const storage::NodeRow node = node_row("more-" + std::to_string(i));
      ASSAY_TRY(transaction.put_document("application/json", as_bytes(node.name)));
      ASSAY_TRY(transaction.put_node(node));
    }
    return transaction.put_pod(row);
  }));
  const Json all = ask_if({.tcb_status_lost = {"UpToDate"}}).value();
  EXPECT_EQ(all["nodes"].size(), kMany + 1);
  EXPECT_EQ(all["nodes_left_out"], 0);
  const Json rest =
      ask_if({.tcb_status_lost = {"UpToDate"}}, {.after = "kube-apiserver/uid-1"}).value();
  EXPECT_EQ(rest["denied"], 1);
  EXPECT_EQ(rest["nodes"], Json::array({"gpu-1"})) << "of its pod";
}

// A pod was created for no node yet, and bound to one.
TEST_F(PodImpactTest, DecisionsAreNamedWithTheirNodes) {
  const Json answer =
      decision_impact(*services_, {.hypothesis = {.revoke_keys = {publisher_.record.id}}}, {})
          .value();
  EXPECT_GE(answer["denied"], 2);
  EXPECT_EQ(answer["nodes"], Json::array({"gpu-1"}));
  for (const Json& item : answer["items"]) {
    EXPECT_EQ(item.value("node", ""), item["point"] == "bind" ? "gpu-1" : "") << item.dump();
  }
  const Json node =
      decision_impact(*services_, {.hypothesis = {.revoke_nodes = {"gpu-1"}}}, {}).value();
  EXPECT_EQ(node["denied"], 1);
  EXPECT_EQ(node["nodes"], Json::array({"gpu-1"}));
}

// The level of a node is what its newest appraisal found.
TEST_F(PodImpactTest, LevelOfANode_IsThatOfItsNewestAppraisal) {
  const auto lost = [](const char* date) {
    return Hypothesis{.tcb_levels_lost = {{"50806f000000", parse_rfc3339(date).value()}}};
  };
  // Stored by hand, the appraisal says nothing of a level.
  const Json unknown = ask_if({.reject_advisories = {"INTEL-SA-00837"}}).value();
  EXPECT_EQ(unknown["undecided"], Json({{"limit-exceeded", 1}})) << unknown.dump(1);
  EXPECT_EQ(unknown["nodes"], Json::array());

  storage::EvidenceRow row = store_->snapshot().value()->evidence("node:gpu-1").value();
  const auto appraise = [&](const Json& result) {
    const std::string text = canonical_json({{"result", result}}).value();
    row.appraisal = DocumentId(sha256(as_bytes(text)));
    const auto written = store_->write([&](storage::Transaction& transaction) -> Status {
      ASSAY_TRY(transaction.put_document("application/json", as_bytes(text)));
      return transaction.put_evidence(row);
    });
    ASSERT_TRUE(written) << to_string(written.error());
  };
  appraise({{"type", "tdx"},
            {"tcb", {{"date", "2024-03-13T00:00:00.000Z"}, {"advisories", {"INTEL-SA-00837"}}}},
            {"platform", {{"fmspc", "50806f000000"}}}});
  expect_denied(lost("2024-03-13T00:00:00Z"), "node", "evidence-rejected");
  expect_no_change(lost("2024-03-12T00:00:00Z"));
  expect_denied({.reject_advisories = {"INTEL-SA-00837"}}, "node", "evidence-rejected");
  expect_no_change({.reject_advisories = {"INTEL-SA-00838"}});
  EXPECT_EQ(ask_if({.reject_advisories = {"INTEL-SA-00837"}}).value()["nodes"],
            Json::array({"gpu-1"}));

  appraise({{"type", "tdx"},
            {"tcb", {{"date", "2024-11-13T00:00:00.000Z"}, {"advisories", Json::array()}}},
            {"platform", {{"fmspc", "50806f000000"}}}});
  expect_no_change(lost("2024-03-13T00:00:00Z"));
}

TEST_F(PodImpactTest, OtherPolicies) {
  Json document = bind_policy();
  document["version"] = 2;
  document["require"][2]["report"]["min_spot_checks"] = 17;
  expect_denied({.activate = {policy_of(document)}}, "verified", "spot-check-missing");
  document["require"][2]["report"]["min_spot_checks"] = 16;
  expect_no_change({.activate = {policy_of(document)}});
  document["name"] = "others";
  document["require"][2]["report"]["min_spot_checks"] = 17;
  document["match"]["namespaces"] = {"elsewhere"};
  expect_no_change({.activate = {policy_of(document)}});
  // What no policy selects is let pass.
  expect_no_change({.deactivate = {"bind-models"}});
}

TEST_F(PodImpactTest, DatasetThatAStatementNames) {
  Lifecycle lifecycle;
  lifecycle.stage = "evaluate";
  lifecycle.inputs = {{"dataset", "squad", {{"sha256", std::string(64, 'd')}}}};
  const auto statement = to_statement(lifecycle, {subject_of(model_)});
  ASSERT_TRUE(
      accept_attestation(*services_, statement_envelope(*statement, {&evaluator_}), actor_));
  Json document = bind_policy();
  document["version"] = 2;
  document["require"].push_back(
      {{"id", "evaluated"},
       {"statement",
        {{"predicate_type", std::string(kLifecyclePredicateType)},
         {"stage", "evaluate"},
         {"where", {{{"pointer", "/inputs/0/name"}, {"op", "=="}, {"value", "squad"}}}},
         {"quantifier", "any"}}}});
  put_policy(document);
  const std::string dataset = "sha256:" + std::string(64, 'd');
  // What is left is an evaluation without inputs.
  expect_denied({.without_artifacts = {dataset}}, "evaluated", "value-missing");
  expect_no_change({.without_artifacts = {"sha256:" + std::string(64, 'e')}});
  revoke(publisher_);
  EXPECT_EQ(affected({.artifact = dataset}).size(), 1U);
  EXPECT_TRUE(affected({.artifact = "sha256:" + std::string(64, 'e')}).empty());
}

TEST_F(PodImpactTest, WithoutAnArtifact_AboveAnUnreadProvenance_IsUndecided) {
  const test::TestKey trainer = make_key(KeyPurpose::kSigner, "trainer", {role("train")});
  const test::TestKey builder =
      make_key(KeyPurpose::kSigner, "builder", {{"*", "https://slsa.dev/provenance/v1", "acme"}});
  change_trust({AddKey{trainer.record}, AddKey{builder.record}});
  const Manifest corpus = manifest("corpus", "acme/corpus");
  say("train", model_, &corpus, trainer);
  const Hypothesis without{.without_artifacts = {"sha256:" + std::string(64, 'd')}};
  expect_no_change(without);
  const Statement provenance{
      {subject_of(corpus)},
      "https://slsa.dev/provenance/v1",
      {{"buildDefinition", {{"buildType", "any"}, {"resolvedDependencies", "many"}}}}};
  ASSERT_TRUE(accept_attestation(*services_, statement_envelope(provenance, {&builder}), actor_));
  const auto answer = ask_if(without);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ((*answer)["undecided"], (Json{{"limit-exceeded", 1}}));
}

// Anybody can sign that more was made from a dataset than is looked at (30 statements of 690
// subjects are enough): what is known is said all the same, and nothing is called unconcerned.
TEST(MadeFrom, WhatIsKnown_IsNotHiddenByWhatIsNot) {
  MadeFrom made{.digests = {"sha256:dataset", "sha256:model"}, .whole = false};
  EXPECT_EQ(made.has_any({{"sha256:model", "sha256:other"}}), std::optional(true));
  EXPECT_EQ(made.has_any({{"sha256:other"}}), std::nullopt);
  EXPECT_EQ(made.has_any({}), std::optional(false));
  made.whole = true;
  EXPECT_EQ(made.has_any({{"sha256:other"}}), std::optional(false));
  for (const bool whole : {false, true}) {
    made.whole = whole;
    EXPECT_EQ(made.has_any({{"sha256:model"}, true}), std::optional(true));
    EXPECT_EQ(made.has_any({{"sha256:other"}, true}), std::nullopt);
    EXPECT_EQ(made.has_any({{}, true}), std::nullopt);
  }
}

TEST_F(PodImpactTest, DatasetThatSlsaProvenanceNames) {
  const std::string slsa = "https://slsa.dev/provenance/v1";
  const test::TestKey builder = make_key(KeyPurpose::kSigner, "builder", {{"*", slsa, "acme"}});
  change_trust({AddKey{builder.record}});
  const Statement provenance{
      {subject_of(model_)},
      slsa,
      {{"buildDefinition",
        {{"resolvedDependencies", {{{"digest", {{"sha256", std::string(64, 'd')}}}}}}}}}};
  ASSERT_TRUE(accept_attestation(*services_, statement_envelope(provenance, {&builder}), actor_));
  Json document = bind_policy();
  document["version"] = 2;
  document["require"].push_back(
      {{"id", "built"}, {"statement", {{"predicate_type", slsa}, {"quantifier", "any"}}}});
  put_policy(document);
  const std::string dataset = "sha256:" + std::string(64, 'd');
  expect_denied({.without_artifacts = {dataset}}, "built", "statement-withdrawn");
  expect_no_change({.without_artifacts = {"sha256:" + std::string(64, 'e')}});
  revoke(publisher_);
  EXPECT_EQ(affected({.artifact = dataset}).size(), 1U);
  EXPECT_TRUE(affected({.artifact = "sha256:" + std::string(64, 'e')}).empty());
}

TEST_F(PodImpactTest, LastSeen_IsTheHeartbeatThatNamesThePod) {
  const auto pod = [&] { return ask_if({.revoke_nodes = {"gpu-1"}}).value()["items"][0]; };
  EXPECT_EQ(pod()["state"], "admitted");
  EXPECT_EQ(pod()["last_seen"], to_rfc3339(clock_.now()));
  clock_.advance(std::chrono::seconds(30));
  const InstanceBeat other{{"uid-2", "main"}, id_of(model_), InstanceState::kUnknown, {}};
  const KeyId key(sha256(as_bytes("worker")));
  ASSERT_TRUE(services_->heartbeats.note("gpu-1", {key, 1, {other}, clock_.now()}));
  EXPECT_EQ(pod()["state"], "admitted");
  InstanceBeat own = other;
  own.instance.pod = "uid-1";
  ASSERT_TRUE(services_->heartbeats.note("gpu-1", {key, 2, {own}, clock_.now()}));
  EXPECT_EQ(pod()["state"], "running");
  EXPECT_EQ(pod()["last_seen"], to_rfc3339(clock_.now()));
}

// The pod is, as its node: whatever else runs in it, until a heartbeat says otherwise.
TEST_F(PodImpactTest, ChangedBytes_MakeThePodViolated) {
  const auto pod = [&] { return ask_if({.revoke_nodes = {"gpu-1"}}).value()["items"][0]; };
  const KeyId key(sha256(as_bytes("worker")));
  std::uint64_t sequence = 0;
  const auto beat = [&](InstanceState first, InstanceState second, const std::string& uid) {
    const InstanceBeat a{{uid, "a"}, id_of(model_), first, {}};
    const InstanceBeat b{{uid, "b"}, id_of(model_), second, {}};
    clock_.advance(std::chrono::seconds(2));
    ASSERT_TRUE(services_->heartbeats.note("gpu-1", {key, ++sequence, {a, b}, clock_.now()}));
  };
  using enum InstanceState;
  beat(kVerified, kVerified, "uid-1");
  EXPECT_EQ(pod()["state"], "running");
  beat(kViolated, kUnknown, "uid-1");
  EXPECT_EQ(pod()["state"], "violated");
  EXPECT_EQ(pod()["last_seen"], to_rfc3339(clock_.now()));
  beat(kUnknown, kViolated, "uid-1");
  EXPECT_EQ(pod()["state"], "violated");
  beat(kViolated, kViolated, "uid-2");
  EXPECT_EQ(pod()["state"], "admitted") << "another pod of its node";
  beat(kUnknown, kVerified, "uid-1");
  EXPECT_EQ(pod()["state"], "running");
}

TEST_F(PodImpactTest, RevocationIsNoted_WithThePodsThatItStops) {
  const TreeSize before = log_size();
  EXPECT_EQ(note_affected(*services_).value(), 0U);
  // Too old for a new binding, but nothing was revoked.
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(affected({}).size(), 1U);
  EXPECT_EQ(note_affected(*services_).value(), 0U);
  EXPECT_EQ(log_size(), before);
  revoke(publisher_);
  EXPECT_EQ(note_affected(*services_).value(), 1U);
  storage::EventQuery query;
  query.type = std::string(event::kPodsAffected);
  const auto events = store_->snapshot().value()->events(query).value().items;
  ASSERT_EQ(events.size(), 1U);
  const LogRecord& record = events[0].record;
  EXPECT_EQ(record.actor, "system");
  EXPECT_EQ(record.subjects, std::vector{id_of(model_).text()});
  EXPECT_EQ(record.detail["count"], 1);
  EXPECT_EQ(record.detail["examined"], 1);
  EXPECT_EQ(record.detail["complete"], true);
  EXPECT_EQ(record.detail["revocation_epoch"], 1);
  ASSERT_EQ(record.detail["pods"].size(), 1U);
  EXPECT_EQ(record.detail["pods"][0]["uid"], "uid-1");
  EXPECT_FALSE(record.detail["pods"][0]["reasons"].empty());
}

// Readers who ask again and again hold no record back.
TEST_F(PodImpactTest, RevocationIsNoted_WhileAQuestionIsAnswered) {
  revoke(publisher_);
  const auto turn = services_->impact_turn.try_take();
  ASSERT_TRUE(turn);
  const auto noted = note_affected(*services_);
  ASSERT_TRUE(noted) << to_string(noted.error());
  EXPECT_EQ(*noted, 1U);
  EXPECT_EQ(test::refusal(affected_pods(*services_, {}, {})), ErrorCode::kBusy);
}

// What a model was made from falls: its pods are noted, and found by what fell.
TEST_F(PodImpactTest, AFallOfAnAncestor_IsNoted_AndFound) {
  const test::TestKey trainer =
      make_key(KeyPurpose::kSigner, "trainer", {role("train"), role("collect")});
  const test::TestKey curator = make_key(KeyPurpose::kSigner, "curator", {role("collect")});
  change_trust({AddKey{trainer.record}, AddKey{curator.record}});
  const Manifest corpus = manifest("corpus", "acme/corpus");
  say("train", model_, &corpus, trainer);
  const StatementId collected = say("collect", corpus, nullptr, curator);
  require_lineage();
  ASSERT_TRUE(affected({}).empty());
  EXPECT_EQ(note_affected(*services_).value(), 0U);
  // A pod that is denied for its age alone is none that a revocation stopped.
  revoke(approver_a_);
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(affected({}).size(), 1U);
  EXPECT_EQ(note_affected(*services_).value(), 0U);
  revoke(curator);
  EXPECT_EQ(note_affected(*services_).value(), 1U);
  EXPECT_EQ(affected({.key = curator.record.id}).size(), 1U);
  EXPECT_EQ(affected({.statement = collected}).size(), 1U);
  EXPECT_EQ(affected({.artifact = id_of(corpus).text()}).size(), 1U);
  EXPECT_TRUE(affected({.key = operator1_.record.id}).empty());
  EXPECT_TRUE(affected({.artifact = id_of(manifest("other")).text()}).empty());
  // Nobody knows what lies behind more edges than are looked at, so the pod is named.
  Lifecycle wide;
  wide.stage = "train";
  std::vector<Subject> made = {subject_of(model_)};
  for (int i = 0; i < 400; ++i) {
    const std::string hex = sha256(as_bytes("shard " + std::to_string(i))).hex();
    made.push_back({model_.name, {{"assay-tree-v1-sha256", hex}}});
    if (i < 300) {
      wide.inputs.push_back({"dataset", "acme/shard", {{"assay-tree-v1-sha256", hex}}});
    }
  }
  ASSERT_TRUE(accept_attestation(
      *services_, statement_envelope(to_statement(wide, made).value(), {&trainer}), actor_));
  EXPECT_EQ(affected({.key = operator1_.record.id}).size(), 1U);
}

TEST_F(PodImpactTest, AnAncestorsWithdrawnStatement_IsNoted_AndFound) {
  const test::TestKey maker =
      make_key(KeyPurpose::kSigner, "maker", {role("train"), role("collect")});
  change_trust({AddKey{maker.record}});
  const Manifest corpus = manifest("corpus", "acme/corpus");
  say("train", model_, &corpus, maker);
  const StatementId collected = say("collect", corpus, nullptr, maker);
  const StatementId beside = say("collect", manifest("other", "acme/other"), nullptr, maker);
  require_lineage();
  const auto withdraw = [&](const StatementId& id) {
    const std::string payload =
        canonical_json(to_json(Withdrawal{id, "incorrect", "not ours", {}})).value();
    ASSERT_TRUE(
        accept_withdrawal(*services_, envelope(kWithdrawalPayloadType, payload, {&maker}), actor_));
  };
  withdraw(beside);
  EXPECT_TRUE(affected({}).empty());
  EXPECT_EQ(note_affected(*services_).value(), 0U);
  withdraw(collected);
  EXPECT_EQ(affected({.statement = collected}).size(), 1U);
  EXPECT_EQ(affected({.artifact = id_of(corpus).text()}).size(), 1U);
  EXPECT_TRUE(affected({.statement = beside}).empty());
  EXPECT_EQ(note_affected(*services_).value(), 1U);
  storage::EventQuery query;
  query.type = std::string(event::kPodsAffected);
  const auto events = store_->snapshot().value()->events(query).value().items;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].record.subjects, std::vector{id_of(model_).text()});
  EXPECT_EQ(events[0].record.detail["pods"][0]["reasons"], Json::array({"ancestor-unknown"}));
}

TEST_F(PodImpactTest, PodsThatWentAreNotListed) {
  ASSERT_TRUE(store_->write([](storage::Transaction& transaction) {
    return transaction.remove_pod("kube-apiserver", "uid-1");
  }));
  EXPECT_EQ(ask_if({.revoke_keys = {publisher_.record.id}}).value()["examined"], 0);
}

TEST_F(PodImpactTest, Pages_GoOnBehindTheLastPod) {
  storage::PodRow row = pod_row().value();
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    for (const char* const uid : {"uid-2", "uid-3"}) {
      row.uid = uid;
      ASSAY_TRY(transaction.put_pod(row));
    }
    return {};
  }));
  revoke(publisher_);
  const auto first = affected_pods(*services_, {.limit = 2}, {}).value();
  ASSERT_EQ(first["items"].size(), 2U);
  ASSERT_EQ(first["next"], "kube-apiserver/uid-2");
  const auto second = affected_pods(*services_, {.after = first["next"], .limit = 2}, {}).value();
  ASSERT_EQ(second["items"].size(), 1U);
  EXPECT_EQ(second["items"][0]["uid"], "uid-3");
  EXPECT_FALSE(second.contains("next"));
}

TEST_F(PodImpactTest, PodsAreLookedAtUpToTheLimit_AndNotOnePast) {
  storage::PodRow row = pod_row().value();
  const auto add_pods = [&](std::size_t from, std::size_t to) {
    ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
      for (std::size_t i = from; i < to; ++i) {
        row.uid = "uid-" + std::to_string(10'000 + i);
        ASSAY_TRY(transaction.put_pod(row));
      }
      return {};
    }));
  };
  const auto expect = [](const Result<Json>& answer, std::size_t examined, bool more) {
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ((*answer)["examined"], examined);
    EXPECT_EQ(answer->contains("next"), more);
  };
  const Hypothesis hypothesis{.revoke_keys = {evaluator_.record.id}};
  add_pods(1, kMaxPodsExamined);
  expect(ask_if(hypothesis), kMaxPodsExamined, false);
  add_pods(kMaxPodsExamined, kMaxPodsExamined + 1);
  const auto first = ask_if(hypothesis);
  expect(first, kMaxPodsExamined, true);
  expect(ask_if(hypothesis, {.after = (*first)["next"]}), 1, false);
  const auto pods = affected_pods(*services_, {.examine = kMaxPodsExamined + 1}, {});
  expect(pods, kMaxPodsExamined, true);
  expect(affected_pods(*services_, {.after = (*pods)["next"]}, {}), 1, false);
}

TEST_F(PodImpactTest, BadQuestions_AreRefused) {
  const Hypothesis hypothesis{.revoke_nodes = {"gpu-1"}};
  EXPECT_EQ(test::refusal(ask_if(hypothesis, {.since = clock_.now()})),
            ErrorCode::kInvalidParameter);
  for (const char* const after : {"no-slash", "/uid"}) {
    EXPECT_EQ(test::refusal(ask_if(hypothesis, {.after = after})), ErrorCode::kInvalidParameter);
    EXPECT_EQ(test::refusal(affected_pods(*services_, {.after = after}, {})),
              ErrorCode::kInvalidParameter);
  }
  // One question at a time.
  {
    const auto turn = services_->impact_turn.try_take();
    EXPECT_EQ(test::refusal(ask_if(hypothesis)), ErrorCode::kBusy);
    EXPECT_EQ(test::refusal(affected_pods(*services_, {}, {})), ErrorCode::kBusy);
  }
  EXPECT_TRUE(ask_if(hypothesis));
  services_->time_is_known = [] { return false; };
  EXPECT_EQ(test::refusal(ask_if(hypothesis)), ErrorCode::kUnavailable);
}

// A pod at which the time ends is the next call's first; one that takes a whole call is counted.
TEST_F(PodImpactTest, Deadline_EndsACall_AndLosesNoPod) {
  storage::PodRow row = pod_row().value();
  row.uid = "uid-2";
  ASSERT_TRUE(
      store_->write([&](storage::Transaction& transaction) { return transaction.put_pod(row); }));
  const auto late =
      pod_impact(*services_, {.hypothesis = {.revoke_nodes = {"gpu-1"}}}, clock_.now());
  ASSERT_TRUE(late) << to_string(late.error());
  EXPECT_EQ((*late)["undecided"], (Json{{"evaluation-deadline", 1}}));
  EXPECT_EQ((*late)["examined"], 1);
  EXPECT_EQ((*late)["next"], "kube-apiserver/uid-1");
  revoke(publisher_);
  const auto none = affected_pods(*services_, {}, clock_.now());
  EXPECT_EQ((*none)["undecided"], 1);
  EXPECT_EQ((*none)["items"], Json::array());
  for (int steps = 1; steps < 60; ++steps) {
    const SteppingClock clock(clock_.now());
    Services services{*store_, *service_key_, clock, random_, "example.com/log"};
    AffectedQuery query{.key = publisher_.record.id};
    std::uint64_t examined = 0;
    std::uint64_t counted = 0;
    do {
      const auto page =
          affected_pods(services, query, clock.now() + std::chrono::milliseconds(steps));
      ASSERT_TRUE(page) << to_string(page.error());
      examined += (*page)["examined"].get<std::uint64_t>();
      counted += (*page)["items"].size() + (*page)["undecided"].get<std::uint64_t>();
      query.after = page->value("next", "");
    } while (!query.after.empty());
    EXPECT_EQ(examined, 2U) << steps;
    EXPECT_EQ(counted, 2U) << steps;
  }
}

TEST_F(PodImpactTest, Deadline_OverWhatWasMadeFromADataset_IsAnError) {
  const std::string dataset = "sha256:" + std::string(64, 'd');
  EXPECT_EQ(test::refusal(pod_impact(*services_, {.hypothesis = {.without_artifacts = {dataset}}},
                                     clock_.now())),
            ErrorCode::kEvaluationDeadline);
  EXPECT_EQ(test::refusal(affected_pods(*services_, {.artifact = dataset}, clock_.now())),
            ErrorCode::kEvaluationDeadline);
}

TEST_F(PodImpactTest, MorePodsThanARecordNames_AreCounted) {
  storage::PodRow row = pod_row().value();
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    for (std::size_t i = 1; i < kMaxPodsNamed; ++i) {
      row.uid = "more-" + std::to_string(i);
      ASSAY_TRY(transaction.put_pod(row));
    }
    return {};
  }));
  revoke(publisher_);
  storage::EventQuery query;
  query.type = std::string(event::kPodsAffected);
  for (const std::size_t pods : {kMaxPodsNamed, kMaxPodsNamed + 1}) {
    EXPECT_EQ(note_affected(*services_).value(), pods);
    const auto events = store_->snapshot().value()->events(query).value().items;
    EXPECT_EQ(events.back().record.detail["count"], pods);
    EXPECT_EQ(events.back().record.detail["pods"].size(), kMaxPodsNamed);
    row.uid = "one-more";
    ASSERT_TRUE(
        store_->write([&](storage::Transaction& transaction) { return transaction.put_pod(row); }));
  }
}

TEST_F(PodImpactTest, PodsAreNotedUpToTheLimit_AndNotOnePast) {
  storage::PodRow row = pod_row().value();
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    for (const char* const uid : {"uid-2", "uid-3"}) {
      row.uid = uid;
      ASSAY_TRY(transaction.put_pod(row));
    }
    return {};
  }));
  revoke(publisher_);
  storage::EventQuery query;
  query.type = std::string(event::kPodsAffected);
  const auto newest = [&] {
    return store_->snapshot().value()->events(query).value().items.back().record.detail;
  };
  EXPECT_EQ(note_affected(*services_, 3).value(), 3U);
  EXPECT_EQ(newest()["examined"], 3);
  EXPECT_EQ(newest()["complete"], true);
  EXPECT_EQ(note_affected(*services_, 2).value(), 2U);
  EXPECT_EQ(newest()["examined"], 2);
  EXPECT_EQ(newest()["complete"], false);
}

}  // namespace
}  // namespace assay::server
