// SPDX-License-Identifier: Apache-2.0
// Reference sets: signed, approved and in force like policies; part of every case that uses them.
#include "server/service/reference_sets.h"

#include <gtest/gtest.h>

#include "schemas/lifecycle.h"
#include "server/service/decisions/decide.h"
#include "server/service/governance/policies.h"
#include "server/service/impact/decision_impact.h"
#include "server/service/impact/pod_impact.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

using Action = PolicyApproval::Action;

class ReferenceSetsTest : public ServiceTest {
 protected:
  ReferenceSetsTest() { store_good_model(model_); }

  static Json set_of(std::uint64_t version, const Json& values,
                     const std::string& kind = "identities") {
    return {{"name", "managers"}, {"version", version}, {"kind", kind}, {"values", values}};
  }
  // The story's policy, approved by two of set:managers.
  Bytes policy_with_set(std::uint64_t version = 1) {
    Json document = parse_json(attestation::parse_envelope(policy(version))->payload).value();
    document["require"][2]["statement"]["signers"]["identities"] = {"set:managers"};
    return envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_});
  }
  Bytes signed_set(const Json& set) {
    return envelope(kReferenceSetPayloadType, canonical_json(set).value(), {&author_});
  }
  StatementId store(const Bytes& bytes) {
    const auto accepted = accept_policy(*services_, bytes, actor_);
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return accepted->row.id;
  }
  Result<PolicyInForce> apply(const StatementId& id, Action action = Action::kActivate) {
    const std::uint64_t next = store_->snapshot().value()->epochs()->policy + 1;
    return apply_policy_approval(*services_, action, id,
                                 policy_approval(id, next, policy_approver_, action), actor_);
  }
  StatementId activate(const Bytes& bytes) {
    StatementId id = store(bytes);
    const auto applied = apply(id);
    EXPECT_TRUE(applied) << to_string(applied.error());
    return id;
  }
  Decision decided() {
    const DecisionRequest request{.point = DecisionPoint::kCreate,
                                  .models = {"acme/demo"},
                                  .workload = {"inference", {}, {"nvidia.com/gpu"}},
                                  .context = Json::object(),
                                  .principal = "tester"};
    const auto answer = decide(*services_, request);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }

  Manifest model_ = manifest("good");
};

TEST_F(ReferenceSetsTest, NextVersion_DecidesFromItsActivationOn) {
  activate(signed_set(set_of(1, {"anna", "ben"})));
  const auto in_force = apply(store(policy_with_set()));
  ASSERT_TRUE(in_force) << to_string(in_force.error());
  EXPECT_TRUE(decided().verdict.allowed);
  const StatementId second = activate(signed_set(set_of(2, {"anna", "carl"})));
  const Decision denied = decided();
  EXPECT_FALSE(denied.verdict.allowed);
  EXPECT_EQ(denied.verdict.reasons, std::vector{Reason::kSignersInsufficient});
  // Back to the version before.
  const auto first = attestation::statement_id(
      kReferenceSetPayloadType, as_bytes(canonical_json(set_of(1, {"anna", "ben"})).value()));
  ASSERT_TRUE(apply(first));
  EXPECT_TRUE(decided().verdict.allowed);
  EXPECT_NE(first, second);
}

TEST_F(ReferenceSetsTest, SetNeedsAnAuthorAndAnotherApprover) {
  const std::string payload = canonical_json(set_of(1, {"anna"})).value();
  const auto foreign =
      accept_policy(*services_, envelope(kReferenceSetPayloadType, payload, {&publisher_}), actor_);
  EXPECT_EQ(refusal(foreign), ErrorCode::kWrongPurpose);
  const StatementId id = store(signed_set(set_of(1, {"anna"})));
  const auto by_author = apply_policy_approval(*services_, Action::kActivate, id,
                                               policy_approval(id, 1, author_), actor_);
  EXPECT_TRUE(refusal(by_author));
  EXPECT_TRUE(store_->snapshot().value()->active_policies()->empty());
  const auto applied = apply(id);
  ASSERT_TRUE(applied) << to_string(applied.error());
  EXPECT_EQ(applied->name, "set:managers");
  // A version never changes.
  EXPECT_EQ(refusal(accept_policy(*services_, signed_set(set_of(1, {"ben"})), actor_)),
            ErrorCode::kConflict);
}

