// SPDX-License-Identifier: Apache-2.0
// Contract of storage/node_store.h: verification jobs.
#include <algorithm>

#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

ArtifactId artifact_of(const char* name) { return ArtifactId(digest_of(name)); }

JobRow make_job(const std::string& id, const std::string& node = "gpu-1",
                const char* artifact = "model-a") {
  return {.id = id,
          .artifact = artifact_of(artifact),
          .model_name = "acme/demo",
          .scope = "files",
          .node = node,
          .location = "pvc://prod/demo",
          .subset = {0, 2},
          .created_by = "ci",
          .created_at = Timestamp(std::chrono::hours(5)),
          .state = JobState::kQueued,
          .token = 0,
          .lease_expires_at = std::nullopt,
          .pending = Json(),
          .result = "",
          .detail = Json::object(),
          .report = std::nullopt,
          .worker_measured = false,
          .finished_at = std::nullopt,
          .log_index = 0};
}

const ReportPlace kPlace{"pvc://prod/demo"};

// On all of the model.
JobRow make_whole_job(const std::string& id) {
  JobRow job = make_job(id);
  job.subset = Json::array();
  return job;
}

void lease(JobRow& job, Timestamp until) {
  job.state = JobState::kLeased;
  ++job.token;
  job.lease_expires_at = until;
}

void finish(JobRow& job, const std::string& result) {
  job.state = JobState::kDone;
  job.lease_expires_at.reset();
  job.pending = Json();
  job.result = result;
  job.finished_at = Timestamp(std::chrono::hours(6));
}

JobQuery filter(const std::string& node = "", const std::string& artifact = "",
                std::optional<bool> finished = std::nullopt, const std::string& after = "",
                std::size_t limit = 100) {
  return {node, artifact, finished, after, limit};
}

}  // namespace

void JobContract::SetUp() {
  StoreContract::SetUp();
  append(1);
}

void JobContract::put(const JobRow& job) {
  write([&](Transaction& transaction) { return transaction.put_job(job); });
}

ErrorCode JobContract::refusal(const JobRow& job) {
  return write_error([&](Transaction& transaction) { return transaction.put_job(job); });
}

void JobContract::report(JobRow& job, const std::string& result, Timestamp read_since) {
  finish(job, result);
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(job.report, transaction.put_document("x", as_bytes("report " + job.id)));
    job.volume = "pv-1";
    job.read_since = read_since;
    return transaction.put_job(job);
  });
}

std::vector<std::string> JobContract::ids(const JobQuery& query) {
  const auto jobs = snapshot()->jobs(query);
  EXPECT_TRUE(jobs) << to_string(jobs.error());
  std::vector<std::string> out;
  for (const JobRow& job : jobs.value_or(std::vector<JobRow>())) {
    out.push_back(job.id);
  }
  return out;
}

TEST_P(JobContract, Job_ThroughItsLife_EveryFieldKept) {
  JobRow job = make_job("job-1");
  append(2);
  job.log_index = 2;
  put(job);
  EXPECT_EQ(snapshot()->job("job-1"), job);
  lease(job, clock_.now() + std::chrono::seconds(60));
  put(job);
  EXPECT_EQ(snapshot()->job("job-1"), job);
  job.state = JobState::kOutline;
  job.pending = {{"entries", {1, 2}}, {"span", 1048576}};
  put(job);
  reopen();
  EXPECT_EQ(snapshot()->job("job-1"), job);
  job.worker_measured = true;
  job.detail = {{"differences", Json::array()}};
  report(job, "mismatch");
  reopen();
  EXPECT_EQ(snapshot()->job("job-1"), job);
  EXPECT_EQ(snapshot()->job("job-2").error().code, ErrorCode::kNotFound);
}

