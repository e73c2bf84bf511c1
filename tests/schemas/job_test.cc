// SPDX-License-Identifier: Apache-2.0
// Jobs, reports and what follows them: reading, writing, and what is refused.
#include <gtest/gtest.h>

#include "schemas/claim.h"
#include "tests/schemas/node_samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::sample_evidence;
using test::sample_job_lease;
using test::sample_job_request;
using test::sample_report;
using test::where_of;

Json changed(Json json, const char* place, const Json& value) {
  json[Json::json_pointer(place)] = value;
  return json;
}

// --- requests

TEST(JobRequest, RoundTrips) {
  JobRequest request = sample_job_request();
  for (const bool bare : {false, true}) {
    if (bare) {
      request.location.clear();
      request.pod = JobPod{"uid-1", "cache"};
      request.subset.clear();
    }
    const auto read = parse_job_request(bytes_of(to_json(request)));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->artifact, request.artifact);
    EXPECT_EQ(read->scope, request.scope);
    EXPECT_EQ(read->node, request.node);
    EXPECT_EQ(read->location, request.location);
    EXPECT_EQ(read->pod, request.pod);
    EXPECT_EQ(read->subset, request.subset);
  }
}

TEST(JobRequest, WithoutScope_IsAboutFiles) {
  Json json = to_json(sample_job_request());
  json.erase("scope");
  EXPECT_EQ(parse_job_request(bytes_of(json))->scope, JobScope::kFiles);
}

TEST(JobRequest, Locations_HaveOneSpelling) {
  Json json = to_json(sample_job_request());
  json["location"] = "PVC://inference/models";
  EXPECT_EQ(parse_job_request(bytes_of(json))->location, "pvc://inference/models");
}

TEST(Claim, IsTheBeginningOfItsLocations) {
  const auto claim = claim_in("pvc://inference/models/acme/llm");
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->location, "pvc://inference/models");
  EXPECT_EQ(claim->name_space, "inference");
  EXPECT_EQ(claim->name, "models");
  EXPECT_EQ(claim->below, "acme/llm");
  EXPECT_EQ(claim_in("pvc://inference/models")->below, "");
  for (const char* other : {"", "pvc://", "pvc://inference", "pvc://inference/", "pvc:///models",
                            "hostpath:///inference/models", "xpvc://inference/models"}) {
    EXPECT_FALSE(claim_in(other)) << other;
  }
}

TEST(JobRequest, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/artifact", "sha256:" + std::string(64, 'a'), "schema-violation"},
      {"/scope", "gpu", "schema-violation"},
      {"/node", "", "schema-violation"},
      {"/location", "", "schema-violation"},
      {"/location", "/etc", "schema-violation"},
      {"/location", "pvc://a/b/../c", "schema-violation"},
      {"/location", "file:///etc", "schema-violation"},
      {"/location", "pvc://a/" + std::string(2048, 'b'), "schema-violation"},
      {"/path", "demo", "unknown-member"},
      {"/pod", {{"uid", "uid-1"}}, "schema-violation"},
      {"/pod", {{"uid", ".."}, {"volume", "v"}}, "schema-violation"},
      {"/pod", {{"uid", "a/b"}, {"volume", "v"}}, "schema-violation"},
      {"/pod", {{"uid", "uid-1"}, {"volume", ".."}}, "schema-violation"},
      {"/pod", {{"uid", "uid-1"}, {"volume", "a..b"}}, "schema-violation"},
      {"/pod", {{"uid", "uid-1"}, {"volume", "a/b"}}, "schema-violation"},
      {"/subset", {2, 0}, "schema-violation"},
      {"/subset", {2, 2}, "schema-violation"},
      {"/subset", {-1}, "schema-violation"},
      {"/subset", {1048576}, "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(
        code_of(parse_job_request(bytes_of(changed(to_json(sample_job_request()), place, value)))),
        code)
        << place << value;
  }
}

// --- leases

