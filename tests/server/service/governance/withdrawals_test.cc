// SPDX-License-Identifier: Apache-2.0
// Who can withdraw a statement, and what comes of it.
#include "server/service/governance/withdrawals.h"

#include <algorithm>

#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/placement.h"
#include "server/service/documents/accept.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class Withdrawals : public ServiceTest {
 protected:
  Withdrawals() {
    store_good_model(model_);
    put_policy_in_force();
    remember();
  }

  // The statements about the model, by their stage; "manifest" and "placement".
  void remember() {
    storage::StatementQuery query;
    query.subject = id_of(model_).text();
    const auto page = store_->snapshot().value()->statements(query);
    ASSERT_TRUE(page) << to_string(page.error());
    for (const storage::StatementRow& row : page->items) {
      std::string what = row.stage.empty() ? "placement" : row.stage;
      what = row.kind == storage::StatementKind::kManifest ? "manifest" : what;
      rows_.insert_or_assign(what, row);
    }
  }
  Bytes signed_withdrawal(const Withdrawal& withdrawal,
                          std::initializer_list<const TestKey*> keys) {
    return envelope(kWithdrawalPayloadType, canonical_json(to_json(withdrawal)).value(), keys);
  }
  Result<WithdrawalAccepted> withdraw(const StatementId& id,
                                      std::initializer_list<const TestKey*> keys,
                                      std::optional<Timestamp> since = {}) {
    return accept_withdrawal(
        *services_, signed_withdrawal({id, "incorrect", "a wrong run", since}, keys), actor_);
  }
  StatementId id(const std::string& what) { return rows_.at(what).id; }
  Decision decided() {
    DecisionRequest request{.point = DecisionPoint::kCreate,
                            .models = {"acme/demo@" + id_of(model_).text()},
                            .workload = {"inference", {}, {"nvidia.com/gpu"}},
                            .context = Json::object(),
                            .principal = "kube-apiserver"};
    const auto answer = decide(*services_, request);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }
  bool allowed() { return decided().verdict.allowed; }
  bool denied_as_withdrawn() {
    const Decision decision = decided();
    const auto& reasons = decision.verdict.reasons;
    return !decision.verdict.allowed &&
           std::find(reasons.begin(), reasons.end(), Reason::kStatementWithdrawn) != reasons.end();
  }
  void trust(TrustOperation operation) {
    const auto epochs = store_->snapshot().value()->epochs().value();
    const auto applied = apply_trust_change(
        *services_,
        trust_change(epochs.trust.trust + 1, {std::move(operation)}, {&operator1_, &operator2_}),
        actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }

  Manifest model_ = manifest("m");
  std::map<std::string, storage::StatementRow> rows_;
};

TEST_F(Withdrawals, SignerWithdrawsAStatement_AndTheNextDecisionDenies) {
  ASSERT_TRUE(allowed());
  const auto before = store_->snapshot().value()->epochs().value();
  const auto accepted = withdraw(id("evaluate"), {&evaluator_});
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_TRUE(accepted->created);
  EXPECT_EQ(accepted->withdrawn.by, (std::vector<std::string>{"eva"}));
  EXPECT_EQ(accepted->withdrawn.since, accepted->withdrawn.at);
  EXPECT_FALSE(accepted->receipt.is_null());
  EXPECT_TRUE(denied_as_withdrawn());
  const auto after = store_->snapshot().value()->epochs().value();
  EXPECT_EQ(after.trust.revocation, before.trust.revocation + 1);
  EXPECT_EQ(after.trust.trust, before.trust.trust) << "no signed change of trust becomes useless";
  reopen();
  EXPECT_TRUE(denied_as_withdrawn()) << "also after a restart";
}

TEST_F(Withdrawals, DecisionWithAWithdrawal_ReplaysAsItWasMade) {
  const Decision before = decided();
  ASSERT_TRUE(withdraw(id("evaluate"), {&evaluator_}));
  const Decision after = decided();
  for (const Decision& one : {before, after}) {
    const auto again = replay(*services_, one.id);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_TRUE(again->reproduced);
    EXPECT_EQ(again->verdict.allowed, one.verdict.allowed);
  }
  EXPECT_NE(before.verdict.allowed, after.verdict.allowed);
}

