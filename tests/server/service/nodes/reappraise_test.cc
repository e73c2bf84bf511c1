// SPDX-License-Identifier: Apache-2.0
// Evidence after its day: stale at once when its ground moves, appraised again, never younger.
#include "server/service/nodes/reappraise.h"

#include "schemas/log_record.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

namespace tdx = attestation::tdx;

class Reappraisal : public NodeTest {
 protected:
  policy::NodeFact fact(const Worker& worker) {
    policy::Facts facts;
    const auto snapshot = store_->snapshot().value();
    policy::Workload workload;
    workload.node = worker.node;
    EXPECT_TRUE(collect_node(*services_, *snapshot, {workload}, facts));
    return facts.node.value();
  }
  policy::ReportFact report_fact(const Worker& worker) {
    return report_seen(worker, model_).value();
  }
  // Everything that is stale; how much that was.
  std::size_t catch_up(std::size_t batch = 100) {
    std::size_t total = 0;
    while (true) {
      const auto done = reappraise(*services_, batch);
      EXPECT_TRUE(done) << to_string(done.error());
      if (!done || *done == 0) {
        return total;
      }
      total += *done;
    }
  }
  // Of another image than the nodes run.
  void replace_mrtd() {
    Appraisal appraisal = simulator_appraisal();
    appraisal.policy["reference_values"]["mrtd"] = {std::string(96, '7')};
    put_appraisal(appraisal);
  }
  Change<Enrolment> numbered(int number, const std::string& status = "UpToDate") {
    return [this, number, status](Enrolment& made) {
      made.evidence = evidence_for(
          enrolment_report_data(made.nonce, made.public_key, made.request),
          [&](tdx::SimulationSpec& spec) {
            spec.tcb_info["tcbEvaluationDataNumber"] = number;
            spec.qe_identity["tcbEvaluationDataNumber"] = number;
            spec.tcb_info["tcbLevels"][0]["tcbStatus"] = status;
          },
          made.request.node);
    };
  }
  LogRecord newest_record() {
    const auto snapshot = store_->snapshot().value();
    const auto bytes = snapshot->log_record(snapshot->log_state()->size - 1).value();
    return parse_log_record(bytes).value();
  }
  void verify_model(const Worker& worker) {
    store_model(model_);
    new_job(model_, worker.node);
    const JobLease leased = lease(worker);
    ASSERT_TRUE(send_report(worker, leased, report(leased, model_)));
  }
};

TEST_F(Reappraisal, FreshEvidence_IsCurrent) {
  enrol_ok(worker_);
  const policy::NodeFact node = fact(worker_);
  EXPECT_TRUE(node.worker_measured);
  EXPECT_TRUE(node.appraisal_current);
  EXPECT_EQ(node.appraisal_policy, store_->snapshot().value()->appraisal_id("tdx").value());
  EXPECT_EQ(catch_up(), 0U);
}

TEST_F(Reappraisal, ReplacedMrtd_IsStaleAtOnce_AndRefusedThereafter) {
  enrol_ok(worker_);
  replace_mrtd();
  EXPECT_FALSE(fact(worker_).appraisal_current) << "at once";
  EXPECT_TRUE(fact(worker_).worker_measured);
  EXPECT_EQ(catch_up(), 1U);
  const policy::NodeFact node = fact(worker_);
  EXPECT_TRUE(node.appraisal_current);
  EXPECT_FALSE(node.worker_measured);
  EXPECT_EQ(node.appraisal_error, "TD_MRTD_MISMATCH");
  const LogRecord record = newest_record();
  EXPECT_EQ(record.type, "evidence.appraised");
  EXPECT_EQ(record.actor, "system");
  EXPECT_EQ(record.detail["result"], "rejected");
  EXPECT_EQ(record.detail["error"], "TD_MRTD_MISMATCH");
  EXPECT_EQ(node_row(worker_.node).value()["measured"]["error"], "TD_MRTD_MISMATCH");
  EXPECT_EQ(node_row(worker_.node).value()["worker_measured"], false);
  EXPECT_EQ(catch_up(), 0U);
}

TEST_F(Reappraisal, AcceptedAgain_IsCurrent_ButNoYounger) {
  enrol_ok(worker_);
  const Timestamp fresh_at = clock_.now();
  clock_.advance(std::chrono::hours(2));
  Appraisal wider = simulator_appraisal();
  wider.policy["accept_tcb_status"] = {"UpToDate", "SWHardeningNeeded"};
  put_appraisal(wider);
  EXPECT_FALSE(fact(worker_).appraisal_current);
  EXPECT_EQ(catch_up(), 1U);
  const policy::NodeFact node = fact(worker_);
  EXPECT_TRUE(node.appraisal_current);
  EXPECT_TRUE(node.worker_measured);
  EXPECT_EQ(node.appraised_at, fresh_at);
  EXPECT_EQ(newest_record().detail["result"], "accepted");
}

TEST_F(Reappraisal, RefusedEvidence_IsAcceptedAgain_WhenThePolicyComesBack) {
  enrol_ok(worker_);
  replace_mrtd();
  catch_up();
  put_appraisal(simulator_appraisal());
  EXPECT_FALSE(fact(worker_).worker_measured) << "not before it was appraised";
  catch_up();
  EXPECT_TRUE(fact(worker_).worker_measured);
}

TEST_F(Reappraisal, RemovedAnchor_IsRefused) {
  enrol_ok(worker_);
  Appraisal appraisal = simulator_appraisal();
  appraisal.dangerous_anchors.clear();
  put_appraisal(appraisal);
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "ROOT_CRL_SIGNATURE");
  EXPECT_FALSE(fact(worker_).worker_measured);
}