TEST(JobLease, RoundTrips) {
  const JobLease lease = sample_job_lease();
  EXPECT_EQ(to_json(lease)["protocol"], kJobProtocolVersion);
  const auto read = parse_job_lease(bytes_of(to_json(lease)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->job, lease.job);
  EXPECT_EQ(read->artifact, lease.artifact);
  EXPECT_EQ(read->model_name, lease.model_name);
  EXPECT_EQ(read->scope, lease.scope);
  EXPECT_EQ(read->node, lease.node);
  EXPECT_EQ(read->location, lease.location);
  EXPECT_EQ(read->pod, lease.pod);
  EXPECT_EQ(read->subset, lease.subset);
  EXPECT_EQ(read->token, lease.token);
  EXPECT_EQ(read->expires_at, lease.expires_at);
  EXPECT_EQ(read->lease_seconds, lease.lease_seconds);
  EXPECT_EQ(to_json(read->challenge), to_json(lease.challenge));
}

TEST(JobLease, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/job", "job-1", "schema-violation"},
      {"/job", "0198f0a2-7c3e-7bbb-8123-456789abcdee", "challenge-mismatch"},
      {"/node", "gpu-2", "challenge-mismatch"},
      {"/challenge/purpose", "spot", "challenge-mismatch"},
      {"/challenge/nonce", "", "schema-violation"},
      {"/challenge/expires_at", "2026-13-01T00:00:00Z", "invalid-time"},
      {"/location", "..", "schema-violation"},
      {"/location", "hostpath:///data", "invalid-parameter"},  // no kubelet mounts it
      {"/pod/uid", "../..", "schema-violation"},
      {"/token", 0, "schema-violation"},
      {"/lease_seconds", 0, "schema-violation"},
      {"/subset", {1, 1}, "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(
        code_of(parse_job_lease(bytes_of(changed(to_json(sample_job_lease()), place, value)))),
        code)
        << place << value;
  }
}

TEST(JobLease, NamesALocationUnlessAPodFillsItsVolume) {
  JobLease lease = sample_job_lease();
  lease.location.clear();
  EXPECT_TRUE(parse_job_lease(bytes_of(to_json(lease))));
  lease.pod.reset();
  const auto read = parse_job_lease(bytes_of(to_json(lease)));
  EXPECT_EQ(code_of(read), "schema-violation");
  EXPECT_EQ(where_of(read), "/location");
}

TEST(JobLease, OtherProtocol_IsNamedWhateverElseItSays) {
  for (const Json& version : {Json(0), Json(2), Json("1"), Json()}) {
    Json json = changed(to_json(sample_job_lease()), "/protocol", version);
    json["added_later"] = true;
    const auto read = parse_job_lease(bytes_of(json));
    EXPECT_EQ(code_of(read), "schema-violation");
    EXPECT_EQ(where_of(read), "/protocol");
  }
}

// --- reports

TEST(VerificationReport, RoundTrips) {
  VerificationReport report = sample_report();
  EXPECT_EQ(parse_verification_report(bytes_of(to_json(report))), report);
  report.kernel_digest.reset();
  report.not_covered.clear();
  report.entries.clear();
  report.location = "hostpath:///data";
  report.volume.clear();
  report.pod.reset();
  EXPECT_EQ(parse_verification_report(bytes_of(to_json(report))), report);
}

TEST(VerificationReport, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/job", "job-1", "schema-violation"},
      {"/node", "GPU", "schema-violation"},
      {"/nonce", "00", "schema-violation"},
      {"/lease", 0, "schema-violation"},
      {"/artifact", std::string(64, 'a'), "schema-violation"},
      {"/artifact", "assay-tree-v1-sha384:" + std::string(96, 'a'), "schema-violation"},
      {"/parameters/chunk_size", 4097, "schema-violation"},
      {"/parameters/tree", "assay-tree-v2", "schema-violation"},
      {"/parameters/hash", "sha384", "schema-violation"},
      {"/scope", "disk", "schema-violation"},
      {"/location", "hostpath:///data", "schema-violation"},  // has no volume
      {"/volume", "../etc", "schema-violation"},
      {"/volume", nullptr, "schema-violation"},
      {"/entries/0/size", -1, "schema-violation"},
      {"/entries/0/path", "../a.bin", "invalid-path"},
      {"/entries/0/path", "z.bin", "schema-violation"},  // out of order
      {"/entries/1/path", "a.bin", "schema-violation"},  // twice
      {"/entries/0/root", std::string(96, 'a'), "invalid-digest"},
      {"/entries/2/offset", 62, "schema-violation"},  // beyond its file
      {"/entries/2/dtype", "F32", "schema-violation"},
      {"/entries/0/extra", 1, "unknown-member"},
      {"/not_covered/1/entry", 3, "schema-violation"},
      {"/not_covered/0/reason", "", "schema-violation"},
      {"/device/id", "", "schema-violation"},
      {"/kernel_digest", std::string(64, 'a'), "schema-violation"},
      {"/check", "resident", "schema-violation"},
      {"/bytes", 1.5, "schema-violation"},
      {"/started_at", "yesterday", "schema-violation"},
      {"/finished_at", "2026-01-02T25:04:06.001Z", "invalid-time"},
      {"/extra", 1, "schema-violation"},
      {"/extra", Json(), "schema-violation"},
      {"/extra/0/path", "../x", "invalid-path"},
      {"/extra/0/path", "x/y", "schema-violation"},  // twice
      {"/extra/0/path", "z", "schema-violation"},    // out of order
      {"/extra/0/size", -1, "schema-violation"},
      {"/extra_count", 1, "schema-violation"},                    // fewer than are listed
      {"/read_protection/weakest", "lease", "schema-violation"},  // there are weaker ones
      {"/read_protection/weakest", "best", "schema-violation"},
      {"/read_protection/files/read-only-mount", 0, "schema-violation"},
      {"/read_protection/files/none", -1, "schema-violation"},
      {"/read_protection/files/more", 1, "unknown-member"},
      {"/read_protection/files", Json::object(), "schema-violation"},
      {"/parameters/ignore", Json::array(), "schema-violation"},
      {"/parameters/follow_symlinks", false, "schema-violation"},
      {"/more", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_verification_report(
                  bytes_of(changed(to_json(sample_report()), place, value)))),
              code)
        << place << value;
  }
}

