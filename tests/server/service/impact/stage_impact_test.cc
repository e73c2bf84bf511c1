// SPDX-License-Identifier: Apache-2.0
// What would be decided if hardware lost its status, a trainer's key were revoked, or something far
// up the lineage must not be used.
#include "server/service/impact/decision_impact.h"
#include "tests/server/service/stage_fixture.h"

namespace assay::server::test {
namespace {

class StageImpact : public StageTest {
 protected:
  Json ask_if(const Hypothesis& hypothesis) {
    const auto answer = decision_impact(*services_, {.hypothesis = hypothesis}, {});
    EXPECT_TRUE(answer) << to_string(answer.error());
    return *answer;
  }
  // Expects that the one decision so far would be a denial with this code.
  void expect_denied(const Hypothesis& hypothesis, std::string_view code) {
    const Json answer = ask_if(hypothesis);
    EXPECT_EQ(answer["denied"], 1) << answer.dump(1);
    ASSERT_FALSE(answer["why"].empty());
    EXPECT_EQ(answer["why"][0]["code"], code) << answer.dump(1);
  }
  void expect_no_change(const Hypothesis& hypothesis) {
    const Json answer = ask_if(hypothesis);
    EXPECT_EQ(answer["examined"], 1);
    EXPECT_EQ(answer["denied"], 0) << answer.dump(1);
    EXPECT_EQ(answer["undecided"], Json::object());
  }
  // Puts a policy in force that asks for one statement about a training.
  void require_training(const Json& evidence) {
    Json training = {{"predicate_type", std::string(kLifecyclePredicateType)},
                     {"stage", "train"},
                     {"quantifier", "any"}};
    if (!evidence.is_null()) {
      training["evidence"] = evidence;
    }
    require_statement(training);
  }
  void require_statement(const Json& condition) {
    const Json document = {{"name", "trained"},
                           {"version", 1},
                           {"mode", "enforce"},
                           {"match", {{"resources", {"nvidia.com/gpu"}}}},
                           {"require",
                            {{{"id", "published"}, {"manifest", Json::object()}},
                             {{"id", "trained"}, {"statement", condition}}}}};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    ASSERT_TRUE(
        apply_policy_approval(*services_, PolicyApproval::Action::kActivate, accepted->row.id,
                              policy_approval(accepted->row.id, 1, policy_approver_), actor_));
  }
  // Provenance of the model, as build systems make it.
  void build(const Json& dependencies) {
    const Statement provenance{
        {subject_of(trained_)},
        std::string(kSlsa),
        {{"buildDefinition",
          {{"buildType", "https://example.com/build"}, {"resolvedDependencies", dependencies}}}}};
    const auto accepted =
        accept_attestation(*services_, statement_envelope(provenance, {&builder_}), actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
  }

  static constexpr std::string_view kSlsa = "https://slsa.dev/provenance/v1";
  TestKey builder_ = make_key(KeyPurpose::kSigner, "builder", {{"*", std::string(kSlsa), "acme"}});
};

TEST_F(StageImpact, LostStatus_OfAStepOfTheLineage) {
  ASSERT_TRUE(attest(train()));
  require_attested_training();
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.tcb_status_lost = {"UpToDate"}}, "stage-evidence-rejected");
  expect_no_change({.tcb_status_lost = {"OutOfDate"}});
}

TEST_F(StageImpact, LostStatus_DoesNotChangeWhatWasFoundThen) {
  ASSERT_TRUE(attest(train()));
  require_attested_training({{"appraised", "then"}});
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_no_change({.tcb_status_lost = {"UpToDate"}});
}

TEST_F(StageImpact, LostStatus_OfAStatement) {
  ASSERT_TRUE(attest(train()));
  require_training({{"anchors", {anchor().text()}}});
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.tcb_status_lost = {"UpToDate"}}, "stage-evidence-rejected");
  expect_no_change({.tcb_status_lost = {"OutOfDate"}});
}

