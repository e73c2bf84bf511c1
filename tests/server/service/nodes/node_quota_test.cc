// SPDX-License-Identifier: Apache-2.0
// What one node may add to the database in an hour: at the limit, one past it, other nodes, and
// what a full disk gives back.
#include <algorithm>

#include "server/service/nodes/heartbeat.h"
#include "tests/server/service/full_store.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

class NodeQuotaTest : public NodeTest {
 protected:
  NodeQuotaTest() {
    services_.reset(new Services{full_, *service_key_, clock_, random_, "example.com/log"});
  }
  ~NodeQuotaTest() override { services_.reset(); }

  // Uses up what the name may add, but for `left`.
  void leave(HourlyQuota& quota, const std::string& name, std::size_t limit, std::size_t left) {
    auto room = quota.reserve(name, limit - left, clock_.now());
    ASSERT_TRUE(room) << to_string(room.error());
    (*room)->keep();
  }
  void leave_enrolments(std::size_t left) {
    leave(services_->node_quota.enrolments, worker_.node, kMaxEnrolmentBytesAnHour, left);
  }
  void leave_reports(std::size_t left) {
    leave(services_->node_quota.reports, worker_.node, kMaxReportBytesAnHour, left);
  }
  // The disk is full after so many writes more.
  void fill_disk_after(std::size_t writes) {
    full_.full = true;
    full_.spared = full_.writes + writes;
  }

  Result<HeartbeatAnswer> beat(InstanceState state) {
    const Heartbeat made{worker_.node,
                         services_->heartbeats.session(random_).value(),
                         ++sequence_,
                         {{{"uid-1", "main"}, model_.id, state, DocumentId(model_.id.root())}}};
    const Signer* const signers[] = {worker_.key.get()};
    const std::string payload = canonical_json(to_json(made)).value();
    return take_heartbeat(
        *services_, worker_.node,
        as_bytes(attestation::encode_envelope(
            attestation::sign_envelope(kHeartbeatPayloadType, as_bytes(payload), signers).value())),
        worker_.principal);
  }

  FullStore full_{*store_};
  std::uint64_t sequence_ = 0;
};

TEST_F(NodeQuotaTest, Enrolments_AreTakenUpToTheLimitAndNotOnePast) {
  const Bytes fits = good_enrolment(worker_);
  leave_enrolments(fits.size() + kNodeRecordBytes);
  ASSERT_TRUE(enrol(*services_, fits, worker_.principal));
  const TreeSize size = log_size();
  EXPECT_EQ(refusal(enrol(*services_, good_enrolment(worker_), worker_.principal)),
            ErrorCode::kLimitExceeded);
  EXPECT_EQ(log_size(), size) << "nothing is kept";
  EXPECT_TRUE(enrol(*services_, fits, worker_.principal)) << "the same again adds nothing";
  EXPECT_EQ(log_size(), size);
  enrol_ok(other_);
  clock_.advance(std::chrono::hours(1));
  enrol_ok(worker_);
}

TEST_F(NodeQuotaTest, PaddingOfEnrolments_Counts) {
  Bytes over = good_enrolment(worker_);
  Bytes fits = good_enrolment(worker_);
  const std::size_t padded = std::max(over.size(), fits.size()) + 1;
  leave_enrolments(padded + kNodeRecordBytes);
  over.resize(padded + 1, ' ');
  EXPECT_EQ(refusal(enrol(*services_, over, worker_.principal)), ErrorCode::kLimitExceeded)
      << "one past";
  fits.resize(padded, ' ');
  EXPECT_TRUE(enrol(*services_, fits, worker_.principal));
}

// The appraisal was paid for, whatever came of it.
TEST_F(NodeQuotaTest, EnrolmentThatCouldNotBeWritten_Counts) {
  const Bytes bytes = good_enrolment(worker_);
  leave_enrolments(bytes.size() + kNodeRecordBytes + 1000);
  fill_disk_after(1);  // that of the challenge
  EXPECT_EQ(refusal(enrol(*services_, bytes, worker_.principal)), ErrorCode::kStorage);
  full_.full = false;
  EXPECT_EQ(refusal(enrol(*services_, good_enrolment(worker_), worker_.principal)),
            ErrorCode::kLimitExceeded);
  clock_.advance(std::chrono::hours(1));
  enrol_ok(worker_);
}