TEST_F(ReferenceSetsTest, PolicyWithoutItsSet_DoesNotComeIntoForce) {
  const StatementId policy = store(policy_with_set());
  const auto without = apply(policy);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kConflict);
  EXPECT_EQ(without.error().where, "/require/2/statement/signers/identities/0");
  activate(signed_set(set_of(1, {"MIT"}, "licences")));
  EXPECT_EQ(refusal(apply(policy)), ErrorCode::kConflict);
  activate(signed_set(set_of(2, {"anna", "ben"})));
  EXPECT_TRUE(apply(policy));
}

TEST_F(ReferenceSetsTest, SetOfAPolicyInForce_NeitherGoesNorChangesItsKind) {
  const StatementId set = activate(signed_set(set_of(1, {"anna", "ben"})));
  const StatementId policy = activate(policy_with_set());
  EXPECT_EQ(refusal(apply(set, Action::kDeactivate)), ErrorCode::kConflict);
  EXPECT_EQ(refusal(apply(store(signed_set(set_of(2, {"MIT"}, "licences"))))),
            ErrorCode::kConflict);
  EXPECT_TRUE(decided().verdict.allowed);
  ASSERT_TRUE(apply(policy, Action::kDeactivate));
  EXPECT_TRUE(apply(set, Action::kDeactivate));
}

TEST_F(ReferenceSetsTest, Replay_UsesTheVersionOfTheDecision) {
  activate(signed_set(set_of(1, {"anna", "ben"})));
  activate(policy_with_set());
  const Decision allowed = decided();
  activate(signed_set(set_of(2, {"anna", "carl"})));
  const Decision denied = decided();
  EXPECT_NE(allowed.facts, denied.facts) << "the set is part of the case";
  reopen();
  for (const Decision* one : {&allowed, &denied}) {
    const auto again = replay(*services_, one->id);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_TRUE(again->reproduced);
    EXPECT_EQ(again->verdict.allowed, one->verdict.allowed);
  }
  EXPECT_FALSE(decided().verdict.allowed);
}

TEST_F(ReferenceSetsTest, PoliciesWithoutSets_HaveTheCaseThatTheyHad) {
  put_policy_in_force();
  const Decision before = decided();
  activate(signed_set(set_of(1, {"anna"})));
  EXPECT_EQ(decided().facts, before.facts);
}

TEST_F(ReferenceSetsTest, Impact_KnowsTheActivationOfASet) {
  activate(signed_set(set_of(1, {"anna", "ben"})));
  activate(policy_with_set());
  ASSERT_TRUE(decided().verdict.allowed);
  const auto ask = [&](const Json& set) {
    ImpactRequest request;
    request.hypothesis.sets = {parse_reference_set(as_bytes(set.dump())).value()};
    const auto answer = decision_impact(*services_, request, {});
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer.value_or(Json());
  };
  const Json stricter = ask(set_of(2, {"anna", "carl"}));
  EXPECT_EQ(stricter["denied"], 1);
  EXPECT_EQ(stricter["why"][0]["code"], "signers-insufficient");
  EXPECT_EQ(ask(set_of(2, {"anna", "ben", "carl"}))["denied"], 0);
  EXPECT_EQ(ask(set_of(2, {"MIT"}, "licences"))["why"][0]["code"], "reference-set-mismatch");
  EXPECT_TRUE(decided().verdict.allowed) << "a question changes nothing";
}

}  // namespace
}  // namespace assay::server::test
