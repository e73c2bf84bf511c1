// SPDX-License-Identifier: Apache-2.0
// Stage evidence: accepted beside its statement, kept when refused, appraised again, and judged.
#include "server/service/nodes/stage_evidence.h"

#include <algorithm>

#include "attestation/dsse.h"
#include "schemas/checkpoint.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/stage_evidence.h"
#include "server/service/documents/accept.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/nodes/reappraise.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

namespace tdx = attestation::tdx;

class StageEvidenceTest : public NodeTest {
 protected:
  StageEvidenceTest() {
    Appraisal nodes = simulator_appraisal();
    nodes.policy["reference_values"]["mrtd"] = {std::string(96, '7')};  // nodes run other images
    const auto applied = change_trust({AddKey{trainer_.record}, AddKey{helper_.record},
                                       PutAppraisal{nodes}, PutAppraisal{stage_appraisal()}});
    EXPECT_TRUE(applied) << to_string(applied.error());
    EXPECT_TRUE(accept_manifest(*services_, signed_manifest(trained_), actor_));
  }

  Appraisal stage_appraisal() const {
    Appraisal appraisal = simulator_appraisal();
    appraisal.stage = "train";
    return appraisal;
  }
  // A stored training statement by the trainer; `comment` tells statements apart.
  StatementId train(const std::string& comment = "first", const std::string& checkpoint = "") {
    Lifecycle lifecycle;
    lifecycle.stage = "train";
    lifecycle.comment = comment;
    if (!checkpoint.empty()) {
      lifecycle.freshness = Json{{"checkpoint", checkpoint}};
    }
    const Statement statement = to_statement(lifecycle, {subject_of(trained_)}).value();
    const auto accepted =
        accept_attestation(*services_, statement_envelope(statement, {&trainer_}), actor_);
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return accepted->row.id;
  }
  // Evidence for the statement by the trainer; signed by `by`.
  StageEvidence evidence(const StatementId& statement,
                         const Change<tdx::SimulationSpec>& change = {}) {
    return {statement, trainer_.record.id,
            evidence_for(statement_report_data(statement, trainer_.record.public_key), change)};
  }
  static Bytes sealed(const StageEvidence& document, const TestKey& by) {
    return envelope(kStageEvidencePayloadType, canonical_json(to_json(document)).value(), {&by});
  }
  Result<AcceptedStageEvidence> send(const StageEvidence& document) {
    return accept_stage_evidence(*services_, sealed(document, trainer_), actor_);
  }
  std::vector<policy::StageEvidenceFact> facts() {
    const auto snapshot = store_->snapshot().value();
    const auto known = artifact_facts(*services_, *snapshot, id_of(trained_)).value();
    std::vector<policy::StageEvidenceFact> all;
    for (const policy::StatementFact& statement : known->facts.statements) {
      all.insert(all.end(), statement.evidence.begin(), statement.evidence.end());
    }
    return all;
  }
  std::size_t catch_up() {
    std::size_t total = 0;
    while (true) {
      const auto done = reappraise(*services_, 10);
      EXPECT_TRUE(done) << to_string(done.error());
      if (!done || *done == 0) {
        return total;
      }
      total += *done;
    }
  }
  LogRecord newest_record() {
    const auto snapshot = store_->snapshot().value();
    const auto bytes = snapshot->log_record(snapshot->log_state()->size - 1).value();
    return parse_log_record(bytes).value();
  }

  TestKey trainer_ = make_key(KeyPurpose::kSigner, "tina", {role("train")});
  TestKey helper_ = make_key(KeyPurpose::kSigner, "hugo", {role("train")});
  Manifest trained_ = manifest("trained");
};

