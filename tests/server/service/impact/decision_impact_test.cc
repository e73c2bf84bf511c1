// SPDX-License-Identifier: Apache-2.0
// Which stored decisions a hypothesis turns round.
#include "server/service/impact/decision_impact.h"

#include "schemas/log_record.h"
#include "server/service/documents/accept.h"
#include "server/service/documents/store_statement.h"
#include "server/service/governance/withdrawals.h"
#include "server/service/impact/tally.h"
#include "tests/server/service/fixture.h"
#include "tests/support/stepping_clock.h"

namespace assay::server {
namespace {

using std::chrono::hours;

class DecisionImpactTest : public test::ServiceTest {
 protected:
  DecisionImpactTest() {
    store_good_model(model_);
    put_policy_in_force();
  }
  Decision decide_now(const std::map<std::string, std::string>& labels = {}) {
    const DecisionRequest request{.point = DecisionPoint::kCreate,
                                  .models = {"acme/demo"},
                                  .workload = {"inference", labels, {"nvidia.com/gpu"}},
                                  .context = context_,
                                  .principal = "tester"};
    return *decide(*services_, request)->decision;
  }
  Json story() { return parse_json(payload_of(policy())).value(); }
  static Bytes payload_of(const Bytes& envelope) {
    return attestation::parse_envelope(envelope)->payload;
  }
  static PolicyDocument policy_of(const Json& document) {
    return parse_policy(as_bytes(document.dump())).value();
  }
  // The story's policy with this accuracy.
  PolicyDocument with_accuracy(double accuracy) {
    Json document = story();
    document["version"] = 2;
    for (Json& condition : document["require"]) {
      if (condition.contains("statement") && condition["statement"].contains("where")) {
        condition["statement"]["where"][0]["value"] = accuracy;
      }
    }
    return policy_of(document);
  }
  Json ask_if(const Hypothesis& hypothesis, ImpactRequest request = {}) {
    request.hypothesis = hypothesis;
    const auto answer = decision_impact(*services_, request, {});
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer.value_or(Json());
  }

  Manifest model_ = manifest("good");
  Json context_ = Json::object();
};

TEST_F(DecisionImpactTest, StricterPolicy_SaysWhichAndWhy) {
  const Decision decided = decide_now();
  ASSERT_TRUE(decided.verdict.allowed);
  const TreeSize before = log_size();
  const Json answer = ask_if({.activate = {with_accuracy(0.999)}});
  EXPECT_EQ(answer["examined"], 1);
  EXPECT_EQ(answer["denied"], 1);
  ASSERT_EQ(answer["items"].size(), 1U);
  EXPECT_EQ(answer["items"][0]["id"], decided.id);
  EXPECT_EQ(answer["items"][0]["before"]["verdict"], "allow");
  EXPECT_EQ(answer["items"][0]["after"]["reasons"], Json::array({"predicate-mismatch"}));
  ASSERT_EQ(answer["why"].size(), 1U);
  EXPECT_EQ(answer["why"][0]["code"], "predicate-mismatch");
  EXPECT_EQ(answer["why"][0]["policy"], "gpu-models");
  EXPECT_EQ(answer["why"][0]["version"], 2);
  EXPECT_EQ(answer["models"], Json::array({id_of(model_).text()}));
  EXPECT_EQ(log_size(), before) << "a question writes nothing";
  EXPECT_EQ(ask_if({.activate = {with_accuracy(0.5)}})["denied"], 0);
}

TEST_F(DecisionImpactTest, DenialsThatWouldBeAllowed_AreCounted) {
  Manifest unknown = manifest("unknown", "acme/unknown");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(unknown), actor_));
  const DecisionRequest request{.point = DecisionPoint::kCreate,
                                .models = {"acme/unknown"},
                                .workload = {"inference", {}, {"nvidia.com/gpu"}},
                                .context = Json::object(),
                                .principal = "tester"};
  ASSERT_FALSE(decide(*services_, request)->decision->verdict.allowed);
  Json lenient = story();
  lenient["version"] = 2;
  lenient["require"] = {{{"id", "published"}, {"manifest", Json::object()}}};
  const Json answer = ask_if({.activate = {policy_of(lenient)}});
  EXPECT_EQ(answer["allowed"], 1);
  EXPECT_EQ(answer["items"][0]["after"]["verdict"], "allow");
  // Denied for one more reason is no other answer.
  Json strict = story();
  strict["version"] = 2;
  strict["require"].push_back({{"id", "long"}, {"parameters", {{"hash", {"sha384"}}}}});
  const Json more = ask_if({.activate = {policy_of(strict)}});
  EXPECT_EQ(more["other_reasons"], 1);
  EXPECT_EQ(more["items"], Json::array());
}