TEST_F(Withdrawals, WithdrawnManifest_CountsForNothing) {
  ASSERT_TRUE(withdraw(id("manifest"), {&publisher_}));
  EXPECT_TRUE(denied_as_withdrawn());
  const auto snapshot = store_->snapshot().value();
  EXPECT_TRUE(trusted_manifests(*snapshot, id_of(model_), clock_.now())->empty());
}

TEST_F(Withdrawals, WithdrawnPlacement_GivesNoLocation) {
  const Placement placement{"acme/demo", id_of(model_), {"pvc://inference/moved"}};
  ASSERT_TRUE(accept_attestation(
      *services_, statement_envelope(to_statement(placement).value(), {&publisher_}), actor_));
  remember();
  EXPECT_EQ(trusted_placements(*store_->snapshot().value(), id_of(model_), clock_.now())->size(),
            1U);
  ASSERT_TRUE(withdraw(id("placement"), {&publisher_}));
  EXPECT_TRUE(
      trusted_placements(*store_->snapshot().value(), id_of(model_), clock_.now())->empty());
  EXPECT_TRUE(allowed()) << "the manifest itself still counts";
}

TEST_F(Withdrawals, NobodyElse_WithdrawsAStatement) {
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&publisher_})), ErrorCode::kRoleNotGranted);
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&approver_a_})), ErrorCode::kRoleNotGranted);
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&operator1_})), ErrorCode::kRoleNotGranted);
  EXPECT_EQ(refusal(withdraw(id("manifest"), {&evaluator_})), ErrorCode::kRoleNotGranted);
  const TestKey unknown = make_key(KeyPurpose::kSigner, "eva", {role("evaluate")});
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&unknown})), ErrorCode::kUntrustedSigner);
  EXPECT_TRUE(allowed());
}

// Anybody may add a signature to what is stored. Whoever came first or later takes back his own:
// what somebody else said stays said.
TEST_F(Withdrawals, OneOfTwoSigners_WithdrawsForHimselfAlone) {
  const TestKey late = make_key(KeyPurpose::kSigner, "late", {role("evaluate")});
  trust(AddKey{late.record});
  const auto row = rows_.at("evaluate");
  const auto stored = store_->snapshot().value()->document(row.envelopes.front()).value();
  const auto parsed = attestation::parse_envelope(stored.bytes).value();
  const auto added = accept_attestation(
      *services_, envelope(parsed.payload_type, as_text(parsed.payload), {&late}), actor_);
  ASSERT_TRUE(added) << to_string(added.error());
  ASSERT_EQ(added->row.signers.size(), 2U);
  ASSERT_TRUE(withdraw(row.id, {&late}));
  EXPECT_TRUE(allowed());
  EXPECT_EQ(refusal(withdraw(row.id, {&late}, clock_.now())), ErrorCode::kConflict);
  const auto both = withdraw(row.id, {&evaluator_});
  ASSERT_TRUE(both) << to_string(both.error());
  EXPECT_EQ(both->withdrawn.by, (std::vector<std::string>{"eva", "late"}));
  EXPECT_TRUE(denied_as_withdrawn());
  reopen();
  EXPECT_TRUE(denied_as_withdrawn());
}

// Whoever may evaluate can add a signature to what eva withdrew, and withdraw that: her words and
// her time stay.
TEST_F(Withdrawals, LaterWithdrawal_ChangesNoWordsOfTheFirst) {
  const TestKey late = make_key(KeyPurpose::kSigner, "late", {role("evaluate")});
  trust(AddKey{late.record});
  const auto row = rows_.at("evaluate");
  const Timestamp known = clock_.now() - std::chrono::hours(24);
  const Withdrawal first{row.id, "data-withdrawn", "stolen data", known};
  ASSERT_TRUE(accept_withdrawal(*services_, signed_withdrawal(first, {&evaluator_}), actor_));
  const auto stored = store_->snapshot().value()->document(row.envelopes.front()).value();
  const auto parsed = attestation::parse_envelope(stored.bytes).value();
  ASSERT_TRUE(accept_attestation(
      *services_, envelope(parsed.payload_type, as_text(parsed.payload), {&late}), actor_));
  const Withdrawal second{row.id, "superseded", "nothing to see", {}};
  const auto both = accept_withdrawal(*services_, signed_withdrawal(second, {&late}), actor_);
  ASSERT_TRUE(both) << to_string(both.error());
  EXPECT_EQ(both->withdrawn.by, (std::vector<std::string>{"eva", "late"}));
  EXPECT_EQ(both->withdrawn.reason, "data-withdrawn");
  EXPECT_EQ(both->withdrawn.text, "stolen data");
  EXPECT_EQ(both->withdrawn.since, known);
  // The record says what the second one said, and nothing in the name of eva.
  storage::EventQuery query;
  query.type = event::kStatementWithdrawn;
  query.subject = row.id.text();
  const LogRecord record = store_->snapshot().value()->events(query)->items.back().record;
  EXPECT_EQ(record.detail["by"], (Json{"late"}));
  EXPECT_EQ(record.detail["reason"], "superseded");
  trust(WithdrawStatement{{row.id, "other", "for everybody", {}}});
  const auto whole = store_->snapshot().value()->withdrawal(row.id).value();
  EXPECT_EQ(whole->text, "for everybody");
  EXPECT_EQ(whole->since, known);
}