// The simulated platform is at the level of 2024-11-13.
TEST_F(StageImpact, LostLevel_OfAStepOfTheLineage) {
  const std::string fmspc = hex_encode(platform().platform.fmspc);
  const auto lost = [](const std::string& platform, const char* date) {
    return Hypothesis{.tcb_levels_lost = {{platform, parse_rfc3339(date).value()}}};
  };
  ASSERT_TRUE(attest(train()));
  require_attested_training();
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied(lost(fmspc, "2024-11-13T00:00:00Z"), "stage-evidence-rejected");
  expect_denied(lost(fmspc, "2025-11-13T00:00:00Z"), "stage-evidence-rejected");
  expect_no_change(lost(fmspc, "2024-11-12T23:59:59Z"));
  expect_no_change(lost("ffffffffffff", "2024-11-13T00:00:00Z"));
  expect_no_change({.reject_advisories = {"INTEL-SA-00001"}});
}

TEST_F(StageImpact, LostLevel_OfAStatement) {
  const std::string fmspc = hex_encode(platform().platform.fmspc);
  ASSERT_TRUE(attest(train()));
  require_training({{"anchors", {anchor().text()}}});
  ASSERT_EQ(reasons(), std::vector<Reason>());
  const Timestamp date = parse_rfc3339("2024-11-13T00:00:00Z").value();
  expect_denied({.tcb_levels_lost = {{fmspc, date}}}, "stage-evidence-rejected");
  expect_no_change({.tcb_levels_lost = {{fmspc, date - std::chrono::hours(24)}}});
}

TEST_F(StageImpact, RejectedAdvisory) {
  Appraisal lenient = simulator_appraisal();
  lenient.stage = "train";
  lenient.policy["accept_tcb_status"] = {"UpToDate", "SWHardeningNeeded"};
  ASSERT_TRUE(change_trust({PutAppraisal{lenient}}));
  ASSERT_TRUE(attest(train(), [](attestation::tdx::SimulationSpec& spec) {
    for (Json& level : spec.tcb_info["tcbLevels"]) {
      level["tcbStatus"] = "SWHardeningNeeded";
      level["advisoryIDs"] = {"INTEL-SA-00837"};
    }
  }));
  require_attested_training();
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.reject_advisories = {"INTEL-SA-00837"}}, "stage-evidence-rejected");
  expect_no_change({.reject_advisories = {"INTEL-SA-00838"}});
}

// The key that signed the statement is the one that evidence shows to be held.
TEST_F(StageImpact, RevokedKey_TakesItsEvidence) {
  const TestKey helper = make_key(KeyPurpose::kSigner, "hugo", {role("train")});
  ASSERT_TRUE(change_trust({AddKey{helper.record}}));
  ASSERT_TRUE(attest(train()));
  ASSERT_TRUE(accept_attestation(
      *services_,
      statement_envelope(lifecycle("train", trained_, {corpus_}, "first", std::nullopt), {&helper}),
      actor_));
  require_attested_training();
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.revoke_keys = {trainer_.record.id}}, "stage-evidence-missing");
  expect_no_change({.revoke_keys = {helper.record.id}});
}

// The policy asks for no lineage, so the case holds none: what the model was made from is found in
// the store, at any distance.
TEST_F(StageImpact, WithoutAnArtifact_FarUp) {
  const TestKey preparer = make_key(KeyPurpose::kSigner, "pat", {role("preprocess")});
  ASSERT_TRUE(change_trust({AddKey{preparer.record}}));
  const Manifest raw = manifest("raw", "acme/raw");
  state("preprocess", corpus_, {raw}, preparer);
  train();
  require_training(nullptr);
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.without_artifacts = {id_of(corpus_).text()}}, "statement-withdrawn");
  expect_denied({.without_artifacts = {id_of(raw).text()}}, "statement-withdrawn");
  expect_no_change({.without_artifacts = {id_of(manifest("unrelated")).text()}});
}

// Also what SLSA provenance calls a resolved dependency went in.
TEST_F(StageImpact, WithoutAnArtifact_ThatSlsaProvenanceNames) {
  const TestKey preparer = make_key(KeyPurpose::kSigner, "pat", {role("preprocess")});
  ASSERT_TRUE(change_trust({AddKey{preparer.record}, AddKey{builder_.record}}));
  const Manifest raw = manifest("raw", "acme/raw");
  state("preprocess", corpus_, {raw}, preparer);
  build({{{"name", "acme/corpus"}, {"digest", subject_of(corpus_).digest}}});
  require_statement({{"predicate_type", std::string(kSlsa)}, {"quantifier", "any"}});
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.without_artifacts = {id_of(corpus_).text()}}, "statement-withdrawn");
  expect_denied({.without_artifacts = {id_of(raw).text()}}, "statement-withdrawn");
  expect_no_change({.without_artifacts = {id_of(manifest("unrelated")).text()}});
}

