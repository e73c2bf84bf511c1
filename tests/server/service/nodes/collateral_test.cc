// SPDX-License-Identifier: Apache-2.0
// Collateral that the service keeps: brought by operators and by evidence, forward only, used for
// all evidence of its family.
#include "server/service/nodes/collateral.h"

#include "attestation/collateral_set.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/nodes/appraisal.h"
#include "server/service/nodes/reappraise.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

namespace tdx = attestation::tdx;
using SpecChange = std::function<void(tdx::SimulationSpec&)>;

constexpr const char* kFamily = "5ac06f000000";

SpecChange numbered(int number, const std::string& status = "UpToDate") {
  return [number, status](tdx::SimulationSpec& spec) {
    spec.tcb_info["tcbEvaluationDataNumber"] = number;
    spec.qe_identity["tcbEvaluationDataNumber"] = number;
    spec.tcb_info["tcbLevels"][0]["tcbStatus"] = status;
  };
}

class Collateral : public NodeTest {
 protected:
  Json bundle(const SpecChange& change = {}) const {
    return evidence_for(ReportDataBytes{}, change).collateral;
  }
  Result<CollateralImported> import(const Json& bundle) {
    const std::string body = Json{{"type", "tdx"}, {"collateral", bundle}}.dump();
    return import_collateral(*services_, as_bytes(body), actor_);
  }
  Change<Enrolment> with(const SpecChange& change) {
    return [this, change](Enrolment& made) {
      made.evidence = evidence_for(enrolment_report_data(made.nonce, made.public_key, made.request),
                                   change, made.request.node);
    };
  }
  static void without_collateral(Enrolment& made) { made.evidence->collateral = Json(); }
  Json items() {
    const auto snapshot = store_->snapshot().value();
    return collateral_view(*snapshot, "", 100).value();
  }
  Json item(const std::string& kind) {
    for (const Json& part : items()) {
      if (part["kind"] == kind) {
        return part;
      }
    }
    return {};
  }
  std::string anchor() const { return sha256(simulator_appraisal().dangerous_anchors[0]).text(); }
  policy::NodeFact fact(const Worker& worker) {
    policy::Facts facts;
    const auto snapshot = store_->snapshot().value();
    policy::Workload workload;
    workload.node = worker.node;
    EXPECT_TRUE(collect_node(*services_, *snapshot, {workload}, facts));
    return facts.node.value();
  }
  std::size_t catch_up() {
    std::size_t total = 0;
    while (true) {
      const auto done = reappraise(*services_, 100);
      EXPECT_TRUE(done) << to_string(done.error());
      if (!done || *done == 0) {
        return total;
      }
      total += *done;
    }
  }
  std::string outcome(const CollateralImported& imported, const std::string& kind) {
    for (const ImportedPart& part : imported.parts) {
      if (part.name.find(kind) != std::string::npos) {
        return std::string(part.outcome);
      }
    }
    return "none";
  }
  LogRecord newest_record() {
    const auto snapshot = store_->snapshot().value();
    return parse_log_record(snapshot->log_record(snapshot->log_state()->size - 1).value()).value();
  }
};

TEST_F(Collateral, Import_IsKeptAndLogged_AndAgainChangesNothing) {
  const auto imported = import(bundle());
  ASSERT_TRUE(imported) << to_string(imported.error());
  EXPECT_TRUE(imported->moved);
  EXPECT_EQ(imported->parts.size(), 4U);
  const LogRecord record = newest_record();
  EXPECT_EQ(record.type, "collateral.accepted");
  EXPECT_EQ(record.actor, actor_.name);
  EXPECT_EQ(record.detail["by"], "import");
  EXPECT_EQ(record.detail["collateral"], imported->collateral.text());
  EXPECT_EQ(record.documents.size(), 4U);
  ASSERT_EQ(record.detail["parts"].size(), 4U);
  for (const Json& part : record.detail["parts"]) {
    const auto mark = store_->snapshot().value()->high_water(part["name"].get<std::string>());
    EXPECT_EQ(part["mark"], Json(mark.value())) << "a repair raises it again";
  }
  EXPECT_EQ(items().size(), 4U);
  EXPECT_EQ(item("tcb-info")["brought_by"], actor_.name);
  EXPECT_EQ(item("tcb-info")["number"], 18);
  const TreeSize size = log_size();
  const auto again = import(bundle());
  EXPECT_FALSE(again->moved);
  EXPECT_EQ(outcome(*again, "tcb-info"), "same");
  EXPECT_EQ(log_size(), size);
  // What an appraisal names can be read by its digest.
  EXPECT_TRUE(store_->snapshot().value()->document(DocumentId(imported->collateral)));
}