TEST_F(StageEvidenceTest, Accepted_UnderTheAppraisalOfItsStage) {
  const StatementId id = train();
  ASSERT_TRUE(facts().empty());
  clock_.advance(std::chrono::seconds(5));
  const auto accepted = send(evidence(id));
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_TRUE(accepted->created);
  EXPECT_EQ(accepted->row.error, "");
  const auto found = facts();
  ASSERT_EQ(found.size(), 1U);
  const policy::StageEvidenceFact& fact = found.front();
  EXPECT_EQ(fact.key, trainer_.record.id);
  EXPECT_EQ(fact.type, "tdx");
  EXPECT_EQ(fact.status_then, "UpToDate");
  EXPECT_EQ(fact.status_now, "UpToDate");
  EXPECT_EQ(fact.error_now, "");
  EXPECT_TRUE(fact.current);
  EXPECT_FALSE(fact.anchor_is_vendor);
  EXPECT_TRUE(fact.has_reference_values);
  EXPECT_EQ(fact.measurements.at("mrtd"), hex_encode(platform().quote.report.mrtd));
  EXPECT_EQ(fact.accepted_at, clock_.now());
  EXPECT_FALSE(fact.made_after);
  const LogRecord record = newest_record();
  EXPECT_EQ(record.type, "evidence.appraised");
  EXPECT_EQ(record.detail["purpose"], "stage");
  EXPECT_EQ(record.detail["result"], "accepted");
  EXPECT_TRUE(std::ranges::count(record.subjects, id.text()));
}

// Which collateral the first appraisal rested on stays known, whatever comes later.
TEST_F(StageEvidenceTest, Appraisal_KeepsTheDigestOfItsCollateral) {
  const StatementId id = train();
  const auto accepted = send(evidence(id));
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  const auto appraised = attestation::built_in_verifiers().appraise(
      evidence(id).evidence, stage_appraisal(), attestation::Purpose::kInspect, {}, clock_.now());
  ASSERT_TRUE(appraised && appraised->collateral);
  const auto stored = [&] {
    const auto document = store_->snapshot().value()->document(accepted->row.appraisal).value();
    return parse_json(document.bytes).value();
  };
  EXPECT_EQ(stored()["collateral"], appraised->collateral->text());
  EXPECT_EQ(stored()["statement"], id.text());
  EXPECT_EQ(newest_record().documents.front(), accepted->row.appraisal);
  Appraisal other = stage_appraisal();
  other.policy["min_tcb_evaluation_data_number"] = 1;
  put_appraisal(other);
  EXPECT_EQ(catch_up(), 1U);
  EXPECT_EQ(stored()["collateral"], appraised->collateral->text());
}

TEST_F(StageEvidenceTest, SameBytesAgain_AreStoredOnce_OthersAreRefused) {
  const StatementId id = train();
  const StageEvidence first = evidence(id);
  const Bytes bytes = sealed(first, trainer_);
  ASSERT_TRUE(accept_stage_evidence(*services_, bytes, actor_));
  const TreeSize size = log_size();
  const auto again = accept_stage_evidence(*services_, bytes, actor_);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(log_size(), size);
  StageEvidence other = first;
  other.evidence.event_log = to_bytes("another log");
  EXPECT_EQ(refusal(send(other)), ErrorCode::kConflict);
  EXPECT_EQ(log_size(), size);
}

TEST_F(StageEvidenceTest, StageWithoutAppraisal_HasNoReferenceValues) {
  Appraisal elsewhere = stage_appraisal();
  elsewhere.stage = "merge";
  put_appraisal(elsewhere);
  Appraisal none;
  none.evidence_type = kTdxEvidence;
  none.stage = "train";
  none.dangerous_anchors = elsewhere.dangerous_anchors;
  put_appraisal(none);
  const StatementId id = train();
  const auto sent = send(evidence(id));
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->row.error, "REFERENCE_VALUES_MISSING");
}

TEST_F(StageEvidenceTest, StarStage_IsForStagesWithoutAnAppraisalOfTheirOwn) {
  Appraisal star = stage_appraisal();
  star.stage = "*";
  put_appraisal(star);
  const auto snapshot = store_->snapshot().value();
  EXPECT_EQ(appraisal_in_force(*snapshot, "tdx", "merge").value().stage, "*");
  EXPECT_EQ(appraisal_in_force(*snapshot, "tdx", "train").value().stage, "train");
  EXPECT_EQ(appraisal_in_force(*snapshot, "tdx").value().stage, "");
}