TEST(ImpactTally, NamesBeyondTheLimit_AreCounted) {
  Tally tally(0);
  const auto number = [](std::size_t i) { return std::to_string(1'000'000 + i); };
  const auto name = [&](std::size_t i) {
    const Answer denied{true, false, {"key-revoked"}, {{number(i), 1, "published", "key-revoked"}}};
    tally.note({true, true}, denied, Json::object());
    tally.name_node("node-" + number(i));
    tally.name_model("model-" + number(i));
  };
  for (std::size_t i = 0; i < kMaxNamed; ++i) {
    name(i);
  }
  name(0);
  const Json all = tally.to_json();
  for (const char* const member : {"why", "nodes", "models"}) {
    EXPECT_EQ(all[member].size(), kMaxNamed);
    EXPECT_EQ(all[std::string(member) + "_left_out"], 0);
  }
  EXPECT_EQ(all["why"][0]["count"], 2);
  for (std::size_t i = 0; i < 3; ++i) {
    name(kMaxNamed + i);
  }
  const Json beyond = tally.to_json();
  for (const char* const member : {"why", "nodes", "models"}) {
    EXPECT_EQ(beyond[member], all[member]);
    EXPECT_EQ(beyond[std::string(member) + "_left_out"], 3);
  }
}

TEST_F(DecisionImpactTest, KeysAndStatements) {
  (void)decide_now();
  EXPECT_EQ(ask_if({.revoke_keys = {approver_a_.record.id}})["denied"], 1);
  EXPECT_EQ(ask_if({.revoke_keys = {operator1_.record.id}})["denied"], 0);
  EXPECT_EQ(ask_if({.without_artifacts = {id_of(model_).text()}})["denied"], 1);
}

// One of two signers withdrew an evaluation, so it still stands; what if nobody stood by it?
TEST_F(DecisionImpactTest, WhatOneSignerWithdrew_CanBeSupposedWithdrawnForAll) {
  const test::TestKey late = make_key(KeyPurpose::kSigner, "late", {role("evaluate")});
  const auto epochs = store_->snapshot().value()->epochs().value();
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(epochs.trust.trust + 1, {AddKey{late.record}}, {&operator1_, &operator2_}),
      actor_));
  storage::StatementQuery query;
  query.subject = id_of(model_).text();
  query.stage = "evaluate";
  const auto row = store_->snapshot().value()->statements(query)->items.front();
  const Bytes stored = store_->snapshot().value()->document(row.envelopes.front()).value().bytes;
  ASSERT_TRUE(accept_attestation(
      *services_, envelope(kStatementPayloadType, as_text(payload_of(stored)), {&late}), actor_));
  const std::string payload =
      canonical_json(to_json(Withdrawal{row.id, "incorrect", "a wrong run", {}})).value();
  ASSERT_TRUE(accept_withdrawal(*services_,
                                envelope(kWithdrawalPayloadType, payload, {&evaluator_}), actor_));
  ASSERT_TRUE(decide_now().verdict.allowed);
  const Json answer = ask_if({.withdraw_statements = {row.id}});
  EXPECT_EQ(answer["denied"], 1) << answer.dump(1);
}