TEST(VerificationReport, TensorsBeforeFiles_AreRefused) {
  VerificationReport report = sample_report();
  std::swap(report.entries[0], report.entries[2]);
  EXPECT_EQ(code_of(parse_verification_report(bytes_of(to_json(report)))), "schema-violation");
}

// A subset may name a tensor and not its file, with other files beside it.
TEST(VerificationReport, TensorWithoutItsFile_IsTakenInOrderOnly) {
  VerificationReport report = sample_report();
  const Entry file = report.entries[0];
  const Entry tensor = report.entries[2];
  const Entry later = TensorEntry{"t", "U8", {3}, "z.safetensors", 61, 3, test::digest_of("t")};
  for (const std::vector<Entry>& entries :
       {std::vector<Entry>{tensor}, {file, tensor}, {file, tensor, later}}) {
    report.entries = entries;
    EXPECT_EQ(parse_verification_report(bytes_of(to_json(report))), report);
  }
  for (const std::vector<Entry>& entries :
       {std::vector<Entry>{tensor, file}, {file, later, tensor}, {file, tensor, tensor}}) {
    report.entries = entries;
    EXPECT_EQ(code_of(parse_verification_report(bytes_of(to_json(report)))), "schema-violation");
  }
}

TEST(VerificationReport, EveryTruncation_IsRefused) {
  const std::string text = to_json(sample_report()).dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_verification_report(as_bytes(text.substr(0, size)))) << size;
  }
}

TEST(ReportSubmission, RoundTrips) {
  ReportSubmission submission{to_bytes("{\"payload\": \"\"}"), sample_evidence()};
  auto read = parse_report_submission(bytes_of(to_json(submission)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->envelope, submission.envelope);
  ASSERT_TRUE(read->evidence);
  EXPECT_EQ(read->evidence->quote, submission.evidence->quote);
  submission.evidence.reset();
  Json bare = to_json(submission);
  EXPECT_TRUE(bare["evidence"].is_null());
  EXPECT_FALSE(parse_report_submission(bytes_of(bare))->evidence);
  bare.erase("evidence");
  EXPECT_FALSE(parse_report_submission(bytes_of(bare))->evidence);
}

TEST(ReportSubmission, Changes_AreRefused) {
  const Json good = to_json(ReportSubmission{to_bytes("{}"), sample_evidence()});
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/envelope", "", "schema-violation"},
      {"/envelope", "e30", "invalid-encoding"},
      {"/evidence", "tdx", "schema-violation"},
      {"/evidence", false, "schema-violation"},
      {"/evidence/quote", "A", "invalid-encoding"},
      {"/evidence/extra", 1, "unknown-member"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_report_submission(bytes_of(changed(good, place, value)))), code)
        << place << value;
  }
}

// --- answers