TEST_F(StageEvidenceTest, EvidenceOfAnotherStatementOrKey_IsRefused) {
  const StatementId id = train();
  const StatementId other = train("second");
  const TreeSize size = log_size();
  EXPECT_EQ(refusal(accept_stage_evidence(*services_, sealed(evidence(id), helper_), actor_)),
            ErrorCode::kStageEvidenceMismatch)
      << "signed by another key than it names";
  StageEvidence foreign = evidence(id);
  foreign.key = helper_.record.id;
  EXPECT_EQ(refusal(accept_stage_evidence(*services_, sealed(foreign, helper_), actor_)),
            ErrorCode::kStageEvidenceMismatch)
      << "by a key that has not signed the statement";
  StageEvidence unknown = evidence(id);
  unknown.statement = StatementId(sha256(as_bytes("no statement")));
  EXPECT_EQ(refusal(send(unknown)), ErrorCode::kNotFound);
  EXPECT_EQ(log_size(), size) << "nothing is stored";
  StageEvidence moved = evidence(id);
  moved.statement = other;
  const auto sent = send(moved);
  ASSERT_TRUE(sent) << to_string(sent.error());
  EXPECT_EQ(sent->row.error, "REPORT_DATA_MISMATCH") << "the quote binds the first statement";
  EXPECT_EQ(facts().front().error_then, "REPORT_DATA_MISMATCH");
}

TEST_F(StageEvidenceTest, RevokedKey_AddsNoEvidence) {
  const StatementId id = train();
  ASSERT_TRUE(change_trust({RevokeKey{trainer_.record.id, "stolen"}}));
  EXPECT_EQ(refusal(send(evidence(id))), ErrorCode::kKeyRevoked);
  EXPECT_TRUE(facts().empty());
}

