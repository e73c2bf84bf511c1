// SPDX-License-Identifier: Apache-2.0
// What evidence rests on ends some day: collateral, imported reference values. Then the evidence
// counts no more, without anybody doing anything, until it was appraised under what lasts longer.
#include "attestation/corim/reference_document.h"
#include "server/service/nodes/collateral.h"
#include "tests/server/service/stage_fixture.h"
#include "tests/support/corim.h"

namespace assay::server::test {
namespace {

using Codes = std::vector<Reason>;
using std::chrono::seconds;

class EvidenceEnd : public StageTest {
 protected:
  EvidenceEnd() { require_attested_training(); }

  // When the evidence of the training ends.
  std::optional<Timestamp> end() {
    const auto snapshot = store_->snapshot().value();
    const auto rows = snapshot->stage_evidence(*statement_).value();
    return rows.empty() ? std::nullopt : rows.front().valid_until;
  }
  void train_with_evidence() {
    statement_ = train();
    ASSERT_TRUE(attest(*statement_));
  }
  // The same collateral as of now, as an operator fetches it again.
  void renew_collateral() {
    const std::string body =
        Json{{"type", "tdx"}, {"collateral", evidence_for(ReportDataBytes{}).collateral}}.dump();
    const auto imported = import_collateral(*services_, as_bytes(body), actor_);
    ASSERT_TRUE(imported) << to_string(imported.error());
    ASSERT_TRUE(imported->moved);
  }
  void advance_to(Timestamp time) {
    clock_.advance(std::chrono::duration_cast<seconds>(time - clock_.now()) + seconds(1));
  }

  // Reference values of the simulated machines for trainings, in a version of their own.
  Bytes values(std::uint64_t version, Timestamp not_after, std::uint8_t wrong = 0) {
    const auto report = platform().quote.report;
    const auto bytes = [&](const auto& value) {
      return wrong == 0 ? Bytes(value.begin(), value.end()) : assay::test::sha384_of(wrong);
    };
    assay::test::CorimSpec spec;
    spec.version = version;
    spec.triples = {{.digests = {{"mrtd", bytes(report.mrtd)},
                                 {"rtmr0", bytes(report.rtmr[0])},
                                 {"rtmr1", bytes(report.rtmr[1])},
                                 {"rtmr2", bytes(report.rtmr[2])}}}};
    spec.not_after = std::chrono::floor<seconds>(not_after).time_since_epoch().count();
    return assay::test::make_corim(spec);
  }
  void import_values(Bytes document) {
    const auto applied =
        change_trust({PutReferenceValues{"tdx", "train", std::move(document), true}});
    ASSERT_TRUE(applied) << to_string(applied.error());
  }
  void take_imported_values_alone() {
    Appraisal training = simulator_appraisal();
    training.stage = "train";
    training.policy = Json::object();
    put_appraisal(training);
  }

  std::optional<StatementId> statement_;
};

TEST_F(EvidenceEnd, ImportedValues_WhenTheyExpire_TheDecisionIsNoLongerAYes) {
  take_imported_values_alone();
  const Timestamp until = std::chrono::floor<seconds>(clock_.now()) + seconds(3600);
  import_values(values(1, until));
  train_with_evidence();
  const Decision good = decide_now();
  ASSERT_TRUE(good.verdict.allowed) << to_json(good.verdict).dump();
  EXPECT_EQ(good.verdict.valid_until, until);
  advance_to(until);
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceStale}) << "nobody has appraised it again";
  appraise_again();
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceRejected});
  // What was accepted then was accepted then.
  require_attested_training({{"appraised", "then"}});
  EXPECT_EQ(reasons(), Codes());
  require_attested_training();
  import_values(values(2, clock_.now() + std::chrono::hours(1)));
  appraise_again();
  EXPECT_EQ(reasons(), Codes());
}

TEST_F(EvidenceEnd, OtherValuesThatLastLonger_DoNotHelp) {
  take_imported_values_alone();
  const Timestamp until = std::chrono::floor<seconds>(clock_.now()) + seconds(3600);
  import_values(values(1, until));
  train_with_evidence();
  import_values(values(2, until + std::chrono::hours(24), 0x77));
  appraise_again();
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceRejected}) << "version 2 took the place of 1";
}

TEST_F(EvidenceEnd, Collateral_WhenItEnds_TheEvidenceIsStale_UntilItIsRenewed) {
  train_with_evidence();
  ASSERT_TRUE(end());
  EXPECT_EQ(decide_now().verdict.valid_until, *end());
  const Timestamp first = *end();
  advance_to(first);
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceStale});
  // Nothing newer is there: the evidence is neither refused nor appraised, nor looked at for ever.
  const TreeSize size = log_size();
  appraise_again();
  EXPECT_EQ(log_size(), size);
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceStale});
  renew_collateral();
  clock_.advance(kLookAgain);
  appraise_again();
  EXPECT_EQ(reasons(), Codes());
  EXPECT_GT(*end(), first);
}

// The dates alone are new: nothing becomes stale by it, and yet nobody notices the end of the old.
TEST_F(EvidenceEnd, CollateralRenewedInTime_IsTakenBeforeTheOldOneEnds) {
  train_with_evidence();
  const Timestamp first = *end();
  clock_.advance(std::chrono::hours(24));
  renew_collateral();
  appraise_again();
  EXPECT_EQ(*end(), first) << "no work before it is needed";
  advance_to(first - kLookAgain);
  EXPECT_EQ(reasons(), Codes());
  appraise_again();
  EXPECT_GT(*end(), first);
  advance_to(first);
  EXPECT_EQ(reasons(), Codes());
  // The age of evidence does not change.
  require_attested_training({{"max_age_seconds", 86'400}});
  EXPECT_EQ(reasons(), Codes{Reason::kStageEvidenceStale});
}

TEST_F(EvidenceEnd, RefusedUnderCollateralThatHadEnded_ComesBackWhenItIsRenewed) {
  train_with_evidence();
  advance_to(*end());
  Appraisal changed = simulator_appraisal();
  changed.stage = "train";
  changed.policy["allow_debug"] = false;
  put_appraisal(changed);
  appraise_again();
  EXPECT_FALSE(decide_now().verdict.allowed);
  renew_collateral();
  clock_.advance(kLookAgain);
  appraise_again();
  EXPECT_EQ(reasons(), Codes());
}

// Evidence that a report rests on, likewise; that of an enrolment ends with the enrolment.
TEST_F(EvidenceEnd, OfAReport_IsNotedAndRenewed) {
  services_->nodes.enrolment_life = std::chrono::hours(24 * 365);
  enrol_ok(worker_);
  store_model(model_);
  new_job(model_, worker_.node);
  const JobLease leased = lease(worker_);
  ASSERT_TRUE(send_report(worker_, leased, report(leased, model_)));
  const auto seen = [&] { return report_seen(worker_, model_).value(); };
  ASSERT_TRUE(seen().evidence_valid_until);
  const Timestamp first = *seen().evidence_valid_until;
  EXPECT_GT(first, clock_.now());
  EXPECT_LE(store_->snapshot().value()->node(worker_.node)->expires_at, first);
  const std::string subject = node_subject(worker_.node);
  EXPECT_EQ(store_->snapshot().value()->evidence(subject)->look_at, std::nullopt);
  clock_.advance(std::chrono::hours(24));
  renew_collateral();
  advance_to(first - kLookAgain);
  appraise_again();
  EXPECT_GT(*seen().evidence_valid_until, first);
  EXPECT_TRUE(seen().worker_measured);
}

}  // namespace
}  // namespace assay::server::test