TEST_P(JobContract, Job_Done_IsFinal) {
  JobRow job = make_job("job-1");
  put(job);
  finish(job, "verified");
  put(job);
  JobRow changed = job;
  changed.result = "mismatch";
  EXPECT_EQ(refusal(changed), ErrorCode::kConflict);
  EXPECT_EQ(refusal(job), ErrorCode::kConflict);
  EXPECT_EQ(refusal(make_job("job-1")), ErrorCode::kConflict);
  EXPECT_EQ(snapshot()->job("job-1"), job);
}

TEST_P(JobContract, Job_WhatItAsksForAndItsToken_NeverGoBack) {
  JobRow job = make_job("job-1");
  lease(job, clock_.now());
  lease(job, clock_.now());
  put(job);
  JobRow older = job;
  older.token = 1;
  EXPECT_EQ(refusal(older), ErrorCode::kConflict);
  for (const auto& change : std::vector<std::function<void(JobRow&)>>{
           [](JobRow& row) { row.artifact = artifact_of("model-b"); },
           [](JobRow& row) { row.node = "gpu-2"; },
           [](JobRow& row) { row.scope = "device-memory"; },
           [](JobRow& row) { row.location = "pvc://prod/other"; },
           [](JobRow& row) { row.pod = "uid-1", row.pod_volume = "pv-1"; },
           [](JobRow& row) { row.location.clear(), row.instance = "main"; },
           [](JobRow& row) { row.subset = Json::array(); },
           [](JobRow& row) { row.model_name = "acme/other"; },
           [](JobRow& row) { row.created_by = "mallory"; },
       }) {
    JobRow changed = job;
    change(changed);
    EXPECT_EQ(refusal(changed), ErrorCode::kConflict);
  }
  EXPECT_EQ(snapshot()->job("job-1"), job);
}

TEST_P(JobContract, Job_ThatContradictsItself_IsRefused) {
  for (const auto& change : std::vector<std::function<void(JobRow&)>>{
           [](JobRow& row) { row.log_index = 1000; },
           [](JobRow& row) { row.location.clear(); },
           [](JobRow& row) { row.pod = "uid-1"; },
           [](JobRow& row) { row.instance = "main"; },  // that lies at a location
           [](JobRow& row) { row.location.clear(), row.pod_volume = "v", row.instance = "main"; },
           [](JobRow& row) { row.result = "verified"; },
           [](JobRow& row) { row.finished_at = Timestamp(); },
           [](JobRow& row) { row.state = JobState::kDone; },
           [](JobRow& row) { row.state = JobState::kLeased; },
           [](JobRow& row) {
             row.state = JobState::kLeased;
             row.token = 1;
           },
           [](JobRow& row) {
             row.state = JobState::kSpot;
             row.lease_expires_at = Timestamp();
           },
           [](JobRow& row) { row.token = UINT64_MAX; },
       }) {
    JobRow job = make_job("job-1");
    change(job);
    EXPECT_EQ(refusal(job), ErrorCode::kInvalidParameter);
  }
  JobRow job = make_job("job-1");
  job.report = DocumentId(digest_of("not stored"));
  EXPECT_EQ(refusal(job), ErrorCode::kNotFound);
  EXPECT_EQ(snapshot()->job("job-1").error().code, ErrorCode::kNotFound);
}

// --- what a worker gets next

TEST_P(JobContract, NextJob_IsTheOldestOfTheNodeThatNobodyHas) {
  const Timestamp now = clock_.now();
  EXPECT_EQ(snapshot()->next_job("gpu-1", now).error().code, ErrorCode::kNotFound);
  // Ids that sort against the order of creation: that must not matter.
  JobRow first = make_job("job-9");
  put(make_job("job-8", "gpu-2"));
  put(first);
  put(make_job("job-7"));
  EXPECT_EQ(snapshot()->next_job("gpu-1", now)->id, "job-9");
  lease(first, now + std::chrono::seconds(60));
  put(first);
  EXPECT_EQ(snapshot()->next_job("gpu-1", now)->id, "job-7");
  EXPECT_EQ(snapshot()->next_job("gpu-1", now + std::chrono::milliseconds(59999))->id, "job-7");
  EXPECT_EQ(snapshot()->next_job("gpu-1", now + std::chrono::seconds(60))->id, "job-9");
  EXPECT_EQ(snapshot()->next_job("gpu-2", now)->id, "job-8");
  EXPECT_EQ(snapshot()->next_job("gpu-3", now).error().code, ErrorCode::kNotFound);
}