TEST_F(Reappraisal, OtherChangesOfTrust_LeaveEvidenceCurrent) {
  enrol_ok(worker_);
  register_node({"another", "gpu-9", "node-agent-9", {}, 1, {}});
  EXPECT_TRUE(fact(worker_).appraisal_current);
  put_appraisal(simulator_appraisal());
  EXPECT_TRUE(fact(worker_).appraisal_current) << "the same again";
  const TreeSize size = log_size();
  EXPECT_EQ(catch_up(), 1U);
  EXPECT_EQ(log_size(), size) << "looked at, not appraised";
}

TEST_F(Reappraisal, Batches_GetThroughEverything) {
  enrol_ok(worker_);
  enrol_ok(other_);
  replace_mrtd();
  const auto first = reappraise(*services_, 1);
  EXPECT_EQ(first, 1U);
  EXPECT_NE(fact(worker_).appraisal_current, fact(other_).appraisal_current);
  EXPECT_EQ(catch_up(1), 1U);
  EXPECT_TRUE(fact(worker_).appraisal_current && fact(other_).appraisal_current);
}

TEST_F(Reappraisal, EvidenceOfRevokedAndExpiredNodes_IsForgotten) {
  enrol_ok(worker_);
  enrol_ok(other_);
  revoke(worker_.node);
  clock_.advance(std::chrono::hours(24));
  replace_mrtd();
  const TreeSize size = log_size();
  EXPECT_EQ(catch_up(), 2U);
  EXPECT_EQ(log_size(), size);
  EXPECT_FALSE(fact(other_).worker_measured);
  EXPECT_FALSE(fact(other_).appraised_at);
}

// --- collateral

TEST_F(Reappraisal, NewerCollateral_MakesOlderEvidenceStale_AndIsUsedForIt) {
  ASSERT_TRUE(enrol_with(worker_, {}, numbered(30)));
  ASSERT_TRUE(enrol_with(other_, {}, numbered(31)));
  EXPECT_FALSE(fact(worker_).appraisal_current) << "at once";
  EXPECT_TRUE(fact(other_).appraisal_current);
  catch_up();
  EXPECT_TRUE(fact(worker_).appraisal_current);
  EXPECT_TRUE(fact(worker_).worker_measured);
}

TEST_F(Reappraisal, NewerCollateral_ThatSaysOutOfDate_IsBelieved) {
  Appraisal any = simulator_appraisal();
  any.policy["accept_tcb_status"] = {"UpToDate", "OutOfDate"};
  put_appraisal(any);
  ASSERT_TRUE(enrol_with(worker_, {}, numbered(30)));
  ASSERT_TRUE(enrol_with(other_, {}, numbered(31, "OutOfDate")));
  catch_up();
  EXPECT_EQ(fact(worker_).tcb_status, "OutOfDate") << "the platform is of the same family";
  put_appraisal(simulator_appraisal());
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
}

TEST_F(Reappraisal, ExpiredCollateral_IsRefused) {
  services_->nodes.enrolment_life = std::chrono::hours(24 * 365);
  enrol_ok(worker_);
  verify_model(worker_);
  clock_.advance(std::chrono::hours(24 * 31));
  put_appraisal([&] {
    Appraisal appraisal = simulator_appraisal();
    appraisal.policy["allow_debug"] = false;
    return appraisal;
  }());
  catch_up();
  EXPECT_FALSE(report_fact(worker_).worker_measured);
}

// --- reports

TEST_F(Reappraisal, Report_CountsAsMeasured_OnlyWhileItsEvidenceIsAccepted) {
  enrol_ok(worker_);
  verify_model(worker_);
  EXPECT_TRUE(report_fact(worker_).worker_measured);
  EXPECT_TRUE(report_fact(worker_).appraisal_current);
  replace_mrtd();
  EXPECT_FALSE(report_fact(worker_).appraisal_current) << "at once";
  EXPECT_EQ(catch_up(), 2U);
  EXPECT_FALSE(report_fact(worker_).worker_measured);
  // Nobody hashes again when the policy comes back.
  put_appraisal(simulator_appraisal());
  catch_up();
  EXPECT_TRUE(report_fact(worker_).worker_measured);
  EXPECT_TRUE(report_fact(worker_).appraisal_current);
}

TEST_F(Reappraisal, EvidenceOfAReport_IsKeptForTheOneThatCounts) {
  enrol_ok(worker_);
  store_model(model_);
  std::vector<std::string> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(new_job(model_, worker_.node).job.id);
    const JobLease leased = lease(worker_);
    ASSERT_TRUE(send_report(worker_, leased, report(leased, model_)));
  }
  const auto snapshot = store_->snapshot().value();
  EXPECT_FALSE(snapshot->evidence("job:" + jobs[0]));
  EXPECT_FALSE(snapshot->evidence("job:" + jobs[1]));
  EXPECT_TRUE(snapshot->evidence("job:" + jobs[2]));
}

TEST_F(Reappraisal, StoredEvidence_IsExact) {
  const Evidence evidence = evidence_for(ReportDataBytes{});
  std::optional<StoredEvidence> stored;
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(stored, store_evidence(transaction, evidence));
    return {};
  }));
  const auto loaded = load_evidence(*store_->snapshot().value(), stored->evidence);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(to_json(*loaded), to_json(evidence));
}

}  // namespace
}  // namespace assay::server::test
