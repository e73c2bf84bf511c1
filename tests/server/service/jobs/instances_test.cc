// SPDX-License-Identifier: Apache-2.0
// Model instances in memory, from the job to the decision at serve: a real enrolment, a signed
// report with evidence, heartbeats, and everything that must not become an allow.
#include "server/service/jobs/compare_report.h"
#include "tests/server/service/jobs/instances_fixture.h"

namespace assay::server::test {
namespace {

using std::chrono::seconds;
using State = ReportAnswer::State;

// --- the way to an allow

TEST_F(Instances, VerifiedAndWatched_MayServe) {
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
  const auto answer = verify();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kVerified);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
  EXPECT_EQ(reasons_for(kPod, true), Codes{});
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.instance, "main");
  EXPECT_EQ(job.detail["entries"], 2);
  EXPECT_EQ(job.detail["memory"]["in_place"], 44'000);
  EXPECT_EQ(job_view(job)["instance"], (Json{{"pod", kPod}, {"instance", "main"}}));
  EXPECT_TRUE(job_view(job)["pod"].is_null());
}

TEST_F(Instances, OutsideOfKubernetes_AreThoseOfNoPod) {
  ASSERT_TRUE(verify({}, ""));
  beat_ok(InstanceState::kVerified, "");
  EXPECT_EQ(reasons_for(""), Codes{});
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
  EXPECT_EQ(reasons_for("", true), Codes{Reason::kReportMissing}) << "a pod has an uid";
}

TEST_F(Instances, Facts_AreKeptForThePolicy) {
  put_policy({{"in_place", true},
              {"max_uncovered_bytes", 10},
              {"min_device_percent", 50},
              {"min_redrawn", 16}});
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
  ASSERT_TRUE(verify([](VerificationReport& made) { made.memory->uncovered = 11; }));
  EXPECT_EQ(reasons(), Codes{Reason::kMemoryUncovered});
  ASSERT_TRUE(verify([](VerificationReport& made) { made.memory->device_bytes = 88'001; }));
  EXPECT_EQ(reasons(), Codes{Reason::kDeviceShareLow});
  ASSERT_TRUE(verify([](VerificationReport& made) { made.memory->device_bytes.reset(); }));
  EXPECT_EQ(reasons(), Codes{Reason::kDeviceBytesUnknown});
  ASSERT_TRUE(verify([](VerificationReport& made) { made.memory->redrawn = 15; }));
  EXPECT_EQ(reasons(), Codes{Reason::kRedrawsMissing});
  ASSERT_TRUE(verify([](VerificationReport& made) {
    made.memory->in_place -= 1;
    made.memory->on_devices -= 1;
    made.memory->staged = 1;
    made.memory->staged_causes = {"cudaMalloc"};
  }));
  EXPECT_EQ(reasons(), Codes{Reason::kMemoryStaged});
}

// --- other bytes

TEST_F(Instances, FlippedByte_IsFoundAndServeDenies) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  const auto answer = verify([](VerificationReport& made) {
    std::get<TensorEntry>(made.entries[1]).root = file_entry("x", content(24'000, 9)).root;
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kOutline) << "where it differs is asked";
  EXPECT_EQ(answer->entries, std::vector<std::uint64_t>{2});
  EXPECT_EQ(reasons(), Codes{Reason::kModelMismatch}) << "and counts before that is answered";
}

TEST_F(Instances, WhatIsNoModel_IsAMismatch) {
  const std::pair<const char*, Change<VerificationReport>> changes[] = {
      {"missing", [](VerificationReport& made) { made.entries.pop_back(); }},
      {"none", [](VerificationReport& made) { made.entries.clear(); }},
      {"shape",
       [](VerificationReport& made) {
         std::get<TensorEntry>(made.entries[0]).shape = {2, 10'000};
       }},
      {"dtype",
       [](VerificationReport& made) { std::get<TensorEntry>(made.entries[0]).dtype = "I8"; }},
      {"extra",
       [](VerificationReport& made) {
         made.memory->extra_tensors = {{"lora.a", 64}};
         made.memory->extra_tensor_count = 1;
       }},
      {"an entry that is called extra",
       [](VerificationReport& made) {
         made.entries.pop_back();
         made.memory->extra_tensors = {{"b", 24'000}};
         made.memory->extra_tensor_count = 1;
       }},
      {"a tensor that two processes registered",
       [](VerificationReport& made) {
         made.memory->extra_tensors = {{"b", 24'000}};
         made.memory->extra_tensor_count = 1;
       }},
      {"extra, counted", [](VerificationReport& made) { made.memory->extra_tensor_count = 3; }}};
  beat_ok(InstanceState::kVerified);
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    ASSERT_TRUE(verify());
    EXPECT_EQ(reasons(), Codes{});
    const auto answer = verify(change);
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->state, State::kMismatch);
    EXPECT_EQ(job_row(job_).result, "mismatch");
    EXPECT_EQ(reasons(), Codes{Reason::kModelMismatch});
    clock_.advance(seconds(1));
    beat_ok(InstanceState::kVerified);
  }
  EXPECT_EQ(job_row(job_).detail["differing"], "3 tensors that no entry has");
}

TEST_F(Instances, PartsThatWereNotRead_AreNotVerified) {
  beat_ok(InstanceState::kVerified);
  const auto answer = verify([](VerificationReport& made) {
    made.entries.pop_back();
    made.not_covered = {{2, "the process did not answer"}};
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kIncomplete);
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
}

TEST_F(Instances, ManifestWithoutTensors_HasNoJob) {
  store_model(model_);
  JobRequest request{model_.id, JobScope::kDeviceMemory, worker_.node, {}, {}};
  request.instance = JobInstance{kPod, "main"};
  EXPECT_EQ(refusal(create_job(*services_, request, actor_)), ErrorCode::kInvalidParameter);
}

// Nor is it verified by a report, should there ever be one.
TEST_F(Instances, ManifestWithoutTensors_HasNothingThatIsCovered) {
  const JobLease leased = lease_for({kPod, "main"});
  VerificationReport made = memory_report(leased);
  made.entries.clear();
  const auto compared = compare_report(model_.manifest.artifact, {}, made);
  ASSERT_TRUE(compared) << to_string(compared.error());
  EXPECT_TRUE(compared->covered.empty());
}

// --- reports that do not count

TEST_F(Instances, RelabelledReports_AreRefused) {
  const std::pair<const char*, Change<VerificationReport>> changes[] = {
      {"another pod's", [](VerificationReport& made) { made.instance->pod = "uid-2"; }},
      {"of no pod", [](VerificationReport& made) { made.instance->pod.clear(); }},
      {"another instance", [](VerificationReport& made) { made.instance->instance = "draft"; }},
      {"of another job",
       [](VerificationReport& made) { made.job = "0198f0a2-7c3e-7bbb-8123-456789abcdef"; }},
      {"of another node", [](VerificationReport& made) { made.node = "gpu-2"; }},
      {"as files",
       [](VerificationReport& made) {
         made.scope = JobScope::kFiles;
         made.instance.reset();
         made.memory.reset();
       }},
      {"a file that was not covered",
       [](VerificationReport& made) { made.not_covered = {{0, "why"}}; }}};
  beat_ok(InstanceState::kVerified);
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    EXPECT_EQ(refusal(verify(change)), ErrorCode::kReportMismatch);
    EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
    clock_.advance(seconds(60));
    beat_ok(InstanceState::kVerified);
    EXPECT_EQ(lease(worker_).job, job_);
    ASSERT_TRUE(fail_job(*services_, {job_, 2, worker_.principal}, ErrorCode::kInstanceMissing,
                         "invalid-parameter"));
    const Json detail = job_view(store_->snapshot().value()->job(job_).value())["detail"];
    EXPECT_EQ(detail["code"], "instance-missing");
    EXPECT_EQ(detail.value("refused", ""), "invalid-parameter") << "why nobody is registered";
  }
}

TEST_F(Instances, ReplayedAndLateReports_AreRefused) {
  const JobLease first = lease_for({kPod, "main"});
  const Bytes body = submission(worker_, memory_report(first));
  ASSERT_TRUE(send(worker_, first, body));
  const JobLease second = lease_for({kPod, "main"});
  EXPECT_EQ(refusal(send(worker_, second, body)), ErrorCode::kChallengeUsed);
  const VerificationReport made = memory_report(second);
  clock_.advance(seconds(60));
  EXPECT_EQ(refusal(send_report(worker_, second, made)), ErrorCode::kLeaseLost);
  EXPECT_EQ(refusal(send_report(worker_, lease(worker_), made)), ErrorCode::kChallengeMismatch);
}

TEST_F(Instances, ReportOfAnotherWorker_IsRefused) {
  const JobLease leased = lease_for({kPod, "main"});
  Worker thief{worker_.node, worker_.principal,
               attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value()};
  EXPECT_FALSE(send_report(thief, leased, memory_report(leased)));
  EXPECT_EQ(job_row(leased.job).state, storage::JobState::kLeased);
}

TEST_F(Instances, ReportsOfOtherPods_DoNotCount) {
  ASSERT_TRUE(verify({}, "uid-2"));
  ASSERT_TRUE(verify({}, ""));
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
}

TEST_F(Instances, OldReports_AreStale) {
  ASSERT_TRUE(verify());
  clock_.advance(seconds(3601));
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{Reason::kReportStale});
}

// A verified file says nothing about memory, and a job about files has no instance.
TEST_F(Instances, ReportOnFiles_IsNoReportOnMemory) {
  new_job(loaded_, worker_.node);
  const JobLease leased = lease(worker_);
  ASSERT_TRUE(send_report(worker_, leased, report(leased, loaded_)));
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
}

// --- heartbeats

TEST_F(Instances, Violation_DeniesAtOnce) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
  beat_ok(InstanceState::kViolated);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceViolated});
  EXPECT_EQ(newest_records(2).front(), "instance.changed");
  beat_ok(InstanceState::kUnknown);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  put_policy({{"watched", false}});
  EXPECT_EQ(reasons(), Codes{}) << "the policy does not ask any more";
}

TEST_F(Instances, OnlyChangesOfState_AreLoggedAndMoveTheVersion) {
  const TreeSize size = log_size();
  const std::uint64_t version = node_version();
  beat_ok(InstanceState::kPending);
  EXPECT_EQ(log_size(), size + 1);
  EXPECT_EQ(node_version(), version + 1);
  for (int i = 0; i < 3; ++i) {
    clock_.advance(seconds(5));
    beat_ok(InstanceState::kPending);
  }
  EXPECT_EQ(log_size(), size + 1);
  EXPECT_EQ(node_version(), version + 1);
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(log_size(), size + 2);
  EXPECT_EQ(node_version(), version + 2);
  Heartbeat gone = heartbeat(InstanceState::kVerified);
  gone.instances.clear();
  EXPECT_TRUE(beat(gone)->counts);
  EXPECT_EQ(log_size(), size + 3);
  const auto record =
      parse_log_record(store_->snapshot().value()->log_record(size + 2).value()).value();
  EXPECT_EQ(record.detail["instances"][0]["before"], "verified");
  EXPECT_EQ(record.detail["instances"][0]["state"], "gone");
}

TEST_F(Instances, SilenceForTenSeconds_DeniesUntilTheNextHeartbeat) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  clock_.advance(seconds(10));
  EXPECT_EQ(reasons(), Codes{});
  clock_.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
}

// What else the pod has in memory is none of the models that it was admitted with.
TEST_F(Instances, AnotherModelInTheMemoryOfThePod_DeniesThePod) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  ASSERT_EQ(reasons_for(kPod, true), Codes{});
  Heartbeat more = heartbeat(InstanceState::kVerified);
  more.instances.push_back(more.instances[0]);
  more.instances[1].instance.instance = "other";
  more.instances[1].artifact = model_.id;
  EXPECT_TRUE(beat(more)->counts);
  EXPECT_EQ(reasons_for(kPod, true), Codes{Reason::kReportMissing});
  more.instances[1].instance.pod = "uid-2";
  more.sequence = ++sequence_;
  EXPECT_TRUE(beat(more)->counts);
  EXPECT_EQ(reasons_for(kPod, true), Codes{}) << "of another pod";
  // The same name under another model.
  Heartbeat other = heartbeat(InstanceState::kVerified);
  other.instances[0].artifact = model_.id;
  EXPECT_TRUE(beat(other)->counts);
  EXPECT_EQ(reasons_for(kPod, true), Codes{Reason::kInstanceUnwatched});
}

TEST_F(Instances, HeartbeatOfAnotherInstanceOrModel_DoesNotCount) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified, "uid-2");
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  Heartbeat other = heartbeat(InstanceState::kVerified);
  other.instances[0].artifact = model_.id;
  EXPECT_TRUE(beat(other)->counts);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
}

TEST_F(Instances, ReplayedHeartbeats_DoNotCount) {
  const Heartbeat early = heartbeat(InstanceState::kVerified);
  const Bytes bytes = beat_envelope(early, *worker_.key);
  EXPECT_TRUE(take_heartbeat(*services_, worker_.node, bytes, worker_.principal)->counts);
  clock_.advance(seconds(20));
  const auto again = take_heartbeat(*services_, worker_.node, bytes, worker_.principal);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_FALSE(again->counts);
  EXPECT_EQ(again->sequence, early.sequence);
  ASSERT_TRUE(verify());
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  // A restart forgets what was newest, and draws another session.
  reopen();
  const auto later = take_heartbeat(*services_, worker_.node, bytes, worker_.principal);
  ASSERT_TRUE(later) << to_string(later.error());
  EXPECT_FALSE(later->counts);
  EXPECT_EQ(later->sequence, 0U);
  EXPECT_NE(later->session, early.session);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
}

TEST_F(Instances, HeartbeatsOfOthers_AreRefused) {
  enrol_ok(other_);
  const Heartbeat made = heartbeat(InstanceState::kVerified);
  EXPECT_EQ(refusal(take_heartbeat(*services_, worker_.node, beat_envelope(made, *other_.key),
                                   worker_.principal)),
            ErrorCode::kUntrustedSigner);
  EXPECT_EQ(refusal(take_heartbeat(*services_, worker_.node, beat_envelope(made, *worker_.key),
                                   other_.principal)),
            ErrorCode::kNodeTaken);
  EXPECT_EQ(refusal(take_heartbeat(*services_, other_.node, beat_envelope(made, *other_.key),
                                   other_.principal)),
            ErrorCode::kReportMismatch);
  EXPECT_EQ(refusal(take_heartbeat(*services_, "gpu-9", beat_envelope(made, *worker_.key),
                                   worker_.principal)),
            ErrorCode::kNodeNotEnrolled);
  EXPECT_FALSE(services_->heartbeats.of(worker_.node));
  EXPECT_FALSE(services_->heartbeats.of(other_.node));
}

// What an agent said does not speak for the one that took its place.
TEST_F(Instances, AnotherKeyOfTheNode_HasSaidNothing) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  const Worker again = make_worker(worker_.node, worker_.principal.name);
  enrol_ok(again);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
}

TEST_F(Instances, RevokedNode_IsNotHeard) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  revoke(worker_.node);
  EXPECT_EQ(refusal(beat(heartbeat(InstanceState::kVerified))), ErrorCode::kNodeRevoked);
  EXPECT_EQ(reasons(), Codes{Reason::kNodeRevoked});
}

}  // namespace
}  // namespace assay::server::test