// Decisions of one case are judged together, and still each at its own time.
TEST_F(DecisionImpactTest, AgesEndWhereTheyEnd) {
  std::vector<Decision> decisions;
  for (int i = 0; i < 20; ++i) {
    decisions.push_back(decide_now());
    clock_.advance(std::chrono::minutes(10));
  }
  EXPECT_EQ(decisions.front().facts, decisions.back().facts) << "one case";
  const Json same = ask_if({.activate = {with_accuracy(0.5)}});
  EXPECT_EQ(same["examined"], 20);
  EXPECT_EQ(same["cases"], 1) << "one answer holds at all times";
  Json aging = story();
  aging["version"] = 2;
  for (Json& condition : aging["require"]) {
    if (condition.contains("statement")) {
      condition["statement"]["max_age_seconds"] = 3600;
    }
  }
  const Json answer = ask_if({.activate = {policy_of(aging)}}, {.limit = 1000});
  EXPECT_EQ(answer["denied"], 13);  // those later than an hour after the statements
  ASSERT_EQ(answer["items"].size(), 13U);
  EXPECT_EQ(answer["items"][0]["id"], decisions[7].id);
  EXPECT_EQ(answer["left_out"], 0);
  EXPECT_LT(answer["cases"], 15);
  const Json few = ask_if({.activate = {policy_of(aging)}}, {.limit = 2});
  EXPECT_EQ(few["items"].size(), 2U);
  EXPECT_EQ(few["left_out"], 11);
  EXPECT_EQ(few["denied"], 13);
}

// A case leaves out what no policy read.
TEST_F(DecisionImpactTest, WhatTheCaseLeavesOut_IsUndecided_NeverNoChange) {
  (void)decide_now({{"team", "a"}});
  Json labelled = story();
  labelled["name"] = "team-a";
  labelled["match"]["labels"] = {{"team", "a"}};
  labelled["require"] = {{{"id", "long"}, {"parameters", {{"hash", {"sha384"}}}}}};
  Json answer = ask_if({.activate = {policy_of(labelled)}});
  EXPECT_EQ(answer["undecided"], (Json{{"case-incomplete", 1}}));
  EXPECT_EQ(answer["examined"], 1);
  EXPECT_EQ(answer["denied"], 0);
  // It cannot be about this workload, whatever its labels.
  labelled["match"]["namespaces"] = {"elsewhere"};
  answer = ask_if({.activate = {policy_of(labelled)}});
  EXPECT_EQ(answer["undecided"], Json::object());
  // Once a policy reads the label, the case has it.
  labelled["match"].erase("namespaces");
  const auto stored = accept_policy(
      *services_, envelope(kPolicyPayloadType, canonical_json(labelled).value(), {&author_}),
      actor_);
  ASSERT_TRUE(stored);
  ASSERT_TRUE(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, stored->row.id,
                                    policy_approval(stored->row.id, 2, policy_approver_), actor_));
  clock_.advance(hours(1));
  const Timestamp later = clock_.now();
  (void)decide_now({{"team", "b"}});
  labelled["match"]["labels"] = {{"team", "b"}};
  labelled["version"] = 2;
  answer = ask_if({.activate = {policy_of(labelled)}}, {.since = later});
  EXPECT_EQ(answer["examined"], 1);
  EXPECT_EQ(answer["undecided"], Json::object());
  EXPECT_EQ(answer["denied"], 1);
}

TEST_F(DecisionImpactTest, WithoutAPolicy_AdmissionLetsPass_AndOrchestratorsAreDenied) {
  (void)decide_now();
  const Json denied = ask_if({.deactivate = {"gpu-models"}});
  EXPECT_EQ(denied["denied"], 1);
  EXPECT_EQ(denied["items"][0]["after"]["reasons"], Json::array({"no-matching-policy"}));
  context_ = {{"via", "admission-validate"}};
  clock_.advance(hours(1));
  const Timestamp later = clock_.now();
  (void)decide_now();
  EXPECT_EQ(ask_if({.deactivate = {"gpu-models"}}, {.since = later})["denied"], 0);
}

TEST_F(DecisionImpactTest, Times_BoundWhatIsLookedAt) {
  (void)decide_now();
  clock_.advance(hours(1));
  const Timestamp middle = clock_.now();
  (void)decide_now();
  const Hypothesis strict{.activate = {with_accuracy(0.999)}};
  EXPECT_EQ(ask_if(strict)["examined"], 2);
  EXPECT_EQ(ask_if(strict, {.since = middle})["examined"], 1);
  EXPECT_EQ(ask_if(strict, {.until = middle})["examined"], 1);
}

TEST_F(DecisionImpactTest, BadQuestions_AreRefused) {
  ImpactRequest request{.hypothesis = {.revoke_nodes = {"gpu-1"}}};
  for (const char* const after : {"x", "-1", "1x", "99999999999999999999"}) {
    request.after = after;
    EXPECT_EQ(test::refusal(decision_impact(*services_, request, {})),
              ErrorCode::kInvalidParameter);
  }
  request.after.clear();
  const auto turn = services_->impact_turn.try_take();
  EXPECT_EQ(test::refusal(decision_impact(*services_, request, {})), ErrorCode::kBusy);
}