TEST_P(JobContract, NextJob_LeaseRunsOutInAnyState_ButNotWhenDone) {
  const Timestamp now = clock_.now();
  JobRow job = make_job("job-1");
  put(job);
  lease(job, now + std::chrono::seconds(60));
  const Timestamp later = now + std::chrono::seconds(61);
  for (const JobState state : {JobState::kLeased, JobState::kOutline, JobState::kSpot}) {
    job.state = state;
    put(job);
    EXPECT_EQ(snapshot()->next_job("gpu-1", now).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(snapshot()->next_job("gpu-1", later)->id, "job-1");
  }
  finish(job, "failed");
  put(job);
  EXPECT_EQ(snapshot()->next_job("gpu-1", later).error().code, ErrorCode::kNotFound);
}

// --- reports

TEST_P(JobContract, NewestReport_FollowsTheOrderOfFinishing) {
  JobRow first = make_whole_job("job-1");
  JobRow second = make_whole_job("job-2");
  JobRow third = make_whole_job("job-3");
  for (const JobRow& job : {first, second, third}) {
    put(job);
  }
  const auto newest = [&] {
    return snapshot()->newest_report("gpu-1", artifact_of("model-a"), "files", kPlace);
  };
  EXPECT_EQ(newest().error().code, ErrorCode::kNotFound);
  report(second, "verified");
  EXPECT_EQ(newest()->id, "job-2");
  report(first, "mismatch");
  EXPECT_EQ(newest()->id, "job-1") << "made earlier, finished later";
  finish(third, "failed");
  put(third);
  EXPECT_EQ(newest()->id, "job-1") << "a job without a report says nothing";
  reopen();
  EXPECT_EQ(newest(), first);
}

// A worker may send late what it read early: bytes that were found wrong meanwhile stay wrong.
TEST_P(JobContract, NewestReport_VerifiedBeforeAReportSpokeAgainst_ChangesNothing) {
  const auto newest = [&] {
    return snapshot()->newest_report("gpu-1", artifact_of("model-a"), "files", kPlace)->id;
  };
  const Timestamp finished(std::chrono::hours(6));
  int number = 1;
  for (const char* against : {"mismatch", "incomplete", "failed"}) {
    JobRow slow = make_whole_job("job-" + std::to_string(number++));
    JobRow quick = make_whole_job("job-" + std::to_string(number++));
    JobRow again = make_whole_job("job-" + std::to_string(number++));
    JobRow after = make_whole_job("job-" + std::to_string(number++));
    for (const JobRow& job : {slow, quick, again, after}) {
      put(job);
    }
    report(quick, against);
    report(slow, "verified", finished - std::chrono::milliseconds(1));
    EXPECT_EQ(newest(), quick.id) << against;
    reopen();
    EXPECT_EQ(newest(), quick.id);
    report(again, "verified", finished);
    EXPECT_EQ(newest(), again.id) << "read after what was found";
    report(after, "verified", finished - std::chrono::milliseconds(1));
    EXPECT_EQ(newest(), again.id) << "what was found is not forgotten";
  }
}

TEST_P(JobContract, NewestReport_IsOfThatNodeArtifactAndScope) {
  JobRow job = make_whole_job("job-1");
  put(job);
  report(job, "verified");
  const auto code = [&](const char* node, const char* artifact, const char* scope) {
    return snapshot()->newest_report(node, artifact_of(artifact), scope, kPlace).has_value();
  };
  EXPECT_TRUE(code("gpu-1", "model-a", "files"));
  EXPECT_FALSE(code("gpu-2", "model-a", "files"));
  EXPECT_FALSE(code("gpu-1", "model-b", "files"));
  EXPECT_FALSE(code("gpu-1", "model-a", "device-memory"));
}

TEST_P(JobContract, NewestReport_OnAPartCountsUnlessItIsVerified) {
  const auto newest = [&] {
    return snapshot()->newest_report("gpu-1", artifact_of("model-a"), "files", kPlace);
  };
  JobRow part = make_whole_job("job-1");
  part.subset = Json::array({0});
  put(part);
  report(part, "verified");
  EXPECT_FALSE(newest());
  JobRow whole = make_whole_job("job-2");
  put(whole);
  report(whole, "verified");
  int number = 3;
  for (const char* result : {"verified", "mismatch", "verified", "failed"}) {
    part = make_whole_job("job-" + std::to_string(number++));
    part.subset = Json::array({0});
    put(part);
    report(part, result);
    const bool verified = part.result == "verified";
    EXPECT_EQ(newest()->id == part.id, !verified) << part.id;
  }
}

// Each place has its own newest report, finished or open.
TEST_P(JobContract, NewestReport_IsOfItsPlace) {
  const std::vector<ReportPlace> places = {{"pvc://prod/demo"},
                                           {"pvc://prod/other"},
                                           {"pvc://prod/demo", "uid-1", "pv-1"},
                                           {"pvc://prod/demo", "uid-2", "pv-1"},
                                           {"", "uid-1", "cache"},
                                           {"", "uid-1", "more"},
                                           {"", "uid-1", "", "main"},
                                           {"", "", "", "main"}};
  const auto newest = [&](const ReportPlace& place) {
    return snapshot()->newest_report("gpu-1", artifact_of("model-a"), "files", place);
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t other = i; other < places.size(); ++other) {
      EXPECT_FALSE(newest(places[other])) << i << " " << other;
    }
    JobRow job = make_whole_job("job-" + std::to_string(i));
    job.location = places[i].location;
    job.pod = places[i].pod;
    job.pod_volume = places[i].pod_volume;
    job.instance = places[i].instance;
    put(job);
    if (i % 2 == 0) {
      report(job, "verified");
    } else {
      lease(job, clock_.now());
      job.state = JobState::kOutline;
      put(job);
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(newest(places[i])->id, "job-" + std::to_string(i));
  }
  const auto listed = [&](const std::string& pod, std::size_t limit) {
    return snapshot()->report_places("gpu-1", artifact_of("model-a"), "files", pod, limit).value();
  };
  EXPECT_EQ(listed("", 9), (std::vector<ReportPlace>{
                               {"", "", "", "main"}, {"pvc://prod/demo"}, {"pvc://prod/other"}}));
  EXPECT_EQ(listed("", 1).size(), 1U);
  EXPECT_EQ(listed("uid-1", 9).size(), 4U);
  EXPECT_EQ(listed("uid-2", 9).size(), 1U);
  EXPECT_EQ(listed("uid-3", 9).size(), 0U);
  EXPECT_EQ(snapshot()->report_places("gpu-2", artifact_of("model-a"), "files", "", 9)->size(), 0U);
}

TEST_P(JobContract, NewestReport_OpenJobThatSpeaksAgainstTheBytes_ComesFirst) {
  const auto newest = [&] {
    return snapshot()->newest_report("gpu-1", artifact_of("model-a"), "files", kPlace)->id;
  };
  JobRow open = make_whole_job("job-1");
  put(open);
  JobRow done = make_whole_job("job-2");
  put(done);
  report(done, "verified");
  EXPECT_EQ(newest(), "job-2");
  lease(open, clock_.now() + std::chrono::seconds(60));
  put(open);
  EXPECT_EQ(newest(), "job-2") << "nothing was said yet";
  open.state = JobState::kOutline;
  put(open);
  EXPECT_EQ(newest(), "job-1") << "a mismatch is in";
  open.state = JobState::kSpot;
  put(open);
  EXPECT_EQ(newest(), "job-2") << "there is time to answer";
  clock_.advance(std::chrono::seconds(60));
  EXPECT_EQ(newest(), "job-1") << "nobody did";
  lease(open, clock_.now() + std::chrono::seconds(60));
  put(open);
  EXPECT_EQ(newest(), "job-2");
  open.report = done.report;
  put(open);
  EXPECT_EQ(newest(), "job-1") << "it was not answered before";
  reopen();
  EXPECT_EQ(newest(), "job-1");
}

// --- lists

TEST_P(JobContract, Jobs_EveryFilter_NewestFirst) {
  int number = 0;
  for (const char* node : {"gpu-1", "gpu-2"}) {
    for (const char* artifact : {"model-a", "model-b"}) {
      for (const bool done : {false, true}) {
        JobRow job = make_job("job-" + std::to_string(number++), node, artifact);
        put(job);
        if (done) {
          finish(job, "failed");
          put(job);
        }
      }
    }
  }
  using Ids = std::vector<std::string>;
  const std::string a = artifact_of("model-a").text();
  EXPECT_EQ(ids(filter()),
            (Ids{"job-7", "job-6", "job-5", "job-4", "job-3", "job-2", "job-1", "job-0"}));
  EXPECT_EQ(ids(filter("gpu-1")), (Ids{"job-3", "job-2", "job-1", "job-0"}));
  EXPECT_EQ(ids(filter("", a)), (Ids{"job-5", "job-4", "job-1", "job-0"}));
  EXPECT_EQ(ids(filter("", "", true)), (Ids{"job-7", "job-5", "job-3", "job-1"}));
  EXPECT_EQ(ids(filter("gpu-2", a)), (Ids{"job-5", "job-4"}));
  EXPECT_EQ(ids(filter("gpu-2", "", false)), (Ids{"job-6", "job-4"}));
  EXPECT_EQ(ids(filter("", a, false)), (Ids{"job-4", "job-0"}));
  EXPECT_EQ(ids(filter("gpu-1", a, true)), Ids{"job-1"});
  EXPECT_EQ(ids(filter("gpu-9")), Ids());
}

TEST_P(JobContract, Jobs_Pages_ContinueAfterAnId) {
  for (int i = 0; i < 5; ++i) {
    put(make_job("job-" + std::to_string(i), i == 2 ? "gpu-2" : "gpu-1"));
  }
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(filter("", "", std::nullopt, "", 2)), (Ids{"job-4", "job-3"}));
  EXPECT_EQ(ids(filter("", "", std::nullopt, "job-3", 2)), (Ids{"job-2", "job-1"}));
  EXPECT_EQ(ids(filter("gpu-1", "", std::nullopt, "job-2", 9)), (Ids{"job-1", "job-0"}));
  EXPECT_EQ(ids(filter("", "", std::nullopt, "job-0")), Ids());
  for (const JobQuery& query :
       {filter("", "", std::nullopt, "job-9"), filter("", "", std::nullopt, "", 0),
        filter("", "", std::nullopt, "", 1001)}) {
    EXPECT_EQ(snapshot()->jobs(query).error().code, ErrorCode::kInvalidParameter);
  }
}

// A decision rests on reports: what only moves a job through the queue must not make it judged
// again.
TEST_P(JobContract, NodeVersion_RisesWithWhatMayCount) {
  JobRow job = make_whole_job("job-1");
  const auto version = [&] { return snapshot()->node_version("gpu-1").value(); };
  put(job);
  lease(job, Timestamp(std::chrono::hours(6)));
  put(job);
  EXPECT_EQ(version(), 0U);
  job.state = JobState::kSpot;
  put(job);
  EXPECT_EQ(version(), 1U);
  lease(job, Timestamp(std::chrono::hours(7)));
  put(job);
  EXPECT_EQ(version(), 2U) << "the check that was open is not any more";
  put(job);
  EXPECT_EQ(version(), 2U);
  report(job, "mismatch");
  EXPECT_EQ(version(), 3U);
  EXPECT_EQ(snapshot()->node_version("gpu-2"), 0U);
}

}  // namespace assay::storage
