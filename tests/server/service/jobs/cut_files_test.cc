// SPDX-License-Identifier: Apache-2.0
// Jobs about files that are cut into segments: where the difference lies, and what spot checks
// draw.
#include <algorithm>
#include <map>

#include "schemas/core/sha.h"
#include "server/service/jobs/compare_report.h"
#include "server/service/jobs/spot_check.h"
#include "tests/server/service/node_fixture.h"
#include "tests/support/cut_file.h"

namespace assay::server::test {
namespace {

using State = ReportAnswer::State;

class CutFiles : public NodeTest {
 protected:
  CutFiles() {
    enrol_ok(worker_);
    store_model(cut_);
    job_ = new_job(cut_, worker_.node).job.id;
    lease_ = lease(worker_);
    made_ = report(*lease_, cut_);
  }

  FileEntry& file() { return std::get<FileEntry>(made_->entries[0]); }
  TensorEntry& tensor(std::size_t i) { return std::get<TensorEntry>(made_->entries[i + 1]); }
  // Sets the root of the file that the reported header and tensors lead to.
  void lead() {
    file() = assay::test::cut_file(file().path, file().size, *file().cut, {tensor(0), tensor(1)},
                                   made_->parameters);
  }
  Result<ReportAnswer> send_made() { return send_report(worker_, *lease_, *made_); }
  Json detail() { return job_row(job_).detail; }

  static Digest other() { return sha256(as_bytes("other")); }

  Model cut_ = make_cut_model();
  std::string job_;
  std::optional<JobLease> lease_;
  std::optional<VerificationReport> made_;
};

TEST_F(CutFiles, EverythingAsInTheManifest_IsVerified) {
  const auto answer = send_made();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kVerified);
}

TEST_F(CutFiles, ChangedTensor_IsTheOnlyDifference) {
  Bytes bytes = cut_.files[0];
  bytes[21'000 + 9000] ^= 1;
  const ByteView part = ByteView(bytes).subspan(21'000);
  tensor(1).root = file_entry("x", part).root;
  lead();
  const auto asked = send_made();
  ASSERT_TRUE(asked) << to_string(asked.error());
  EXPECT_EQ(asked->state, State::kOutline);
  EXPECT_EQ(asked->entries, (std::vector<std::uint64_t>{2}));
  const OutlineSubmission outline{kSpan, {{2, outline_digests(part)}}};
  const auto done = submit_outline(*services_, {job_, lease_->token, worker_.principal},
                                   as_bytes(to_json(outline).dump()));
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(detail()["differences_total"], 1);
  EXPECT_EQ(detail()["differences"][0]["tensor"], "b");
  EXPECT_EQ(detail()["differences"][0]["ranges"], Json::parse("[[8192,16384]]"));
}

TEST_F(CutFiles, ChangedHeader_IsLocalisedInTheFile) {
  Bytes bytes = cut_.files[0];
  bytes[3] ^= 1;
  const ByteView header = ByteView(bytes).first(1000);
  file().cut->root = file_entry("x", header).root;
  lead();
  const auto asked = send_made();
  ASSERT_TRUE(asked) << to_string(asked.error());
  EXPECT_EQ(asked->entries, (std::vector<std::uint64_t>{0}));
  const OutlineSubmission outline{kSpan, {{0, outline_digests(header)}}};
  ASSERT_TRUE(submit_outline(*services_, {job_, lease_->token, worker_.principal},
                             as_bytes(to_json(outline).dump())));
  EXPECT_EQ(detail()["differences"][0]["ranges"], Json::parse("[[0,1000]]"));
}

// Padding, or a lie: nothing but the file differs.
TEST_F(CutFiles, RootOfTheFileAlone_IsAMismatch) {
  file().root = other();
  const auto answer = send_made();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch);
  EXPECT_EQ(detail()["differing"], "weights/0.bin changed");
}

// The tensors do not account for what the report says of the file.
TEST_F(CutFiles, TensorsThatDoNotLeadToTheFile_HideNothing) {
  tensor(0).root = other();
  ASSERT_TRUE(send_made());
  EXPECT_EQ(job_row(job_).result, "") << "asked for the outline of the tensor";
  const auto compared = compare_report(cut_.manifest.artifact, {}, *made_);
  ASSERT_EQ(compared->differences.size(), 1U) << "the file is as it was signed";
  file().root = other();
  const auto both = compare_report(cut_.manifest.artifact, {}, *made_);
  ASSERT_EQ(both->differences.size(), 2U);
  EXPECT_FALSE(both->differences[0].can_localise);
}

TEST_F(CutFiles, FileThatNoLongerParses_IsAMismatch) {
  made_->entries = {FileEntry{file().path, file().size, file().root}};
  made_->not_covered = {{1, "malformed-safetensors"}, {2, "malformed-safetensors"}};
  const auto answer = send_made();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kMismatch) << "the same root, and no cut";
}

TEST_F(CutFiles, TensorsOfASubset_NeedNoFile) {
  ASSERT_TRUE(send_made());
  job_ = new_job(cut_, worker_.node, [](JobRequest& request) { request.subset = {2}; }).job.id;
  lease_ = lease(worker_);
  VerificationReport part = report(*lease_, cut_);
  part.entries = {part.entries[2]};
  const auto answer = send_report(worker_, *lease_, part);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kVerified);
}

