// SPDX-License-Identifier: Apache-2.0
// Reports: what is believed, what is refused, what differs and where. A refused report marks
// nothing.
#include "schemas/core/sha.h"
#include "server/service/jobs/compare_report.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

namespace tdx = attestation::tdx;
using State = ReportAnswer::State;

class Reports : public NodeTest {
 protected:
  Reports() {
    enrol_ok(worker_);
    store_model(model_);
    job_ = new_job(model_, worker_.node).job.id;
    lease_ = lease(worker_);
  }

  // The report was refused with this code: the job is as if it had not come.
  void expect_refused(const Result<ReportAnswer>& answer, ErrorCode code) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(info(answer.error().code).code, info(code).code) << answer.error().detail;
    const storage::JobRow job = job_row(job_);
    EXPECT_NE(job.state, storage::JobState::kDone);
    EXPECT_TRUE(job.result.empty());
    EXPECT_FALSE(job.report);
    const auto seen = report_seen(worker_, model_);
    EXPECT_TRUE(!seen || seen->result == "mismatch") << "nothing new speaks for the node";
  }
  Result<ReportAnswer> send_changed(const Change<VerificationReport>& change) {
    VerificationReport made = report(*lease_, model_);
    change(made);
    return send_report(worker_, *lease_, made);
  }
  // A report of a node on which one byte of the first file is another one.
  VerificationReport flipped() {
    bytes_ = model_.files[0];
    bytes_[20'000] ^= 1;
    VerificationReport made = report(*lease_, model_);
    std::get<FileEntry>(made.entries[0]) = file_entry("weights/0.bin", bytes_);
    return made;
  }
  Result<ReportAnswer> send_outline(const OutlineSubmission& outline) {
    return submit_outline(*services_, {job_, lease_->token, worker_.principal},
                          as_bytes(to_json(outline).dump()));
  }
  Json detail() { return job_row(job_).detail; }

  std::string job_;
  std::optional<JobLease> lease_;
  Bytes bytes_;
};

TEST_F(Reports, EverythingAsInTheManifest_IsVerified) {
  const Bytes body = submission(worker_, report(*lease_, model_));
  const auto answer = send(worker_, *lease_, body);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kVerified);
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.result, "verified");
  EXPECT_TRUE(job.worker_measured);
  EXPECT_EQ(job.finished_at, clock_.now());
  EXPECT_EQ(job.detail["entries"], 2);
  EXPECT_EQ(job.detail["spot_checks"], 0);
  EXPECT_EQ(newest_records(2), (std::vector<std::string>{"evidence.appraised", "report.accepted"}));
  const auto snapshot = store_->snapshot().value();
  const Bytes envelope = parse_report_submission(body).value().envelope;
  EXPECT_EQ(snapshot->document(job.report.value()).value().bytes, envelope);
  EXPECT_EQ(snapshot->newest_report(worker_.node, model_.id, "files", {kLocation}).value().id,
            job_);
}

// Renewals do not move the time before which nothing was read; another lease does.
TEST_F(Reports, ReadSince_IsWhenTheNonceWasGivenOut) {
  clock_.advance(std::chrono::seconds(60));
  const JobLease leased = lease(worker_);
  const Timestamp given_out = clock_.now();
  for (int i = 0; i < 100; ++i) {
    clock_.advance(std::chrono::seconds(50));
    ASSERT_TRUE(renew_lease(*services_, {leased.job, leased.token, worker_.principal}));
  }
  ASSERT_TRUE(send_report(worker_, leased, report(leased, model_)));
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.read_since, given_out);
  EXPECT_EQ(job.finished_at, clock_.now());
  EXPECT_EQ(job.volume, "pv-1");
  const auto seen = report_seen(worker_, model_);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->read_since, given_out);
  EXPECT_EQ(seen->location, kLocation);
  EXPECT_EQ(seen->volume, "pv-1");
}

TEST_F(Reports, SameReportAgain_IsAnsweredAsBefore) {
  const Bytes body = submission(worker_, report(*lease_, model_));
  ASSERT_TRUE(send(worker_, *lease_, body));
  const TreeSize size = log_size();
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(send(worker_, *lease_, body)->state, State::kVerified);
  EXPECT_EQ(log_size(), size);
  // Another one is too late.
  VerificationReport other = report(*lease_, model_);
  other.bytes = 1;
  EXPECT_EQ(refusal(send_report(worker_, *lease_, other)), ErrorCode::kLeaseLost);
}