// A refusal is a record with an appraisal, so it counts as well.
TEST_F(NodeQuotaTest, RefusedEvidence_Counts) {
  leave_enrolments(good_enrolment(worker_).size() + kNodeRecordBytes + 1000);
  const auto relay = [&](Enrolment& made) { made.evidence = evidence_for({}); };
  EXPECT_EQ(refusal(enrol_with(worker_, {}, relay)), ErrorCode::kEvidenceRejected);
  EXPECT_EQ(refusal(enrol_with(worker_, {}, relay)), ErrorCode::kLimitExceeded);
}

TEST_F(NodeQuotaTest, Reports_AreTakenUpToTheLimitAndNotOnePast) {
  enrol_ok(worker_);
  enrol_ok(other_);
  store_model(model_);
  new_job(model_, worker_.node);
  const JobLease first = lease(worker_);
  const Bytes fits = submission(worker_, report(first, model_));
  leave_reports(fits.size() + kNodeRecordBytes - 1);
  EXPECT_EQ(refusal(send(worker_, first, fits)), ErrorCode::kLimitExceeded) << "one past";
  clock_.advance(std::chrono::hours(1));
  enrol_ok(worker_);
  const JobLease again = lease(worker_);
  const Bytes second = submission(worker_, report(again, model_));
  leave_reports(second.size() + kNodeRecordBytes);
  EXPECT_TRUE(send(worker_, again, second));
  const TreeSize size = log_size();
  EXPECT_TRUE(send(worker_, again, second)) << "the same again adds nothing";
  new_job(model_, worker_.node);
  const JobLease next = lease(worker_);
  EXPECT_EQ(refusal(send_report(worker_, next, report(next, model_))), ErrorCode::kLimitExceeded);
  EXPECT_GE(log_size(), size);
  new_job(model_, other_.node);
  const JobLease honest = lease(other_);
  EXPECT_TRUE(send_report(other_, honest, report(honest, model_)));
}

TEST_F(NodeQuotaTest, ReportThatCouldNotBeWritten_IsGivenBack) {
  enrol_ok(worker_);
  store_model(model_);
  new_job(model_, worker_.node);
  const JobLease first = lease(worker_);
  const Bytes bytes = submission(worker_, report(first, model_));
  leave_reports(bytes.size() + kNodeRecordBytes + 1000);
  fill_disk_after(1);  // that of the challenge
  EXPECT_EQ(refusal(send(worker_, first, bytes)), ErrorCode::kStorage);
  full_.full = false;
  clock_.advance(services_->nodes.lease_life);
  const JobLease second = lease(worker_);
  EXPECT_TRUE(send_report(worker_, second, report(second, model_)));
}

TEST_F(NodeQuotaTest, Challenges_EndForTheirPrincipal) {
  leave(services_->node_quota.challenges, worker_.principal.name, kMaxChallengesAnHour, 1);
  const ChallengeRequest request{ChallengePurpose::kEnrol, worker_.node};
  full_.full = true;
  EXPECT_EQ(refusal(issue_challenge(*services_, request, worker_.principal)), ErrorCode::kStorage);
  full_.full = false;
  EXPECT_TRUE(issue_challenge(*services_, request, worker_.principal)) << "it was given back";
  EXPECT_EQ(refusal(issue_challenge(*services_, request, worker_.principal)),
            ErrorCode::kLimitExceeded);
  EXPECT_TRUE(issue_challenge(*services_, request, other_.principal));
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(issue_challenge(*services_, request, worker_.principal));
}

TEST_F(NodeQuotaTest, ChangesThatCouldNotBeLogged_AreGivenBack) {
  enrol_ok(worker_);
  const std::string pod = "uid-1";
  ASSERT_EQ(
      services_->heartbeats.spend(worker_.node, "", pod, kMaxChangesOfAPodAnHour - 1, clock_.now()),
      Heartbeats::Spent::kYes);
  for (int i = 0; i < 3; ++i) {
    full_.full = true;
    full_.spared = 0;
    EXPECT_EQ(refusal(beat(InstanceState::kPending)), ErrorCode::kStorage) << i;
  }
  full_.full = false;
  EXPECT_TRUE(beat(InstanceState::kPending)) << "one change was left";
  EXPECT_TRUE(beat(InstanceState::kUnknown));
  EXPECT_TRUE(services_->heartbeats.of(worker_.node)->instances.empty()) << "none is left";
}

}  // namespace
}  // namespace assay::server::test