// What cannot be read of a provenance may be anything.
TEST_F(StageImpact, WithoutAnArtifact_AndAProvenanceThatCannotBeRead) {
  ASSERT_TRUE(change_trust({AddKey{builder_.record}}));
  build("many");
  require_statement({{"predicate_type", std::string(kSlsa)}, {"quantifier", "any"}});
  ASSERT_EQ(reasons(), std::vector<Reason>());
  const Json answer = ask_if({.without_artifacts = {id_of(corpus_).text()}});
  EXPECT_EQ(answer["denied"], 0);
  EXPECT_EQ(answer["undecided"], Json({{"case-incomplete", 1}})) << answer.dump(1);
}

// The corpus may come from anything, also from what must not be used.
TEST_F(StageImpact, WithoutAnArtifact_AboveAnUnreadProvenance_IsUndecided) {
  const TestKey builder =
      make_key(KeyPurpose::kSigner, "builder", {{"*", "https://slsa.dev/provenance/v1", "acme"}});
  ASSERT_TRUE(change_trust({AddKey{builder.record}}));
  train();
  require_training(nullptr);
  ASSERT_EQ(reasons(), std::vector<Reason>());
  const Hypothesis without{.without_artifacts = {"sha256:" + std::string(64, 'd')}};
  expect_no_change(without);
  const Statement provenance{
      {subject_of(corpus_)},
      "https://slsa.dev/provenance/v1",
      {{"buildDefinition", {{"buildType", "any"}, {"resolvedDependencies", "many"}}}}};
  ASSERT_TRUE(accept_attestation(*services_, statement_envelope(provenance, {&builder}), actor_));
  EXPECT_EQ(ask_if(without)["undecided"], (Json{{"case-incomplete", 1}}));
  expect_no_change({.revoke_keys = {builder.record.id}});
  expect_denied({.without_artifacts = {id_of(corpus_).text()}}, "statement-withdrawn");
}

// An origin that the policy accepts without a word on how it came to be.
TEST_F(StageImpact, WithoutAnArtifact_ThatThePolicyAcceptsAsALeaf) {
  train();
  require_lineage({{"leaves", {id_of(corpus_).text()}}});
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.without_artifacts = {id_of(corpus_).text()}}, "ancestor-unknown");
  expect_no_change({.without_artifacts = {id_of(manifest("unrelated")).text()}});
}

// What is read and judged of a model is kept for the other cases that name it: each case keeps its
// own answer all the same.
TEST_F(StageImpact, CasesOfOneModel_AreAnsweredEachByItself) {
  ASSERT_TRUE(attest(train()));
  require_attested_training({{"max_age_seconds", 3600}});
  const auto decide_as = [&](const std::string& team) {
    DecisionRequest asked = request();
    asked.workload.name_space = team;
    const auto answer = decide(*services_, asked);
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_TRUE(answer->decision->verdict.allowed) << team;
  };
  Json stricter = Json::parse(R"({"name":"stricter","version":1,"mode":"enforce",
    "match":{"namespaces":["red"]},
    "require":[{"id":"lineage","lineage":{}}]})");
  stricter["require"][0]["lineage"]["deny"] = {{"digests", {id_of(corpus_).text()}}};
  const Hypothesis other{.activate = {parse_policy(as_bytes(stricter.dump())).value()}};
  decide_as("red");
  decide_as("blue");
  decide_as("red");
  clock_.advance(std::chrono::minutes(50));
  decide_as("green");
  const Json changed = ask_if(other);
  EXPECT_EQ(changed["examined"], 4);
  EXPECT_EQ(changed["denied"], 2) << changed.dump(1);
  const Json lost = ask_if({.tcb_status_lost = {"UpToDate"}});
  EXPECT_EQ(lost["denied"], 4) << lost.dump(1);
  EXPECT_EQ(ask_if({.tcb_status_lost = {"OutOfDate"}})["denied"], 0);
}

TEST_F(StageImpact, WithoutAnArtifact_InAKeptLineage) {
  train();
  require_lineage(Json::object());
  ASSERT_EQ(reasons(), std::vector<Reason>());
  expect_denied({.without_artifacts = {id_of(corpus_).text()}}, "ancestor-unknown");
  expect_no_change({.without_artifacts = {id_of(manifest("unrelated")).text()}});
}

}  // namespace
}  // namespace assay::server::test