TEST_F(Withdrawals, FirstOfTwoSigners_TakesNothingFromTheOther) {
  const TestKey late = make_key(KeyPurpose::kSigner, "late", {role("evaluate")});
  trust(AddKey{late.record});
  const auto row = rows_.at("evaluate");
  const auto stored = store_->snapshot().value()->document(row.envelopes.front()).value();
  const auto parsed = attestation::parse_envelope(stored.bytes).value();
  ASSERT_TRUE(accept_attestation(
      *services_, envelope(parsed.payload_type, as_text(parsed.payload), {&late}), actor_));
  ASSERT_TRUE(withdraw(row.id, {&evaluator_}));
  EXPECT_TRUE(allowed());
  const Decision before = decided();
  trust(WithdrawStatement{{row.id, "other", "for everybody", {}}});
  EXPECT_TRUE(denied_as_withdrawn());
  const auto again = replay(*services_, before.id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
  EXPECT_TRUE(again->verdict.allowed);
}

TEST_F(Withdrawals, RevokedKey_WithdrawsNothing_ButAnotherOfItsHolderDoes) {
  const TestKey second = make_key(KeyPurpose::kSigner, "eva", {role("evaluate")});
  trust(AddKey{second.record});
  trust(RevokeKey{evaluator_.record.id, "lost"});
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&evaluator_})), ErrorCode::kKeyRevoked);
  EXPECT_TRUE(withdraw(id("evaluate"), {&second}));
}

TEST_F(Withdrawals, KeyWithoutTheRole_WithdrawsNothing) {
  const TestKey other = make_key(KeyPurpose::kSigner, "eva", {role("approve")});
  trust(AddKey{other.record});
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&other})), ErrorCode::kRoleNotGranted);
}

TEST_F(Withdrawals, TimeInTheFuture_IsRefused_InThePastItIsKept) {
  const Timestamp now = clock_.now();
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&evaluator_}, now + std::chrono::hours(1))),
            ErrorCode::kInvalidParameter);
  EXPECT_TRUE(allowed());
  const auto accepted = withdraw(id("evaluate"), {&evaluator_}, now - std::chrono::hours(1));
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_EQ(accepted->withdrawn.since, now - std::chrono::hours(1));
  EXPECT_TRUE(denied_as_withdrawn());
}

TEST_F(Withdrawals, TheSameAgain_IsTheSame_AnotherIsAConflict) {
  const Withdrawal withdrawal{id("evaluate"), "incorrect", "a wrong run", {}};
  const Bytes bytes = signed_withdrawal(withdrawal, {&evaluator_});
  ASSERT_TRUE(accept_withdrawal(*services_, bytes, actor_)->created);
  const TreeSize size = log_size();
  const auto again = accept_withdrawal(*services_, bytes, actor_);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(log_size(), size);
  EXPECT_EQ(refusal(withdraw(id("evaluate"), {&evaluator_}, clock_.now())), ErrorCode::kConflict);
}

TEST_F(Withdrawals, UnknownStatementsAndPolicies_AreRefused) {
  EXPECT_EQ(refusal(withdraw(StatementId(sha256(as_bytes("x"))), {&evaluator_})),
            ErrorCode::kNotFound);
  const auto policies = store_->snapshot().value()->active_policies().value();
  EXPECT_FALSE(withdraw(policies.front().id, {&author_}));
  EXPECT_EQ(refusal(accept_withdrawal(*services_, signed_manifest(model_), actor_)),
            ErrorCode::kPayloadTypeUnknown);
}