TEST(ReportAnswer, RoundTrips) {
  using State = ReportAnswer::State;
  for (const ReportAnswer& answer : {ReportAnswer{State::kVerified, {}, 0, {}, {}},
                                     ReportAnswer{State::kMismatch, {}, 0, {}, {}},
                                     ReportAnswer{State::kIncomplete, {}, 0, {}, {}},
                                     test::outline_answer(), test::spot_answers()}) {
    const auto read = parse_report_answer(bytes_of(to_json(answer)));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->state, answer.state);
    EXPECT_EQ(read->entries, answer.entries);
    EXPECT_EQ(read->span, answer.span);
    EXPECT_EQ(read->spans, answer.spans);
    EXPECT_EQ(to_json(*read), to_json(answer));
  }
}

TEST(ReportAnswer, Changes_AreRefused) {
  const Json outline = to_json(test::outline_answer());
  const Json spot = to_json(test::spot_answers());
  const std::tuple<Json, const char*, Json, const char*> changes[] = {
      {outline, "/state", "good", "schema-violation"},
      {outline, "/state", "verified", "schema-violation"},
      {outline, "/state", "spot", "schema-violation"},
      {outline, "/entries", Json::array(), "schema-violation"},
      {outline, "/entries", {2, 0}, "schema-violation"},
      {outline, "/span", 1048577, "schema-violation"},
      {outline, "/span", 2048, "schema-violation"},
      {outline, "/extra", 1, "unknown-member"},
      {spot, "/state", "outline", "schema-violation"},
      {spot, "/state", "mismatch", "schema-violation"},
      {spot, "/spans/0/index", -1, "schema-violation"},
      {spot, "/challenge/purpose", "report", "challenge-mismatch"},
      {spot, "/challenge/expires_at", "2026-02-30T00:00:00Z", "invalid-time"}};
  for (const auto& [good, place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_report_answer(bytes_of(changed(good, place, value)))), code)
        << place << value;
  }
  for (const char* member : {"entries", "span"}) {
    Json cut = outline;
    cut.erase(member);
    EXPECT_EQ(code_of(parse_report_answer(bytes_of(cut))), "schema-violation") << member;
  }
  for (const char* member : {"spans", "span", "challenge"}) {
    Json cut = spot;
    cut.erase(member);
    EXPECT_EQ(code_of(parse_report_answer(bytes_of(cut))), "schema-violation") << member;
  }
}

TEST(OutlineSubmission, RoundTrips) {
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    const Digest digest = sha(algorithm, as_bytes("span"));
    const OutlineSubmission submission{4096, {{0, {digest, digest}}, {5, {}}}};
    const auto read = parse_outline_submission(bytes_of(to_json(submission)), algorithm);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(to_json(*read), to_json(submission));
    ASSERT_EQ(read->entries.size(), 2U);
    EXPECT_EQ(read->entries[0].digests, submission.entries[0].digests);
  }
}

TEST(OutlineSubmission, Changes_AreRefused) {
  const Digest digest = test::digest_of("span");
  const Json good = to_json(OutlineSubmission{4096, {{0, {digest}}, {5, {digest}}}});
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/span", 4095, "schema-violation"},
      {"/span", 12288, "schema-violation"},
      {"/entries", Json::array(), "schema-violation"},
      {"/entries/1/entry", 0, "schema-violation"},
      {"/entries/0/digests/0", std::string(64, 'A'), "invalid-digest"},
      {"/entries/0/digests/0", std::string(96, 'a'), "invalid-digest"},
      {"/entries/0/digests/0", std::string(63, 'a'), "schema-violation"},
      {"/entries/0/extra", 1, "unknown-member"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_outline_submission(bytes_of(changed(good, place, value)),
                                               HashAlgorithm::kSha256)),
              code)
        << place << value;
  }
}

TEST(SpotSubmission, RoundTrips) {
  const SpotSubmission submission{test::sample_nonce(),
                                  {test::digest_of("a"), test::digest_of("b")}};
  const auto read = parse_spot_submission(bytes_of(to_json(submission)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->nonce, submission.nonce);
  EXPECT_EQ(read->answers, submission.answers);
}

TEST(SpotSubmission, Changes_AreRefused) {
  const Json good = to_json(SpotSubmission{test::sample_nonce(), {test::digest_of("a")}});
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/nonce", "", "schema-violation"},
      {"/answers", Json::array(), "schema-violation"},
      {"/answers/0", std::string(64, 'A'), "schema-violation"},
      {"/answers/0", std::string(96, 'a'), "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_spot_submission(bytes_of(changed(good, place, value)))), code)
        << place << value;
  }
}

}  // namespace
}  // namespace assay
