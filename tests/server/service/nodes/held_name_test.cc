// SPDX-License-Identifier: Apache-2.0
// Reports of the machine that has a node's name count, and those of one that had it before do not.
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using std::chrono::seconds;

class HeldName : public NodeTest {
 protected:
  // gpu-1 has verified the model, and its name may be given to others.
  HeldName() {
    enrol_ok(worker_);
    store_model(model_);
    verify(worker_);
    clock_.advance(seconds(1));
  }
  void verify(const Worker& worker, const Change<ReportSubmission>& change = {}) {
    new_job(model_, worker.node);
    const JobLease leased = lease(worker);
    const auto answer = send(worker, leased, submission(worker, report(leased, model_), change));
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_TRUE(counts());
  }
  // A worker under the name gpu-1 with a key of its own, on the machine of another node.
  Result<Enrolled> enrol_elsewhere(const Worker& worker) {
    const std::string machine = "another machine";
    return enrol_with(
        worker, [&](Enrolment& made) { made.request.platform = platform_id(machine); },
        [&](Enrolment& made) {
          made.evidence = evidence_for(
              enrolment_report_data(made.nonce, made.public_key, made.request), {}, machine);
        });
  }
  Result<Enrolled> enrol_unmeasured(const Worker& worker) {
    return enrol_with(
        worker, [](Enrolment& made) { made.request.platform.clear(); },
        [](Enrolment& made) { made.evidence.reset(); });
  }
  Worker same_name() const { return make_worker(worker_.node, worker_.principal.name); }
  bool counts() { return report_seen(worker_, model_).has_value(); }
};

TEST_F(HeldName, RenewalAndANewKey_KeepTheReport) {
  enrol_ok(worker_);
  EXPECT_TRUE(counts());
  clock_.advance(seconds(1));
  enrol_ok(same_name());
  EXPECT_TRUE(counts()) << "a worker that starts again has a new key";
  clock_.advance(std::chrono::hours(25));
  enrol_ok(same_name());
  EXPECT_TRUE(counts()) << "nobody else had the name meanwhile";
}

TEST_F(HeldName, AnotherMachine_HasReportedNothing) {
  const Worker second = same_name();
  ASSERT_TRUE(enrol_elsewhere(second));
  EXPECT_FALSE(counts());
  clock_.advance(seconds(1));
  ASSERT_TRUE(enrol_elsewhere(second));
  EXPECT_FALSE(counts()) << "its renewal changes nothing";
  enrol_ok(worker_);
  EXPECT_FALSE(counts()) << "the first machine has the name anew";
  verify(worker_);
}

TEST_F(HeldName, OtherMachinesOpenMismatch_IsNoReport) {
  new_job(model_, worker_.node);
  const JobLease leased = lease(worker_);
  VerificationReport made = report(leased, model_);
  std::get<FileEntry>(made.entries[0]).root = std::get<FileEntry>(made.entries[1]).root;
  ASSERT_EQ(send_report(worker_, leased, made)->state, ReportAnswer::State::kOutline);
  EXPECT_EQ(report_seen(worker_, model_)->result, "mismatch");
  clock_.advance(seconds(1));
  ASSERT_TRUE(enrol_elsewhere(same_name()));
  EXPECT_FALSE(counts());
}

TEST_F(HeldName, EndedEnrolment_BeginsAnew) {
  ASSERT_TRUE(change_trust({RemoveRegistration{"gpu-1"}}));
  register_node(registration_of(worker_));
  enrol_ok(worker_);
  EXPECT_FALSE(counts());
}

TEST_F(HeldName, AnotherPrincipal_BeginsAnew) {
  Registration registration = registration_of(worker_);
  registration.principal = "successor";
  register_node(registration);
  enrol_ok(make_worker("gpu-1", "successor"));
  EXPECT_FALSE(counts()) << "even on the same machine";
}

// Nothing but the key tells unmeasured workers apart.
TEST_F(HeldName, UnmeasuredWorker_KeepsItsReportsWithItsKey) {
  services_->nodes.dangerous_allow_unmeasured = true;
  ASSERT_TRUE(enrol_unmeasured(worker_));
  EXPECT_FALSE(counts()) << "it shows no platform any more";
  verify(worker_, [](ReportSubmission& made) { made.evidence.reset(); });
  clock_.advance(seconds(1));
  ASSERT_TRUE(enrol_unmeasured(worker_));
  EXPECT_TRUE(counts());
  ASSERT_TRUE(enrol_unmeasured(same_name()));
  EXPECT_FALSE(counts());
}

}  // namespace
}  // namespace assay::server::test