TEST_F(Collateral, EvidenceWithoutCollateral_TakesThatOfTheService) {
  EXPECT_EQ(enrol_with(worker_, {}, without_collateral).error().code,
            ErrorCode::kCollateralMissing);
  ASSERT_TRUE(import(bundle()));
  const auto enrolled = enrol_with(worker_, {}, without_collateral);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_TRUE(fact(worker_).appraisal_current);
  EXPECT_EQ(services_->collateral.weight() > 0, true);
  EXPECT_TRUE(enrol_with(other_, {}, without_collateral));
}

TEST_F(Collateral, EvidenceBringsIt_ForOthers) {
  enrol_ok(worker_);
  EXPECT_EQ(item("root-crl")["way"], "evidence");
  EXPECT_EQ(item("root-crl")["brought_by"], worker_.principal.name);
  EXPECT_TRUE(enrol_with(other_, {}, without_collateral));
}

TEST_F(Collateral, RefusedEvidence_BringsNothing) {
  EXPECT_FALSE(enrol_with(worker_, {},
                          with([](tdx::SimulationSpec& spec) { spec.quote.report.mrtd[0] ^= 1; })));
  EXPECT_EQ(items().size(), 0U);
}

TEST_F(Collateral, OlderCollateral_IsNotUsed) {
  ASSERT_TRUE(import(bundle(numbered(31, "OutOfDate"))));
  const auto refused = enrol_with(worker_, {}, with(numbered(30)));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().detail.starts_with("TCB_STATUS_NOT_ACCEPTED:OutOfDate"))
      << refused.error().detail;
  EXPECT_EQ(item("tcb-info")["number"], 31);
}

TEST_F(Collateral, NewerCollateralOfEvidence_MovesForward_OlderIsAppraisedUnderIt) {
  ASSERT_TRUE(enrol_with(worker_, {}, with(numbered(30))));
  ASSERT_TRUE(enrol_with(other_, {}, with(numbered(31))));
  EXPECT_EQ(item("tcb-info")["number"], 31);
  EXPECT_FALSE(fact(worker_).appraisal_current) << "at once";
  catch_up();
  EXPECT_TRUE(fact(worker_).appraisal_current);
  ASSERT_TRUE(enrol_with(worker_, {}, with(numbered(29))));
  EXPECT_TRUE(fact(worker_).appraisal_current);
  EXPECT_EQ(item("tcb-info")["number"], 31);
}

TEST_F(Collateral, ImportThatSaysOutOfDate_IsBelievedForStandingEvidence) {
  enrol_ok(worker_);
  ASSERT_TRUE(import(bundle(numbered(19, "OutOfDate"))));
  EXPECT_FALSE(fact(worker_).appraisal_current) << "at once";
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  EXPECT_FALSE(fact(worker_).worker_measured);
}

TEST_F(Collateral, RevokedLeafInANewerCrl_EndsStandingEvidence) {
  enrol_ok(worker_);
  ASSERT_TRUE(import(bundle([](tdx::SimulationSpec& spec) {
    spec.pck_crl.revoked = {spec.pck.serial};
    spec.pck_crl.this_update += std::chrono::seconds(1);
  })));
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "PCK_CERT_REVOKED");
  // Its own older CRL does not help.
  EXPECT_FALSE(enrol_with(worker_, {}));
}

TEST_F(Collateral, OlderImport_IsRollback_AndChangesNothing) {
  ASSERT_TRUE(import(bundle(numbered(31))));
  const Json before = items();
  const TreeSize size = log_size();
  EXPECT_EQ(import(bundle(numbered(30))).error().code, ErrorCode::kCollateralRollback);
  EXPECT_EQ(import(bundle([](tdx::SimulationSpec& spec) {
              numbered(31)(spec);
              spec.root_crl.this_update -= std::chrono::hours(1);
            }))
                .error()
                .code,
            ErrorCode::kCollateralRollback);
  EXPECT_EQ(items(), before);
  EXPECT_EQ(log_size(), size);
}