TEST_F(StageEvidenceTest, RefusedEvidence_IsKept_AndTheStatementStands) {
  const StatementId id = train();
  const auto refused = send(evidence(id, [](tdx::SimulationSpec& spec) {
    spec.tcb_info["tcbLevels"][0]["tcbStatus"] = "OutOfDate";
  }));
  ASSERT_TRUE(refused) << to_string(refused.error());
  EXPECT_EQ(refused->row.error, "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  EXPECT_EQ(newest_record().detail["result"], "rejected");
  EXPECT_EQ(facts().front().error_then, "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  EXPECT_TRUE(store_->snapshot().value()->statement(id));
  const auto better = send(evidence(id));
  ASSERT_TRUE(better) << to_string(better.error());
  EXPECT_EQ(better->row.error, "");
  ASSERT_EQ(facts().size(), 1U);
  EXPECT_EQ(facts().front().error_then, "");
}

TEST_F(StageEvidenceTest, RefusedEvidence_IsSentABoundedNumberOfTimes) {
  const StatementId id = train();
  for (std::uint64_t i = 0; i <= kMaxEvidenceAttempts; ++i) {
    StageEvidence bad = evidence(id);
    bad.evidence.quote.resize(bad.evidence.quote.size() - 1 - i);
    const auto sent = send(bad);
    if (i == kMaxEvidenceAttempts) {
      EXPECT_EQ(refusal(sent), ErrorCode::kSignerLimitExceeded);
    } else {
      ASSERT_TRUE(sent) << to_string(sent.error());
    }
  }
}

TEST_F(StageEvidenceTest, ChangedAppraisal_IsStaleAtOnce_AndAppraisedAgain) {
  const StatementId id = train();
  ASSERT_TRUE(send(evidence(id)));
  const Timestamp accepted_at = clock_.now();
  clock_.advance(std::chrono::hours(2));
  Appraisal changed = stage_appraisal();
  changed.policy["reference_values"]["mrtd"] = {std::string(96, '8')};
  put_appraisal(changed);
  EXPECT_FALSE(facts().front().current) << "at once";
  EXPECT_EQ(catch_up(), 1U);
  const policy::StageEvidenceFact fact = facts().front();
  EXPECT_TRUE(fact.current);
  EXPECT_EQ(fact.error_now, "TD_MRTD_MISMATCH");
  EXPECT_EQ(fact.error_then, "") << "what was found then stays";
  EXPECT_EQ(fact.status_then, "UpToDate");
  EXPECT_EQ(fact.accepted_at, accepted_at) << "evidence grows no younger";
  EXPECT_EQ(newest_record().detail["purpose"], "again");
  EXPECT_EQ(refusal(send(evidence(id))), ErrorCode::kConflict)
      << "evidence that was accepted once stays";
  put_appraisal(stage_appraisal());
  EXPECT_EQ(catch_up(), 1U);
  EXPECT_EQ(facts().front().error_now, "");
}

TEST_F(StageEvidenceTest, NewerCollateral_ChangesTheStatusOfNowAlone) {
  Appraisal lenient = stage_appraisal();
  lenient.policy["accept_tcb_status"] = {"UpToDate", "SWHardeningNeeded"};
  put_appraisal(lenient);
  ASSERT_TRUE(send(evidence(train())));
  const auto numbered = [](const char* status) {
    return [status](tdx::SimulationSpec& spec) {
      spec.tcb_info["tcbEvaluationDataNumber"] = 99;
      spec.qe_identity["tcbEvaluationDataNumber"] = 99;
      spec.tcb_info["tcbLevels"][0]["tcbStatus"] = status;
    };
  };
  const auto refused = send(evidence(train("second"), numbered("OutOfDate")));
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->row.error, "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  EXPECT_TRUE(facts().front().current) << "refused evidence raises no mark";
  ASSERT_TRUE(send(evidence(train("third"), numbered("SWHardeningNeeded"))));
  EXPECT_FALSE(facts().front().current) << "at once";
  EXPECT_GE(catch_up(), 1U);
  EXPECT_TRUE(facts().front().current);
  EXPECT_EQ(facts().front().status_then, "UpToDate");
  EXPECT_EQ(facts().front().status_now, "SWHardeningNeeded");
}

TEST_F(StageEvidenceTest, ChangeForNodes_LeavesStagesCurrent) {
  const StatementId id = train();
  ASSERT_TRUE(send(evidence(id)));
  put_appraisal(simulator_appraisal());
  EXPECT_TRUE(facts().front().current);
}

TEST_F(StageEvidenceTest, Checkpoint_BoundsTheAgeFromBelow) {
  const auto note = [&] { return store_->snapshot().value()->log_state().value().note; };
  const std::string then = note();
  const Timestamp newest = newest_record().time;
  clock_.advance(std::chrono::minutes(10));
  const StatementId id = train("fresh", then);
  ASSERT_TRUE(send(evidence(id)));
  ASSERT_TRUE(facts().front().made_after);
  EXPECT_EQ(*facts().front().made_after, newest);
  const auto signer = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  const std::string foreign =
      sign_checkpoint({"example.com/log", 3, sha256(as_bytes("invented"))}, *signer).value();
  const StatementId invented = train("invented", foreign);
  ASSERT_TRUE(send(evidence(invented)));
  EXPECT_FALSE(facts().back().made_after);
}

TEST_F(StageEvidenceTest, View_SaysHowItStands) {
  const StatementId id = train();
  ASSERT_TRUE(send(evidence(id)));
  const auto snapshot = store_->snapshot().value();
  const Json view = stage_evidence_view(*snapshot, id).value();
  ASSERT_EQ(view.size(), 1U);
  EXPECT_EQ(view[0]["accepted"], true);
  EXPECT_EQ(view[0]["key_id"], trainer_.record.id.text());
  EXPECT_EQ(view[0]["tcb_status"], "UpToDate");
  EXPECT_EQ(view[0]["current"], true);
}

}  // namespace
}  // namespace assay::server::test