// A decision at which the time ends is the next call's first; one that takes a whole call is
// counted.
TEST_F(DecisionImpactTest, Deadline_EndsACall_AndLosesNoDecision) {
  for (const char* const name : {"inference", "prod", "inference", "batch"}) {
    const DecisionRequest request{.point = DecisionPoint::kCreate,
                                  .models = {"acme/demo"},
                                  .workload = {name, {}, {"nvidia.com/gpu"}},
                                  .context = context_,
                                  .principal = "tester"};
    ASSERT_TRUE(decide(*services_, request)->decision->verdict.allowed);
  }
  ImpactRequest request{.hypothesis = {.revoke_keys = {publisher_.record.id}}};
  const auto late = decision_impact(*services_, request, clock_.now());
  ASSERT_TRUE(late) << to_string(late.error());
  EXPECT_EQ((*late)["undecided"], (Json{{"evaluation-deadline", 1}}));
  EXPECT_EQ((*late)["examined"], 1);
  EXPECT_TRUE(late->contains("next"));
  for (int steps = 1; steps < 12; ++steps) {
    const SteppingClock clock(clock_.now());
    Services services{*store_, *service_key_, clock, random_, "example.com/log"};
    request.after.clear();
    std::uint64_t counted = 0;
    std::uint64_t undecided = 0;
    do {
      const auto page =
          decision_impact(services, request, clock.now() + std::chrono::milliseconds(steps));
      ASSERT_TRUE(page) << to_string(page.error());
      undecided += (*page)["undecided"].value("evaluation-deadline", std::uint64_t{0});
      counted += (*page)["denied"].get<std::uint64_t>();
      request.after = page->value("next", "");
    } while (!request.after.empty());
    EXPECT_EQ(counted + undecided, 4U) << steps;
    EXPECT_TRUE(steps < 8 || undecided == 0) << steps;
  }
  EXPECT_EQ(
      test::refusal(decision_impact(
          *services_, {.hypothesis = {.without_artifacts = {id_of(model_).text()}}}, clock_.now())),
      ErrorCode::kEvaluationDeadline);
}

// Never taken for unchanged, and never judged by the rules of today.
TEST_F(DecisionImpactTest, DecisionsByOtherRules_AreCountedAsUndecided) {
  Decision old = decide_now();
  const auto work = [&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const storage::Document known, transaction.document(old.facts));
    ASSAY_ASSIGN(Json file, parse_json(known.bytes));
    file["evaluator"] = kEvaluator - 1;
    ASSAY_ASSIGN(old.facts, transaction.put_document("application/json", as_bytes(file.dump())));
    old.id.back() = old.id.back() == '0' ? '1' : '0';
    const Bytes signed_once =
        envelope(kDecisionPayloadType, canonical_json(signed_form(old)).value(), {&author_});
    ASSAY_ASSIGN(const DocumentId id, transaction.put_document(kEnvelopeMediaType, signed_once));
    ASSAY_ASSIGN(const LeafIndex index,
                 transaction.append({.type = std::string(event::kDecisionMade),
                                     .time = clock_.now(),
                                     .actor = "tester",
                                     .subjects = {},
                                     .documents = {id},
                                     .detail = {{"decision_id", old.id}}}));
    return transaction.put_decision({.id = old.id,
                                     .envelope = id,
                                     .allowed = true,
                                     .point = "create",
                                     .subjects = {},
                                     .name_space = "inference",
                                     .reasons = {},
                                     .evaluated_at = old.evaluated_at,
                                     .log_index = index});
  };
  const auto stored = store_->write(work);
  ASSERT_TRUE(stored) << to_string(stored.error());
  const Json answer = ask_if({.activate = {with_accuracy(0.999)}});
  EXPECT_EQ(answer["examined"], 2);
  EXPECT_EQ(answer["denied"], 1) << "the one of today";
  EXPECT_EQ(answer["undecided"], (Json{{"case-unsupported", 1}}));
  EXPECT_EQ(test::refusal(replay(*services_, old.id)), ErrorCode::kCaseUnsupported);
}

}  // namespace
}  // namespace assay::server