TEST_F(Withdrawals, TwoOperators_WithdrawWhatTheyDidNotSign) {
  ASSERT_TRUE(allowed());
  trust(WithdrawStatement{{id("evaluate"), "data-withdrawn", "no licence", {}}});
  EXPECT_TRUE(denied_as_withdrawn());
  const auto withdrawn = store_->snapshot().value()->withdrawal(id("evaluate")).value();
  ASSERT_TRUE(withdrawn);
  EXPECT_TRUE(withdrawn->by_operators);
  EXPECT_EQ(withdrawn->by, (std::vector<std::string>{"olga", "omar"}));
  const auto epochs = store_->snapshot().value()->epochs().value();
  const auto alone =
      apply_trust_change(*services_,
                         trust_change(epochs.trust.trust + 1,
                                      {WithdrawStatement{{id("manifest"), "other", "alone", {}}}},
                                      {&operator1_, &operator1_second_}),
                         actor_);
  EXPECT_EQ(refusal(alone), ErrorCode::kThresholdNotMet);
  const auto twice =
      apply_trust_change(*services_,
                         trust_change(epochs.trust.trust + 1,
                                      {WithdrawStatement{{id("evaluate"), "other", "twice", {}}}},
                                      {&operator1_, &operator2_}),
                         actor_);
  EXPECT_EQ(refusal(twice), ErrorCode::kConflict);
}

TEST_F(Withdrawals, OneSigner_WithdrawsUpToTheLimitAndNotOnePast) {
  const auto withdraw_many = [&](std::size_t count) {
    return store_->write([&](storage::Transaction& transaction) -> Status {
      for (std::size_t i = 0; i < count; ++i) {
        const StatementId other(sha256(as_bytes("other" + std::to_string(i))));
        storage::StatementRow row = rows_.at("approve");
        row.id = other;
        LogRecord record{.type = std::string(event::kAttestationAccepted),
                         .time = transaction.now(),
                         .actor = "t",
                         .subjects = {},
                         .documents = {},
                         .detail = Json::object()};
        ASSAY_ASSIGN(row.log_index, transaction.append(std::move(record)));
        ASSAY_TRY(transaction.put_statement(row));
        ASSAY_TRY(put_withdrawal(transaction, {other, "other", "many", {}}, {"eva"}, false));
      }
      LogRecord last{.type = std::string(event::kStatementWithdrawn),
                     .time = transaction.now(),
                     .actor = "t",
                     .subjects = {},
                     .documents = {},
                     .detail = Json::object()};
      ASSAY_TRY(transaction.append(std::move(last)));
      return {};
    });
  };
  ASSERT_TRUE(withdraw_many(kMaxWithdrawalsPerSigner - 1));
  ASSERT_TRUE(withdraw(id("evaluate"), {&evaluator_}));
  Manifest other = manifest("other");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(other), actor_));
  const auto one_more = accept_attestation(*services_, evaluation(other, 0.95), actor_);
  ASSERT_TRUE(one_more) << to_string(one_more.error());
  EXPECT_EQ(refusal(withdraw(one_more->row.id, {&evaluator_})), ErrorCode::kSignerLimitExceeded);
  EXPECT_TRUE(withdraw(id("manifest"), {&publisher_})) << "others go on";
}

TEST_F(Withdrawals, Record_IsALinkOfTheChainOfTrust) {
  const auto accepted = withdraw(id("evaluate"), {&evaluator_});
  ASSERT_TRUE(accepted);
  storage::EventQuery query;
  query.type = event::kStatementWithdrawn;
  query.subject = id("evaluate").text();
  const auto events = store_->snapshot().value()->events(query);
  ASSERT_EQ(events->items.size(), 1U);
  const LogRecord& record = events->items.front().record;
  EXPECT_EQ(record.detail["reason"], "incorrect");
  EXPECT_EQ(record.detail["by"], (Json{"eva"}));
  EXPECT_TRUE(record.detail.contains("chain"));
  EXPECT_EQ(record.documents.size(), 1U);
}

}  // namespace
}  // namespace assay::server::test