TEST_F(Collateral, MixedImport_MovesOnlyWhatIsNewer) {
  ASSERT_TRUE(import(bundle(numbered(31))));
  const auto mixed = import(bundle([](tdx::SimulationSpec& spec) {
    numbered(30)(spec);
    spec.pck_crl.this_update += std::chrono::hours(1);
  }));
  ASSERT_TRUE(mixed) << to_string(mixed.error());
  EXPECT_EQ(outcome(*mixed, "pck-crl"), "moved");
  EXPECT_EQ(outcome(*mixed, "tcb-info"), "kept");
  EXPECT_EQ(item("tcb-info")["number"], 31);
}

TEST_F(Collateral, TwoOfTheSameDate_ThatDisagree_TheFirstStays) {
  ASSERT_TRUE(import(bundle(numbered(31, "OutOfDate"))));
  EXPECT_EQ(import(bundle(numbered(31))).error().code, ErrorCode::kCollateralRollback);
}

TEST_F(Collateral, ImportThatIsNotAuthenticOrNotValid_IsRefused) {
  Json damaged = bundle();
  damaged["qe_identity_signature"] = std::string(128, '1');
  EXPECT_EQ(import(damaged).error().code, ErrorCode::kCollateralRefused);
  EXPECT_EQ(import(Json::object()).error().code, ErrorCode::kSchemaViolation);
  EXPECT_EQ(import_collateral(*services_, as_bytes(std::string_view("{")), actor_).error().code,
            ErrorCode::kMalformedJson);
  const std::string other = Json{{"type", "snp"}, {"collateral", bundle()}}.dump();
  EXPECT_EQ(import_collateral(*services_, as_bytes(other), actor_).error().code,
            ErrorCode::kEvidenceTypeUnknown);
  const Json good = bundle();
  clock_.advance(std::chrono::hours(24 * 40));
  EXPECT_EQ(import(good).error().code, ErrorCode::kCollateralRefused) << "expired";
  EXPECT_EQ(import(bundle([](tdx::SimulationSpec& spec) {
              spec.root_crl.this_update += std::chrono::hours(24 * 2);
            }))
                .error()
                .code,
            ErrorCode::kCollateralRefused)
      << "not valid yet";
  EXPECT_EQ(items().size(), 0U);
}

TEST_F(Collateral, OfAnAnchorOutsideTheTrustStore_IsRefused) {
  const Json good = bundle();
  Appraisal appraisal = simulator_appraisal();
  appraisal.dangerous_anchors.clear();
  put_appraisal(appraisal);
  EXPECT_EQ(import(good).error().code, ErrorCode::kCollateralRefused);
}

TEST_F(Collateral, RemovedAnchor_EndsItsUse) {
  enrol_ok(worker_);
  Appraisal appraisal = simulator_appraisal();
  appraisal.dangerous_anchors.clear();
  put_appraisal(appraisal);
  catch_up();
  EXPECT_FALSE(fact(worker_).worker_measured);
  EXPECT_FALSE(enrol_with(worker_, {}, without_collateral));
}

// Signed by a key that was revoked since: newer than what is kept, and alone it would pass.
TEST_F(Collateral, KeptCrlThatRevokesTheSigner_IsNotPassedOver) {
  ASSERT_TRUE(import(bundle([](tdx::SimulationSpec& spec) {
    spec.root_crl.revoked = {spec.tcb_signing.serial};
    spec.root_crl.this_update += std::chrono::seconds(1);
    spec.tcb_signing.serial = 99;
  })));
  const Json before = items();
  EXPECT_EQ(enrol_with(worker_, {}, with(numbered(30))).error().code,
            ErrorCode::kCollateralRefused);
  EXPECT_EQ(items(), before);
  const auto enrolled = enrol_with(worker_, {}, without_collateral);
  EXPECT_TRUE(enrolled) << to_string(enrolled.error());
}

// A service marks its plug-ins in the same table.
TEST_F(Collateral, MarksOfOtherThings_AreNoParts) {
  ASSERT_TRUE(import(bundle()));
  const Json before = items();
  ASSERT_TRUE(store_->write([](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.raise_high_water("a", 1, std::nullopt));
    ASSAY_TRY(transaction.raise_high_water("verifiers", 1, std::nullopt));
    return transaction.raise_high_water("verifiers/" + std::string(64, 'a'), 1, std::nullopt);
  }));
  EXPECT_EQ(items(), before);
  const auto snapshot = store_->snapshot().value();
  EXPECT_EQ(collateral_ends(*snapshot, clock_.now())->size(), 4U);
}