// --- spot checks

TEST_F(CutFiles, SpansAreDrawnFromEachByteOnce) {
  const Artifact& artifact = cut_.manifest.artifact;
  for (const std::vector<std::uint64_t>& covered :
       {std::vector<std::uint64_t>{0, 1, 2}, std::vector<std::uint64_t>{0}}) {
    EXPECT_TRUE(is_outlined(artifact, covered));
    const auto drawn = draw_spans(random_, artifact, covered, kSpan, 100);
    ASSERT_TRUE(drawn);
    std::map<std::uint64_t, int> spans;  // by entry
    for (const SpotSpan& place : *drawn) {
      ++spans[place.entry];
    }
    EXPECT_EQ(spans, (std::map<std::uint64_t, int>{{0, 1}, {1, 3}, {2, 3}}));
  }
  const std::vector<std::uint64_t> tensor = {2};
  EXPECT_EQ(draw_spans(random_, artifact, tensor, kSpan, 100)->size(), 3U);
}

TEST_F(CutFiles, SpansOfTheMirror_AreOwnBytes) {
  make_mirror(cut_);
  const auto read = [&](const SpotSpan& place) {
    return read_span(services_->nodes.mirror, "acme/demo", cut_.manifest.artifact, cut_.outline,
                     place);
  };
  const ByteView all(cut_.files[0]);
  EXPECT_TRUE(std::ranges::equal(read({0, 0}).value(), all.first(1000)));
  EXPECT_TRUE(std::ranges::equal(read({2, 2}).value(), all.subspan(21'000 + 2 * kSpan)));
  EXPECT_EQ(refusal(read({0, 1})), ErrorCode::kInvalidParameter);
}

// Nothing but the root of the file covers the bytes of the tensors: no span of them can be checked,
// and a check of headers would not be one of the model.
TEST_F(CutFiles, WithoutTensorsInTheManifest_ThereIsNoSpotCheck) {
  Model files = cut_;
  files.manifest.artifact.entries = {files.manifest.artifact.entries[0]};
  files.outline.entries.resize(1);
  files.id = artifact_id(files.manifest).value();
  store_model(files);
  make_mirror(files);
  ASSERT_TRUE(send_made());
  job_ = new_job(files, worker_.node).job.id;
  const JobLease leased = lease(worker_);
  const auto answer = send_report(worker_, leased, report(leased, files));
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->state, State::kVerified);
  EXPECT_EQ(detail()["spot_checks"], 0);
  EXPECT_EQ(detail()["spot_check"]["skipped"], "not-found");
}

}  // namespace
}  // namespace assay::server::test