TEST_F(Reports, EntriesLeftOut_AreIncomplete) {
  const auto answer = send_changed([](VerificationReport& made) {
    made.entries.erase(made.entries.begin());
    made.not_covered = {{0, "unreadable"}};
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kIncomplete);
  EXPECT_EQ(job_row(job_).result, "incomplete");
  EXPECT_EQ(detail()["not_covered"], Json::parse(R"([{"entry":0,"reason":"unreadable"}])"));
}

TEST_F(Reports, WhatKeptWritersAway_IsShownWithTheJob) {
  ReadProtection protection;
  protection.add(Protection::kNone);
  protection.add(Protection::kLease, 3);
  const auto answer =
      send_changed([&](VerificationReport& made) { made.read_protection = protection; });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(detail()["read_protection"], to_json(protection));
}

TEST_F(Reports, ExtraFiles_AreAMismatch) {
  const auto answer = send_changed([](VerificationReport& made) {
    made.extra = {{"config.py", 3}, {"modeling_evil.py", 812}};
    made.extra_count = 2;
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
  EXPECT_EQ(job_row(job_).result, "mismatch");
  EXPECT_EQ(detail()["extra_count"], 2);
  EXPECT_EQ(detail()["differences_total"], 2);
  EXPECT_EQ(detail()["differences"][1],
            Json::parse(R"({"kind":"extra","path":"modeling_evil.py","actual_size":812})"));
  EXPECT_EQ(report_seen(worker_, model_)->differing, "config.py extra");
}

// A worker lists only so many, or none that it has room for: the number alone is enough.
TEST_F(Reports, ExtraFilesThatAreOnlyCounted_AreAMismatch) {
  const auto answer = send_changed([](VerificationReport& made) { made.extra_count = 7; });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
  EXPECT_EQ(detail()["differences_total"], 7);
  EXPECT_EQ(detail()["differing"], "7 files that no entry covers");
}

TEST_F(Reports, ExtraFilesOfASubset_AreAMismatch) {
  ASSERT_TRUE(send_report(worker_, *lease_, report(*lease_, model_)));
  job_ = new_job(model_, worker_.node, [](JobRequest& request) { request.subset = {1}; }).job.id;
  lease_ = lease(worker_);
  const auto answer = send_changed([](VerificationReport& made) {
    made.entries.erase(made.entries.begin());
    made.extra = {{"modeling_evil.py", 812}};
    made.extra_count = 1;
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
}

// --- attacks

// A second publisher's manifest with other ignore rules is another artifact: a report made by them
// says nothing of this one, and rules that the report alone has are refused.
TEST_F(Reports, OtherIgnoreRules_AreReportMismatch) {
  Model evil = make_model(model_.files);
  evil.manifest.artifact.parameters.ignore = {"*.py"};
  evil.id = artifact_id(evil.manifest).value();
  ASSERT_NE(evil.id, model_.id);
  store_model(evil, false);
  expect_refused(send_changed([](VerificationReport& made) { made.parameters.ignore = {"*.py"}; }),
                 ErrorCode::kReportMismatch);
  job_ = new_job(model_, worker_.node).job.id;
  lease_ = lease(worker_);
  expect_refused(
      send_changed([](VerificationReport& made) { made.parameters.follow_symlinks = true; }),
      ErrorCode::kReportMismatch);
}

// An entry that differs cannot be hidden among the extra files.
TEST_F(Reports, EntryThatIsCalledExtra_IsReportMismatch) {
  expect_refused(send_changed([](VerificationReport& made) {
                   made.extra = {{"weights/0.bin", 1}};
                   made.extra_count = 1;
                 }),
                 ErrorCode::kReportMismatch);
}

TEST_F(Reports, ReplayedReportUnderAnotherJob_IsRefused) {
  const Bytes body = submission(worker_, report(*lease_, model_));
  ASSERT_TRUE(send(worker_, *lease_, body));
  job_ = new_job(model_, worker_.node).job.id;
  const JobLease next = lease(worker_);
  const auto answer = send(worker_, next, body);
  EXPECT_EQ(refusal(answer), ErrorCode::kChallengeUsed);
  EXPECT_EQ(job_row(job_).result, "");
}

TEST_F(Reports, ReportForAnotherJobModelOrNode_IsReportMismatch) {
  const Model other = make_model({content(100, 7)});
  const std::vector<Change<VerificationReport>> lies = {
      [](VerificationReport& made) { made.job = "0195b6e0-0000-7000-8000-000000000000"; },
      [&](VerificationReport& made) { made.artifact = other.id; },
      [&](VerificationReport& made) { made.node = other_.node; },
      [](VerificationReport& made) { made.lease = 2; },
      [](VerificationReport& made) { made.location = "pvc://inference/other"; },
      [](VerificationReport& made) { made.pod = JobPod{"uid-1", "pv-1"}; },
      // Of another tree: the entries are right for it.
      [](VerificationReport& made) { made.parameters.chunk_size = 8192; },
  };
  for (const auto& lie : lies) {
    expect_refused(send_changed(lie), ErrorCode::kReportMismatch);
    job_ = new_job(model_, worker_.node).job.id;
    lease_ = lease(worker_);
  }
}

TEST_F(Reports, NonceOfAnotherJob_IsChallengeMismatch) {
  const auto part = [](JobRequest& request) { request.subset = {1}; };
  new_job(model_, worker_.node, part);
  const JobLease second = lease(worker_);
  expect_refused(
      send_changed([&](VerificationReport& made) { made.nonce = second.challenge.nonce; }),
      ErrorCode::kChallengeMismatch);
}

TEST_F(Reports, NonceOfAnEarlierLease_IsChallengeMismatch) {
  const Nonce before = lease_->challenge.nonce;
  clock_.advance(std::chrono::seconds(60));
  lease_ = lease(worker_);
  expect_refused(send_changed([&](VerificationReport& made) { made.nonce = before; }),
                 ErrorCode::kChallengeMismatch);
}

TEST_F(Reports, NonceOfAnEnrolment_IsChallengeMismatch) {
  const Nonce other = challenge(worker_).nonce;
  expect_refused(send_changed([&](VerificationReport& made) { made.nonce = other; }),
                 ErrorCode::kChallengeMismatch);
}

TEST_F(Reports, LateReportAfterLeaseLoss_IsLeaseLost) {
  const Bytes body = submission(worker_, report(*lease_, model_));
  clock_.advance(std::chrono::seconds(60));
  expect_refused(send(worker_, *lease_, body), ErrorCode::kLeaseLost);
  const JobLease second = lease(worker_);
  expect_refused(send(worker_, *lease_, body), ErrorCode::kLeaseLost);
  // The nonce was not spent on that, and is of the lease before.
  expect_refused(send(worker_, second, body), ErrorCode::kChallengeMismatch);
}

TEST_F(Reports, AnotherPrincipal_IsNodeTaken) {
  const Bytes body = submission(worker_, report(*lease_, model_));
  expect_refused(submit_report(*services_, {job_, lease_->token, other_.principal}, body),
                 ErrorCode::kNodeTaken);
}

TEST_F(Reports, AnotherWorkersKey_IsUntrusted) {
  enrol_ok(other_);
  const VerificationReport made = report(*lease_, model_);
  expect_refused(send(worker_, *lease_, submission(other_, made)), ErrorCode::kUntrustedSigner);
}

TEST_F(Reports, ReencodedSignature_IsSignatureInvalid) {
  const Bytes body = submission(worker_, report(*lease_, model_), [](ReportSubmission& made) {
    auto envelope = attestation::parse_envelope(made.envelope).value();
    Bytes& signature = envelope.signatures.front().signature;
    signature.insert(signature.begin() + 1, 0x81);
    made.envelope = to_bytes(attestation::encode_envelope(envelope));
  });
  expect_refused(send(worker_, *lease_, body), ErrorCode::kSignatureInvalid);
}

TEST_F(Reports, TwoSignatures_AreSignatureInvalid) {
  const Bytes body = submission(worker_, report(*lease_, model_), [&](ReportSubmission& made) {
    auto envelope = attestation::parse_envelope(made.envelope).value();
    ASSERT_TRUE(attestation::add_signature(envelope, *other_.key));
    made.envelope = to_bytes(attestation::encode_envelope(envelope));
  });
  expect_refused(send(worker_, *lease_, body), ErrorCode::kSignatureInvalid);
}

TEST_F(Reports, RevokedNode_IsRefused) {
  const Bytes body = submission(worker_, report(*lease_, model_));
  revoke(worker_.node);
  expect_refused(send(worker_, *lease_, body), ErrorCode::kNodeRevoked);
}

TEST_F(Reports, EnrolmentThatEnded_IsRefused) {
  services_->nodes.lease_life = std::chrono::hours(24);
  clock_.advance(std::chrono::hours(23));
  lease_ = lease(worker_);
  const Bytes body = submission(worker_, report(*lease_, model_));
  clock_.advance(std::chrono::hours(2));
  expect_refused(send(worker_, *lease_, body), ErrorCode::kEnrolmentExpired);
}

TEST_F(Reports, WithoutEvidence_IsEvidenceMissing) {
  const Bytes body = submission(worker_, report(*lease_, model_),
                                [](ReportSubmission& made) { made.evidence.reset(); });
  expect_refused(send(worker_, *lease_, body), ErrorCode::kEvidenceMissing);
}

TEST_F(Reports, EvidenceOfAnotherReport_IsReportDataMismatch) {
  VerificationReport lie = flipped();
  const Bytes honest = submission(worker_, lie);
  const auto evidence = parse_report_submission(honest).value().evidence;
  const Bytes body = submission(worker_, report(*lease_, model_),
                                [&](ReportSubmission& made) { made.evidence = evidence; });
  const auto answer = send(worker_, *lease_, body);
  expect_refused(answer, ErrorCode::kEvidenceRejected);
  EXPECT_TRUE(answer.error().detail.starts_with("REPORT_DATA_MISMATCH: "));
  EXPECT_EQ(newest_records(1), (std::vector<std::string>{"evidence.appraised"}));
}

TEST_F(Reports, EvidenceOfAnotherPlatform_IsEnrolmentMismatch) {
  const VerificationReport made = report(*lease_, model_);
  const Bytes body = submission(worker_, made, [&](ReportSubmission& submitted) {
    const auto envelope = attestation::parse_envelope(submitted.envelope).value();
    submitted.evidence =
        evidence_for(report_report_data(made.nonce, worker_.key->public_key(), envelope.payload),
                     [](tdx::SimulationSpec& spec) { spec.platform.ppid.fill(0x77); });
  });
  expect_refused(send(worker_, *lease_, body), ErrorCode::kEnrolmentMismatch);
}

TEST_F(Reports, AnchorTakenAwaySince_IsRejected) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.dangerous_anchors.clear();
  put_appraisal(appraisal);
  const auto answer = send_report(worker_, *lease_, report(*lease_, model_));
  expect_refused(answer, ErrorCode::kEvidenceRejected);
  EXPECT_TRUE(answer.error().detail.starts_with("ROOT_CRL_SIGNATURE: "));
}

// --- differences

TEST_F(Reports, OtherSize_IsAMismatchThatNamesIt) {
  const auto answer = send_changed([](VerificationReport& made) {
    auto& entry = std::get<FileEntry>(made.entries[1]);
    entry = file_entry(entry.path, content(5'001, 2));
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
  EXPECT_EQ(job_row(job_).result, "mismatch");
  const Json difference = detail()["differences"][0];
  EXPECT_EQ(difference["kind"], "size");
  EXPECT_EQ(difference["entry"], 1);
  EXPECT_EQ(difference["path"], "weights/1.bin");
  EXPECT_EQ(difference["expected_size"], 5'000);
  EXPECT_EQ(difference["actual_size"], 5'001);
}

TEST_F(Reports, MissingAndExtraFiles_AreMismatches) {
  const auto answer = send_changed([](VerificationReport& made) {
    auto& entry = std::get<FileEntry>(made.entries[1]);
    entry = file_entry("weights/9.bin", content(5'000, 2));
  });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
  const Json differences = detail()["differences"];
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0]["kind"], "missing");
  EXPECT_EQ(differences[0]["path"], "weights/1.bin");
  EXPECT_EQ(differences[1]["kind"], "extra");
  EXPECT_EQ(differences[1]["path"], "weights/9.bin");
  EXPECT_FALSE(differences[1].contains("entry"));
}

TEST_F(Reports, NothingThere_IsMissingAltogether) {
  const auto answer = send_changed([](VerificationReport& made) { made.entries.clear(); });
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
  EXPECT_EQ(detail()["differences_total"], 2);
  EXPECT_EQ(detail()["differing"], "weights/0.bin missing");
}

TEST_F(Reports, OneByte_IsLocalisedThroughTheOutline) {
  const Bytes body = submission(worker_, flipped());
  const auto answer = send(worker_, *lease_, body);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kOutline);
  EXPECT_EQ(answer->entries, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(answer->span, kSpan);
  EXPECT_EQ(job_row(job_).state, storage::JobState::kOutline);
  EXPECT_EQ(job_row(job_).result, "") << "not before the last step";
  EXPECT_EQ(send(worker_, *lease_, body)->state, State::kOutline) << "asked again";

  const OutlineSubmission outline{kSpan, {{0, outline_digests(bytes_)}}};
  const auto done = send_outline(outline);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(done->state, State::kMismatch);
  const Json difference = detail()["differences"][0];
  EXPECT_EQ(difference["kind"], "changed");
  EXPECT_EQ(difference["ranges"], Json::parse("[[16384,24576]]"));
  EXPECT_EQ(detail()["differing"], "weights/0.bin bytes 16384-24576");
  EXPECT_EQ(send_outline(outline)->state, State::kMismatch) << "asked again";
  EXPECT_EQ(send(worker_, *lease_, body)->state, State::kMismatch);
  EXPECT_EQ(newest_records(2), (std::vector<std::string>{"evidence.appraised", "report.accepted"}));
}

TEST_F(Reports, OutlineThatDoesNotLeadToTheReportedRoot_IsRootMismatch) {
  ASSERT_EQ(send_report(worker_, *lease_, flipped())->state, State::kOutline);
  // The lie: the digests of the right bytes, or of others than those reported.
  expect_refused(send_outline({kSpan, {{0, model_.outline.entries[0]}}}), ErrorCode::kRootMismatch);
  Bytes others = bytes_;
  others[0] ^= 1;
  expect_refused(send_outline({kSpan, {{0, outline_digests(others)}}}), ErrorCode::kRootMismatch);
  auto few = outline_digests(bytes_);
  few.pop_back();
  expect_refused(send_outline({kSpan, {{0, few}}}), ErrorCode::kRootMismatch);
  expect_refused(send_outline({2 * kSpan, {{0, outline_digests(bytes_)}}}),
                 ErrorCode::kReportMismatch);
  expect_refused(send_outline({kSpan, {{1, outline_digests(bytes_)}}}), ErrorCode::kReportMismatch);
  EXPECT_TRUE(send_outline({kSpan, {{0, outline_digests(bytes_)}}}));
}

TEST_F(Reports, WorkerThatNeverSendsTheOutline_HasReportedAMismatch) {
  ASSERT_EQ(send_report(worker_, *lease_, flipped())->state, State::kOutline);
  clock_.advance(std::chrono::seconds(60));
  EXPECT_EQ(refusal(send_outline({kSpan, {{0, outline_digests(bytes_)}}})), ErrorCode::kLeaseLost);
  EXPECT_FALSE(lease_job(*services_, worker_.node, worker_.principal, {})->lease);
  const storage::JobRow job = job_row(job_);
  EXPECT_EQ(job.result, "mismatch");
  EXPECT_TRUE(job.report);
  EXPECT_EQ(job.detail["differences"][0]["path"], "weights/0.bin");
}

TEST_F(Reports, MismatchWhoseOutlineIsAwaited_CountsAtOnce) {
  ASSERT_EQ(send_report(worker_, *lease_, report(*lease_, model_))->state, State::kVerified);
  EXPECT_EQ(report_seen(worker_, model_)->result, "verified");
  job_ = new_job(model_, worker_.node).job.id;
  lease_ = lease(worker_);
  clock_.advance(std::chrono::seconds(10));
  const Timestamp reported_at = clock_.now();
  ASSERT_EQ(send_report(worker_, *lease_, flipped())->state, State::kOutline);
  // Whether the worker asks again or not.
  for (int day = 0; day < 3; ++day) {
    const auto seen = report_seen(worker_, model_);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->job, job_);
    EXPECT_EQ(seen->result, "mismatch");
    EXPECT_EQ(seen->differing, "weights/0.bin changed");
    EXPECT_EQ(seen->reported_at, reported_at);
    EXPECT_TRUE(seen->worker_measured);
    EXPECT_TRUE(seen->report);
    clock_.advance(std::chrono::hours(24));
  }
}

TEST_F(Reports, PartThatIsVerified_LeavesAMismatch) {
  ASSERT_EQ(send_changed([](VerificationReport& made) { made.entries.pop_back(); })->state,
            State::kMismatch);
  job_ = new_job(model_, worker_.node, [](JobRequest& request) { request.subset = {0}; }).job.id;
  lease_ = lease(worker_);
  ASSERT_EQ(send_changed([](VerificationReport& made) { made.entries.pop_back(); })->state,
            State::kVerified);
  EXPECT_EQ(report_seen(worker_, model_)->result, "mismatch");
}

TEST_F(Reports, OutlineWithoutAQuestion_IsAConflict) {
  EXPECT_EQ(refusal(send_outline({kSpan, {{0, model_.outline.entries[0]}}})), ErrorCode::kConflict);
}

TEST_F(Reports, RevokedAfterTheReport_IsRefusedAtTheNextStep) {
  ASSERT_EQ(send_report(worker_, *lease_, flipped())->state, State::kOutline);
  revoke(worker_.node);
  expect_refused(send_outline({kSpan, {{0, outline_digests(bytes_)}}}), ErrorCode::kNodeRevoked);
}

TEST_F(Reports, UnmeasuredWorker_IsSaidToBe) {
  services_->nodes.dangerous_allow_unmeasured = true;
  const auto nowhere = [](Enrolment& made) { made.request.platform.clear(); };
  ASSERT_TRUE(enrol_with(other_, nowhere, [](Enrolment& made) { made.evidence.reset(); }));
  const std::string job = new_job(model_, other_.node).job.id;
  const JobLease leased = lease(other_);
  const Bytes body = submission(other_, report(leased, model_),
                                [](ReportSubmission& made) { made.evidence.reset(); });
  ASSERT_EQ(send(other_, leased, body)->state, State::kVerified);
  EXPECT_FALSE(job_row(job).worker_measured);
}

// --- comparison alone

class Comparisons : public NodeTest {
 protected:
  VerificationReport made_ = {.job = {},
                              .node = {},
                              .nonce = {},
                              .lease = 1,
                              .artifact = model_.id,
                              .parameters = model_.manifest.artifact.parameters,
                              .scope = JobScope::kFiles,
                              .location = {},
                              .volume = {},
                              .pod = {},
                              .entries = model_.manifest.artifact.entries,
                              .not_covered = {},
                              .device = {},
                              .kernel_digest = {},
                              .check = "full",
                              .bytes = 0,
                              .started_at = {},
                              .finished_at = {}};
  Result<Comparison> compare(const std::vector<std::uint64_t>& subset = {}) {
    return compare_report(model_.manifest.artifact, subset, made_);
  }
};

TEST_F(Comparisons, Subset_LooksAtItsEntriesAlone) {
  EXPECT_EQ(refusal(compare({1})), ErrorCode::kReportMismatch) << "more than was asked for";
  made_.entries.erase(made_.entries.begin());
  const auto compared = compare({1});
  ASSERT_TRUE(compared);
  EXPECT_TRUE(compared->differences.empty());
  EXPECT_EQ(compared->covered, (std::vector<std::uint64_t>{1}));
}

TEST_F(Comparisons, NotCoveredThatDoesNotFit_IsReportMismatch) {
  const std::vector<std::vector<NotCovered>> lists = {
      {{0, "reported as well"}}, {{2, "no such entry"}}, {{1, ""}, {0, ""}}, {{0, ""}, {0, ""}}};
  for (const auto& list : lists) {
    made_.not_covered = list;
    EXPECT_EQ(refusal(compare()), ErrorCode::kReportMismatch);
  }
}

TEST_F(Comparisons, EntryTwice_IsReportMismatch) {
  made_.entries.push_back(made_.entries.front());
  EXPECT_EQ(refusal(compare()), ErrorCode::kReportMismatch);
}

TEST_F(Comparisons, TensorOfAnotherType_IsChangedAndCannotBeLocalised) {
  const Digest root = sha256(as_bytes("tensor"));
  Artifact artifact;
  artifact.entries = {TensorEntry{"w", "F16", {8}, "a.safetensors", 0, 16, root}};
  made_.parameters = artifact.parameters;
  made_.entries = {TensorEntry{"w", "I16", {8}, "a.safetensors", 0, 16, root}};
  const auto compared = compare_report(artifact, {}, made_);
  ASSERT_TRUE(compared);
  ASSERT_EQ(compared->differences.size(), 1U);
  EXPECT_EQ(compared->differences[0].kind, Difference::Kind::kChanged);
  EXPECT_FALSE(compared->differences[0].can_localise);
  EXPECT_EQ(to_json(compared->differences[0])["tensor"], "w");
  EXPECT_EQ(describe(compared->differences[0]), "a.safetensors#w changed");
}

}  // namespace
}  // namespace assay::server::test