// The verifier was replaced between the appraisal and its record.
TEST_F(Collateral, VerifierThatMovedOn_IsRollback) {
  attestation::AppraisedEvidence evidence;
  evidence.high_water = {{"verifiers", 7}};
  const auto record = [&] {
    return store_->write([&](storage::Transaction& transaction) -> Status {
      ASSAY_ASSIGN(const Json marks,
                   advance_marks(transaction, {}, evidence, {"node-agent-1", kWithEvidence}));
      EXPECT_EQ(marks, Json({{"verifiers", 7}}));
      return {};
    });
  };
  EXPECT_TRUE(record());
  ASSERT_TRUE(store_->write([](storage::Transaction& transaction) {
    return transaction.raise_high_water("verifiers", 8, std::nullopt);
  }));
  EXPECT_EQ(record().error().code, ErrorCode::kCollateralRollback);
}

// Something newer comes between the choice of collateral and the record of the appraisal.
TEST_F(Collateral, ThatMovedSinceItWasChosen_IsNotRecorded) {
  const Evidence evidence = evidence_for(ReportDataBytes{}, numbered(30));
  const auto choose = [&] {
    const auto snapshot = store_->snapshot().value();
    return choose_collateral(*services_, *snapshot, evidence, simulator_appraisal()).value();
  };
  const auto advance = [&](const ChosenCollateral& chosen) {
    return store_->write([&](storage::Transaction& transaction) -> Status {
      ASSAY_TRY(advance_collateral(transaction, chosen, {"node-agent-1", kWithEvidence}));
      return {};
    });
  };
  const ChosenCollateral first = choose();
  const ChosenCollateral second = choose();
  ASSERT_TRUE(advance(first));
  const TreeSize size = log_size();
  EXPECT_TRUE(advance(second)) << "the same";
  EXPECT_EQ(log_size(), size);
  const ChosenCollateral third = choose();
  ASSERT_TRUE(import(bundle(numbered(31))));
  const Json before = items();
  EXPECT_EQ(advance(third).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(items(), before);
}

// Nodes that fetch collateral themselves bring newer dates all day.
TEST_F(Collateral, NewerDatesAlone_LeaveEvidenceCurrent_AndMoveOnceAnHour) {
  enrol_ok(worker_);
  const std::string issued = item("tcb-info")["issued"];
  clock_.advance(std::chrono::minutes(10));
  ASSERT_TRUE(enrol_with(other_, {}));
  EXPECT_EQ(item("tcb-info")["issued"], issued);
  clock_.advance(std::chrono::hours(2));
  ASSERT_TRUE(enrol_with(other_, {}));
  EXPECT_NE(item("tcb-info")["issued"], issued);
  EXPECT_TRUE(fact(worker_).appraisal_current);
  // An operator's import counts at once.
  clock_.advance(std::chrono::minutes(1));
  const auto imported = import(bundle());
  ASSERT_TRUE(imported) << to_string(imported.error());
  EXPECT_TRUE(imported->moved);
  EXPECT_TRUE(fact(worker_).appraisal_current);
}

TEST_F(Collateral, Export_IsTheBundle) {
  const Json sent = bundle();
  ASSERT_TRUE(import(sent));
  const auto snapshot = store_->snapshot().value();
  const auto set = export_collateral(*snapshot, kFamily, "platform", anchor());
  ASSERT_TRUE(set) << to_string(set.error());
  EXPECT_EQ((*set)["collateral"], sent);
  EXPECT_EQ(export_collateral(*snapshot, kFamily, "processor", anchor()).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(export_collateral(*snapshot, kFamily, "platform", "").error().code,
            ErrorCode::kNotFound);
}

TEST_F(Collateral, Ends_AreTheEarliestOfEachKind) {
  ASSERT_TRUE(import(bundle()));
  const auto snapshot = store_->snapshot().value();
  const auto ends = collateral_ends(*snapshot, clock_.now()).value();
  EXPECT_EQ(ends.size(), 4U);
  const auto later = clock_.now() + std::chrono::days(400);
  EXPECT_TRUE(collateral_ends(*snapshot, later)->empty());
}

TEST_F(Collateral, ExpiredCollateral_DoesNotServe_AndEvidenceMayBringNewer) {
  ASSERT_TRUE(import(bundle()));
  clock_.advance(std::chrono::hours(24 * 35));
  const auto refused = enrol_with(worker_, {}, without_collateral);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEvidenceRejected);
  EXPECT_TRUE(enrol_with(worker_, {}));
  EXPECT_TRUE(enrol_with(other_, {}, without_collateral));
}

}  // namespace
}  // namespace assay::server::test
