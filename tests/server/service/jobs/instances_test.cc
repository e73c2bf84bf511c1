// SPDX-License-Identifier: Apache-2.0
// Model instances in memory, from the job to the decision at serve: a real enrolment, a signed
// report with evidence, heartbeats, and everything that must not become an allow.
#include "attestation/dsse.h"
#include "server/service/decisions/decide.h"
#include "server/service/governance/policies.h"
#include "server/service/jobs/compare_report.h"
#include "server/service/nodes/heartbeat.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

using std::chrono::seconds;
using Codes = std::vector<Reason>;
using State = ReportAnswer::State;

const char* const kPod = "uid-1";

class Instances : public NodeTest {
 protected:
  Instances() {
    enrol_ok(worker_);
    store_model(loaded_);
    put_policy(Json::object());
  }

  // Two tensors in one file.
  static Model tensor_model() {
    const Bytes bytes = content(45'000, 7);
    Model model = make_model({bytes});
    const ByteView all(bytes);
    for (const auto& [name, offset, size] :
         {std::tuple("a", 1000U, 20'000U), std::tuple("b", 21'000U, 24'000U)}) {
      const ByteView part = all.subspan(offset, size);
      model.manifest.artifact.entries.push_back(TensorEntry{
          name, "U8", {size}, "weights/0.bin", offset, size, file_entry("x", part).root});
      model.outline.entries.push_back(outline_digests(part));
    }
    model.id = artifact_id(model.manifest).value();
    return model;
  }

  // Asks for what is in memory, with these members more.
  void put_policy(Json members) {
    members["scope"] = "device-memory";
    members["max_age_seconds"] = 3600;
    const Json document = {{"name", "loaded"},
                           {"version", ++policy_version_},
                           {"mode", "enforce"},
                           {"match", {{"resources", {"nvidia.com/gpu"}}}},
                           {"require",
                            {{{"id", "published"}, {"manifest", Json::object()}},
                             {{"id", "loaded"}, {"report", std::move(members)}}}}};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const auto applied = apply_policy_approval(
        *services_, PolicyApproval::Action::kActivate, accepted->row.id,
        policy_approval(accepted->row.id, policy_version_, policy_approver_), actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }

  JobLease lease_for(const JobInstance& instance) {
    new_job(loaded_, worker_.node, [&](JobRequest& request) {
      request.scope = JobScope::kDeviceMemory;
      request.instance = instance;
    });
    return lease(worker_);
  }

  VerificationReport memory_report(const JobLease& leased) {
    VerificationReport made = report(leased, loaded_);
    made.instance = leased.instance;
    made.memory.emplace();
    made.memory->in_place = 44'000;
    made.memory->devices = {"GPU-1"};
    made.memory->on_devices = 44'000;
    made.memory->registered = 44'000;
    made.memory->device_bytes = 88'000;
    made.memory->redrawn = 16;
    std::erase_if(made.entries,
                  [](const Entry& entry) { return std::holds_alternative<FileEntry>(entry); });
    made.bytes = 44'000;
    return made;
  }

  // The answer to a report of the pod's instance "main" that is changed in this way.
  Result<ReportAnswer> verify(const Change<VerificationReport>& change = {},
                              const std::string& pod = kPod) {
    const JobLease leased = lease_for({pod, "main"});
    job_ = leased.job;
    VerificationReport made = memory_report(leased);
    if (change) {
      change(made);
    }
    return send_report(worker_, leased, made);
  }

  Bytes beat_envelope(const Heartbeat& heartbeat, const Signer& key) {
    const Signer* const signers[] = {&key};
    return to_bytes(attestation::encode_envelope(
        attestation::sign_envelope(kHeartbeatPayloadType,
                                   as_bytes(canonical_json(to_json(heartbeat)).value()), signers)
            .value()));
  }
  Heartbeat heartbeat(InstanceState state, const std::string& pod = kPod) {
    Heartbeat made{worker_.node, services_->heartbeats.session(random_).value(), ++sequence_, {}};
    made.instances.push_back(
        {{pod, "main"}, loaded_.id, state, DocumentId(Digest(loaded_.id.root()))});
    return made;
  }
  Result<HeartbeatAnswer> beat(const Heartbeat& made) {
    return take_heartbeat(*services_, worker_.node, beat_envelope(made, *worker_.key),
                          worker_.principal);
  }
  void beat_ok(InstanceState state, const std::string& pod = kPod) {
    const auto answer = beat(heartbeat(state, pod));
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_TRUE(answer->counts);
  }

  Codes reasons_for(const std::string& pod, bool is_pod = false) {
    DecisionRequest request{.point = DecisionPoint::kServe,
                            .models = {loaded_.id.text()},
                            .workload = {"inference", {}, {"nvidia.com/gpu"}, worker_.node},
                            .context = Json::object(),
                            .principal = "orchestrator"};
    request.pod_uid = pod;
    if (is_pod) {
      request.workload.pod = true;
      request.workload.mounts = {{.container = "server",
                                  .path = "/models",
                                  .volume = "models",
                                  .source = "persistentVolumeClaim",
                                  .location = kLocation,
                                  .read_only = true}};
      request.workload.images = {{"server", "registry.example/server:1", false}};
    }
    const auto answer = decide(*services_, request);
    EXPECT_TRUE(answer) << to_string(answer.error());
    const Decision& decision = answer->decision.value();
    EXPECT_TRUE(replay(*services_, decision.id).value().reproduced);
    EXPECT_EQ(decision.verdict.allowed, decision.verdict.reasons.empty());
    return decision.verdict.reasons;
  }
  Codes reasons() { return reasons_for(kPod); }

  std::uint64_t node_version() {
    return store_->snapshot().value()->node_version(worker_.node).value();
  }

  Model loaded_ = tensor_model();
  std::uint64_t policy_version_ = 0;
  std::uint64_t sequence_ = 0;
  std::string job_;
};

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

// Every change is in the log for good. A pod spends its own changes, never those of another.
TEST_F(Instances, ChangesWithoutEnd_EndForThePodThatMakesThem) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  const auto storm = [&](const char* pod, InstanceState state) {
    Heartbeat made = heartbeat(InstanceState::kVerified);
    for (std::size_t i = 1; i < kMaxBeatInstances; ++i) {
      InstanceBeat one = made.instances[0];
      one.instance = {pod, "n" + std::to_string(100 + i)};
      one.state = state;
      made.instances.push_back(std::move(one));
    }
    std::ranges::sort(made.instances, {}, &InstanceBeat::instance);
    ASSERT_TRUE(beat(made)->counts);
  };
  const auto state_of = [](int i) {
    return i % 2 == 0 ? InstanceState::kVerified : InstanceState::kUnknown;
  };
  const auto of_pod = [&](const std::string& pod) {
    const auto newest = services_->heartbeats.of(worker_.node);
    return std::ranges::count_if(newest->instances,
                                 [&](const InstanceBeat& one) { return one.instance.pod == pod; });
  };
  const std::size_t whole = kMaxChangesOfAPodAnHour / (kMaxBeatInstances - 1);
  for (std::size_t i = 0; i < whole; ++i) {
    storm("uid-9", state_of(static_cast<int>(i)));
    EXPECT_EQ(of_pod("uid-9"), kMaxBeatInstances - 1) << i;
  }
  const TreeSize before = log_size();
  for (int i = 0; i < 5; ++i) {
    storm("uid-9", state_of(i + static_cast<int>(whole)));
    EXPECT_EQ(of_pod("uid-9"), 0);
  }
  EXPECT_EQ(log_size(), before + 1) << "one record says that the pod is beyond its limit";
  EXPECT_EQ(reasons(), Codes{}) << "of the other pod";
  clock_.advance(std::chrono::hours(1));
  storm("uid-9", InstanceState::kVerified);
  EXPECT_EQ(of_pod("uid-9"), kMaxBeatInstances - 1);
}

TEST_F(Instances, ChangesOfAPod_CountUpToTheLimitAndNotOnePast) {
  const auto spend = [&](std::size_t changes) {
    return services_->heartbeats.spend(worker_.node, "uid-9", changes, clock_.now());
  };
  EXPECT_EQ(spend(kMaxChangesOfAPodAnHour - 1), Heartbeats::Spent::kYes);
  EXPECT_EQ(spend(2), Heartbeats::Spent::kRefusedFirst);
  EXPECT_EQ(spend(1), Heartbeats::Spent::kYes);
  EXPECT_EQ(spend(1), Heartbeats::Spent::kRefused);
}

TEST_F(Instances, MorePodsThanTheirLimit_LeaveTheFirstOnesAlone) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  for (std::size_t i = 1; i < kMaxChangingPodsAnHour; ++i) {
    EXPECT_EQ(services_->heartbeats.spend(worker_.node, "p" + std::to_string(i), 1, clock_.now()),
              Heartbeats::Spent::kYes);
  }
  EXPECT_EQ(services_->heartbeats.spend(worker_.node, "one more", 1, clock_.now()),
            Heartbeats::Spent::kRefusedFirst);
  beat_ok(InstanceState::kViolated);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceViolated});
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
