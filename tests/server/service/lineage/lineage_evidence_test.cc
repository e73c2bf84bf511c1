// SPDX-License-Identifier: Apache-2.0
// Decisions on the hardware on which each step of a lineage ran: evidence that comes, is refused,
// grows stale, is appraised again, and comes while a decision is being made.
#include "server/service/lineage/closure.h"
#include "tests/server/service/hooked_store.h"
#include "tests/server/service/stage_fixture.h"

namespace assay::server::test {
namespace {

using Codes = std::vector<Reason>;

class LineageEvidence : public StageTest {
 protected:
  std::shared_ptr<const LineageFacts> closure() {
    return lineage_facts(*services_, *store_->snapshot().value(), id_of(trained_)).value().facts;
  }
  // Decides; `happens` runs before the first write. Returns the number of writes, too.
  std::pair<Codes, int> reasons_while(const std::function<void()>& happens) {
    int writes = 0;
    StoreWithHook store(*store_, [&] {
      if (writes++ < 1) {
        happens();
      }
    });
    Services services{store, *service_key_, clock_, random_, "example.com/log"};
    const auto answer = decide(services, request());
    EXPECT_TRUE(answer) << to_string(answer.error());
    return {answer ? answer->decision->verdict.reasons : Codes(), writes};
  }
};

TEST_F(LineageEvidence, OfATraining_DecidesAboutTheModel_AndReplays) {
  const StatementId id = train();
  require_attested_training();
  const Decision before = decide_now();
  EXPECT_EQ(before.verdict.reasons, Codes{Reason::kStageEvidenceMissing});
  ASSERT_TRUE(attest(id));
  const Decision with = decide_now();
  EXPECT_EQ(with.verdict.reasons, Codes()) << to_json(with.verdict).dump();
  Appraisal changed = simulator_appraisal();
  changed.stage = "train";
  changed.policy["reference_values"]["mrtd"] = {std::string(96, '8')};
  put_appraisal(changed);
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceStale}) << "at once";
  appraise_again();
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceRejected}) << "of now";
  require_attested_training({{"appraised", "then"}});
  EXPECT_EQ(reasons(), Codes());
  reopen();
  for (const Decision& decision : {before, with}) {
    const auto again = replay(*services_, decision.id);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_TRUE(again->reproduced);
  }
}

TEST_F(LineageEvidence, UnderAForeignAnchor_IsDenied) {
  ASSERT_TRUE(attest(train()));
  require_lineage(
      {{"edges",
        {{{"stage", "train"}, {"signers", {{"at_least", 1}}}, {"evidence", Json::object()}}}}});
  EXPECT_EQ(reasons(), Codes{Reason::kStageAnchorNotAccepted});
}

// The closure is kept until the evidence of one of its own steps changes.
TEST_F(LineageEvidence, ClosureNoticesEvidenceOfItsStepsAlone) {
  const StatementId id = train();
  const Manifest other = manifest("other", "acme/other");
  const StatementId elsewhere = state("train", other, {}, trainer_);
  const auto bare = closure();
  ASSERT_TRUE(attest(elsewhere));
  EXPECT_EQ(closure(), bare) << "of another model";
  ASSERT_TRUE(attest(id));
  const auto with = closure();
  EXPECT_NE(with, bare);
  EXPECT_NE(with->head.id, bare->head.id);
  EXPECT_EQ(closure(), with);
  const auto numbered = [](attestation::tdx::SimulationSpec& spec) {
    spec.tcb_info["tcbEvaluationDataNumber"] = 99;
    spec.qe_identity["tcbEvaluationDataNumber"] = 99;
  };
  ASSERT_TRUE(attest(state("train", other, {}, trainer_, "again"), numbered));
  const auto stale = closure();
  EXPECT_NE(stale, with) << "newer collateral makes it stale at once";
  const auto& statements = stale->lineage->statements();
  EXPECT_TRUE(std::ranges::any_of(statements, [](const auto& one) {
    return !one->fact.evidence.empty() && !one->fact.evidence[0].current;
  }));
  appraise_again();
  EXPECT_NE(closure()->head.id, stale->head.id);
}

// A lineage that is made from statements kept in memory is the one that a service reads which knows
// nothing yet, whatever happened in between.
TEST_F(LineageEvidence, KeptStatementsAreThoseOfTheStore) {
  const TestKey helper = make_key(KeyPurpose::kSigner, "hugo", {role("train")});
  const Manifest raw = manifest("raw", "acme/raw");
  const auto head = [&](Services& services, const Manifest& of) {
    const auto snapshot = store_->snapshot().value();
    return lineage_facts(services, *snapshot, id_of(of)).value().facts->head.id;
  };
  const auto expect_same = [&](const char* after) {
    Services fresh{*store_, *service_key_, clock_, random_, "example.com/log"};
    for (const Manifest& of : {trained_, corpus_}) {
      EXPECT_EQ(head(*services_, of), head(fresh, of)) << after;
    }
  };
  expect_same("nothing");
  const StatementId first = train();
  expect_same("a training");
  ASSERT_TRUE(attest(first));
  expect_same("evidence");
  state("collect", raw, {}, curator_);
  state("train", corpus_, {raw}, trainer_);
  expect_same("a new ancestor");
  ASSERT_TRUE(change_trust({AddKey{helper.record}}));
  ASSERT_TRUE(accept_attestation(
      *services_,
      statement_envelope(lifecycle("train", trained_, {corpus_}, "first", std::nullopt), {&helper}),
      actor_));
  expect_same("a further signature");
  state("train", manifest("other", "acme/other"), {}, trainer_);
  expect_same("a statement about something else");
  Appraisal changed = simulator_appraisal();
  changed.stage = "train";
  changed.policy["reference_values"]["mrtd"] = {std::string(96, '8')};
  put_appraisal(changed);
  expect_same("another appraisal");
  appraise_again();
  expect_same("evidence was appraised again");
  ASSERT_TRUE(change_trust({RevokeKey{helper.record.id, "stolen"}}));
  expect_same("a revocation");
}

TEST_F(LineageEvidence, ThatComesMeanwhile_IsNotMissed) {
  const StatementId id = train();
  require_attested_training();
  const auto [reasons, writes] = reasons_while([&] { ASSERT_TRUE(attest(id)); });
  EXPECT_EQ(reasons, Codes());
  EXPECT_EQ(writes, 2);
}

TEST_F(LineageEvidence, OfSomethingElse_IsOneAttempt) {
  ASSERT_TRUE(attest(train()));
  const StatementId elsewhere = state("train", manifest("other", "acme/other"), {}, trainer_);
  require_attested_training();
  const auto [reasons, writes] = reasons_while([&] { ASSERT_TRUE(attest(elsewhere)); });
  EXPECT_EQ(reasons, Codes());
  EXPECT_EQ(writes, 1);
}

TEST_F(LineageEvidence, OfARevokedKey_IsNone) {
  ASSERT_TRUE(attest(train()));
  require_attested_training();
  EXPECT_EQ(reasons(), Codes());
  ASSERT_TRUE(change_trust({RevokeKey{trainer_.record.id, "stolen"}}));
  EXPECT_EQ(reasons(), Codes{Reason::kAncestorUnknown});
}

}  // namespace
}  // namespace assay::server::test
