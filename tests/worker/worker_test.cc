// SPDX-License-Identifier: Apache-2.0
// Parts of the node agent that need no service: pace, event lines, the model on disk.
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/dispatch.h"
#include "schemas/core/outline.h"
#include "worker/agent.h"
#include "worker/events.h"
#include "worker/model.h"
#include "worker/pace.h"
#include "worker/service.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// Always the same byte, or none at all.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::optional<std::uint8_t> byte) : byte_(byte) {}
  [[nodiscard]] Status fill(std::span<std::uint8_t> out) override {
    if (!byte_) {
      return fail(ErrorCode::kInternal, "no randomness");
    }
    std::ranges::fill(out, *byte_);
    return {};
  }

 private:
  std::optional<std::uint8_t> byte_;
};

// --- pace

TEST(Pace, BackoffIsDrawnBelowADoublingBound) {
  FixedRandom random(0xff);
  Backoff backoff(random, milliseconds(100), milliseconds(1000));
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 6; ++i) {
    waits.push_back(backoff.next().count());
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{99, 199, 399, 799, 999, 999}));
  backoff.reset();
  EXPECT_EQ(backoff.next().count(), 99);
}

TEST(Pace, BackoffReachesDownToNothingButNeverIsNothing) {
  FixedRandom zero(0);
  Backoff backoff(zero, milliseconds(100), milliseconds(1000));
  EXPECT_EQ(backoff.next(), milliseconds(1));
  FixedRandom half(0x80);
  Backoff middle(half, milliseconds(100), milliseconds(1000));
  EXPECT_EQ(middle.next(), milliseconds(50));
}

TEST(Pace, BackoffWithoutRandomnessAndAfterManyFailures) {
  FixedRandom none(std::nullopt);
  Backoff backoff(none, milliseconds(100), milliseconds(30'000));
  EXPECT_EQ(backoff.next(), milliseconds(50));
  for (int i = 0; i < 200; ++i) {
    EXPECT_LE(backoff.next(), milliseconds(15'000));
  }
}

TEST(Pace, TermsAreDueBeforeTheyEnd) {
  const Steady::time_point start = Steady::now();
  Term term(start, milliseconds(900), 1.0 / 3);
  EXPECT_FALSE(term.is_due(start + milliseconds(298)));
  EXPECT_TRUE(term.is_due(start + milliseconds(300)));
  EXPECT_FALSE(term.is_over(start + milliseconds(899)));
  EXPECT_TRUE(term.is_over(start + milliseconds(900)));
  term.postpone(start + milliseconds(500));
  EXPECT_FALSE(term.is_due(start + milliseconds(499)));
  EXPECT_TRUE(Term().is_over(start));
  EXPECT_TRUE(Term().is_due(start));
}

TEST(Pace, EnrolmentsAreRenewedInTheirThirdQuarter) {
  for (const int byte : {0, 1, 128, 255}) {
    FixedRandom random(static_cast<std::uint8_t>(byte));
    EXPECT_GE(renewal_share(random), 0.5);
    EXPECT_LT(renewal_share(random), 0.75);
  }
}

TEST(Pace, OnlyOutagesMayPass) {
  for (const ErrorCode code : {ErrorCode::kConnectionFailed, ErrorCode::kRequestTimeout,
                               ErrorCode::kUnavailable, ErrorCode::kOverloaded}) {
    EXPECT_TRUE(may_pass({code, "", ""})) << info(code).code;
  }
  for (const ErrorCode code :
       {ErrorCode::kLeaseLost, ErrorCode::kNodeRevoked, ErrorCode::kChallengeUsed,
        ErrorCode::kEvidenceRejected, ErrorCode::kReportMismatch, ErrorCode::kCancelled}) {
    EXPECT_FALSE(may_pass({code, "", ""})) << info(code).code;
  }
}

TEST(Pace, PausesEndWhenTheyAreStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(pause(std::chrono::hours(1), stop.get_token()));
  EXPECT_TRUE(pause(milliseconds(1), {}));
}

// --- events, exit status, answers

TEST(Events, TextLinesQuoteWhatNeedsIt) {
  const Json event = {{"time", "2027-01-01T00:00:00.000Z"},
                      {"event", "leased"},
                      {"path", "my model"},
                      {"lease", 3},
                      {"job", "0198"},
                      {"empty", ""},
                      {"error", {{"code", "lease-lost"}}}};
  EXPECT_EQ(event_text(event),
            "2027-01-01T00:00:00.000Z leased empty=\"\" error={\"code\":\"lease-lost\"} job=0198 "
            "lease=3 path=\"my model\"");
}

TEST(Outcome, ExitStatusOfOneJob) {
  const auto exit = [](const char* result) {
    return exit_of({result, Error{ErrorCode::kLeaseLost, "", ""}});
  };
  EXPECT_EQ(exit("verified").value(), Exit::kYes);
  for (const char* no : {"mismatch", "incomplete", "refused"}) {
    EXPECT_EQ(exit(no).value(), Exit::kNo) << no;
  }
  for (const char* trouble : {"lost", "failed", "stopped"}) {
    EXPECT_FALSE(exit(trouble)) << trouble;
  }
}

TEST(Outcome, WhatEndsTheAgent) {
  EXPECT_TRUE(is_final({ErrorCode::kNodeRevoked, "", ""}));
  EXPECT_TRUE(is_final({ErrorCode::kNodeTaken, "", ""}));
  EXPECT_TRUE(is_final({ErrorCode::kEnrolmentEnded, "", ""}));
  EXPECT_FALSE(is_final({ErrorCode::kEnrolmentExpired, "", ""}));
  EXPECT_NE(advice_on({ErrorCode::kEnrolmentEnded, "", ""}).find("newer enrolment"),
            std::string_view::npos);
  EXPECT_FALSE(is_final({ErrorCode::kConnectionFailed, "", ""}));
}

TEST(Enrolled, LengthCountsByTheServicesClock) {
  Json answer = {{"key_id", "sha256:00"},
                 {"enrolled_at", "2027-01-01T00:00:00.000Z"},
                 {"expires_at", "2027-01-01T01:00:00.000Z"},
                 {"worker_measured", true},
                 {"tcb_status", "UpToDate"}};
  const auto enrolled = enrolled_from_json(answer);
  ASSERT_TRUE(enrolled);
  EXPECT_EQ(enrolled->length, std::chrono::hours(1));
  EXPECT_TRUE(enrolled->worker_measured);
  EXPECT_EQ(enrolled->tcb_status, "UpToDate");
  answer["tcb_status"] = nullptr;
  EXPECT_EQ(enrolled_from_json(answer).value().tcb_status, "");
  answer["expires_at"] = "2026-01-01T01:00:00.000Z";
  EXPECT_FALSE(enrolled_from_json(answer));
  answer.erase("expires_at");
  EXPECT_FALSE(enrolled_from_json(answer));
}

// --- files

class OnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-worker-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = fs::canonical(name);
    models_ = dir_ / "models";
    fs::create_directories(models_ / "acme");
  }
  void TearDown() override { fs::remove_all(dir_); }

  static void write(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }

  // A safetensors file with one tensor "t" of these bytes.
  static std::string safetensors(const std::string& bytes) {
    std::string header = R"({"t":{"dtype":"U8","shape":[)" + std::to_string(bytes.size()) +
                         R"(],"data_offsets":[0,)" + std::to_string(bytes.size()) + "]}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return length + header + bytes;
  }

  void make_model() {
    write(model_ / "config.json", "{}");
    write(model_ / "empty", "");
    write(model_ / "sub/big.bin", std::string(3'000'000, 'b'));
    write(model_ / "weights.safetensors", safetensors(std::string(50, 'w')));
    manifest_.name = "acme/llm";
    const auto hashed = gpu_hash::hash_artifact(model_, {}, *engine_);
    ASSERT_TRUE(hashed);
    manifest_.artifact = hashed->artifact;
    ASSERT_EQ(manifest_.artifact.entries.size(), 5U);
  }

  Result<NodeModel::Hashed> look(const std::vector<std::uint64_t>& subset = {}) {
    ASSAY_ASSIGN(NodeModel model, NodeModel::find(model_, manifest_, subset, {}));
    return model.hash(*engine_, {}, {});
  }

  static std::vector<std::uint64_t> positions(const NodeModel::Hashed& hashed) {
    std::vector<std::uint64_t> list;
    for (const NotCovered& item : hashed.not_covered) {
      list.push_back(item.entry);
    }
    return list;
  }

  fs::path dir_;
  fs::path models_;
  fs::path model_{};
  Manifest manifest_;
  std::unique_ptr<gpu_hash::Engine> engine_ =
      gpu_hash::make_engine({gpu_hash::DeviceChoice::Kind::kCpu, {}, {}}).value();
};

class Model : public OnDisk {
 protected:
  void SetUp() override {
    OnDisk::SetUp();
    model_ = models_ / "acme/llm";
    make_model();
  }

  // Position of an entry by path, or of the one tensor.
  std::uint64_t at(const std::string& path) {
    for (std::uint64_t i = 0; i < manifest_.artifact.entries.size(); ++i) {
      const auto* file = std::get_if<FileEntry>(&manifest_.artifact.entries[i]);
      if (file == nullptr ? path == "#t" : file->path == path) {
        return i;
      }
    }
    ADD_FAILURE() << path;
    return 0;
  }
};

TEST_F(Model, TheSameAsTheManifest) {
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_TRUE(hashed->not_covered.empty());
  EXPECT_GT(hashed->bytes, 3'000'000U);
}

TEST_F(Model, AFlippedByteChangesItsEntryAlone) {
  write(model_ / "sub/big.bin", std::string(2'000'000, 'b') + "X" + std::string(999'999, 'b'));
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  for (std::uint64_t i = 0; i < hashed->entries.size(); ++i) {
    EXPECT_EQ(hashed->entries[i] == manifest_.artifact.entries[i], i != at("sub/big.bin"));
  }
}

TEST_F(Model, MissingAndExtraFilesShow) {
  fs::remove(model_ / "config.json");
  write(model_ / "modeling_evil.py", "more");
  write(model_ / "a/extra.safetensors", "no safetensors at all");
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries.size(), 4U);
  EXPECT_EQ(hashed->extra,
            (std::vector<ExtraFile>{{"a/extra.safetensors", 21}, {"modeling_evil.py", 4}}));
  EXPECT_EQ(hashed->extra_count, 2U);
  EXPECT_TRUE(hashed->not_covered.empty());
}

// The rules are those that the root binds: a name as .git has no rule of its own.
TEST_F(Model, OnlyBoundPatternsLeaveOut) {
  write(model_ / "notes.tmp", "more");
  write(model_ / ".git/HEAD", "x");
  EXPECT_EQ(look().value().extra, (std::vector<ExtraFile>{{".git/HEAD", 1}, {"notes.tmp", 4}}));
  manifest_.artifact.parameters.ignore = {"*.tmp", "/.git"};
  const auto hashed = look();
  EXPECT_EQ(hashed.value().entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed.value().extra_count, 0U);
}

TEST_F(Model, ManyExtraFilesAreCounted) {
  for (std::size_t i = 0; i < kMaxExtraFiles + 5; ++i) {
    write(model_ / "extra" / std::to_string(i), "");
  }
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->extra.size(), kMaxExtraFiles);
  EXPECT_EQ(hashed->extra_count, kMaxExtraFiles + 5);
}

TEST_F(Model, ASubsetLooksAtItsEntriesAlone) {
  write(model_ / "extra.bin", "more");
  const std::uint64_t big = at("sub/big.bin");
  const std::uint64_t tensor = at("#t");
  const auto hashed = look({big, tensor});
  ASSERT_TRUE(hashed);
  ASSERT_EQ(hashed->entries.size(), 2U);
  EXPECT_EQ(hashed->entries[0], manifest_.artifact.entries[big]);
  EXPECT_EQ(hashed->entries[1], manifest_.artifact.entries[tensor]);
  EXPECT_EQ(hashed->bytes, 3'000'050U);
  // What lies beside the model is no question of the subset.
  EXPECT_EQ(hashed->extra, (std::vector<ExtraFile>{{"extra.bin", 4}}));
}

TEST_F(Model, BrokenSafetensorsAreNotCoveredButTheirFileIs) {
  write(model_ / "weights.safetensors", "no safetensors at all");
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("#t")});
  EXPECT_TRUE(hashed->not_covered[0].reason.starts_with("malformed-safetensors"));
  EXPECT_EQ(hashed->entries.size(), 4U);
}

TEST_F(Model, ATensorManifestCoversNoFile) {
  gpu_hash::ArtifactOptions options;
  options.objects = Objects::kTensors;
  manifest_.artifact = gpu_hash::hash_artifact(model_, options, *engine_).value().artifact;
  write(model_ / "more.safetensors", "no safetensors at all");
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed->extra_count, 5U);  // config.json, empty, big.bin, and both safetensors files
}

TEST_F(Model, LinksAndPipesAreRefusedAsAWhole) {
  fs::create_symlink("config.json", model_ / "link");
  EXPECT_EQ(look().error().code, ErrorCode::kUnsupportedFileType);
}

TEST_F(Model, UnreadableFilesAreNotCovered) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root reads every file";
  }
  fs::permissions(model_ / "sub/big.bin", fs::perms::none);
  const auto hashed = look();
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("sub/big.bin")});
}

TEST_F(Model, AFileThatChangesBeforeItIsHashedIsNotCovered) {
  auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  write(model_ / "sub/big.bin", std::string(3'000'000, 'B'));
  const auto hashed = model->hash(*engine_, {}, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("sub/big.bin")});
  EXPECT_TRUE(hashed->not_covered[0].reason.starts_with("file-changed"));
  EXPECT_EQ(hashed->entries.size(), 4U);
}

TEST_F(Model, AFileThatChangesWhileItIsHashedIsNotCovered) {
  auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  bool changed = false;
  const auto hashed = model->hash(*engine_,
                                  [&](std::uint64_t, std::uint64_t) {
                                    if (!changed) {
                                      changed = true;
                                      write(model_ / "config.json", "[]");
                                    }
                                  },
                                  {});
  ASSERT_TRUE(changed);
  ASSERT_TRUE(hashed);
  EXPECT_EQ(positions(*hashed), std::vector{at("config.json")});
}

TEST_F(Model, AnExtraFileThatGoesIsNeverForgotten) {
  write(model_ / "extra.bin", "more");
  auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  fs::remove(model_ / "extra.bin");
  EXPECT_EQ(model->hash(*engine_, {}, {}).value().extra_count, 1U);
}

TEST_F(Model, StopsWhenToldTo) {
  std::stop_source stop;
  auto model = NodeModel::find(model_, manifest_, {}, stop.get_token());
  ASSERT_TRUE(model);
  stop.request_stop();
  EXPECT_EQ(model->hash(*engine_, {}, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(NodeModel::find(model_, manifest_, {}, stop.get_token()).error().code,
            ErrorCode::kCancelled);
}

TEST_F(Model, OutlinesAreThoseOfTheEntries) {
  gpu_hash::ArtifactOptions options;
  options.outline_span = kDefaultOutlineSpan;
  const auto expected = gpu_hash::hash_artifact(model_, options, *engine_);
  ASSERT_TRUE(expected);
  const auto model = NodeModel::find(model_, manifest_, {}, {});
  const std::vector<std::uint64_t> wanted = {at("sub/big.bin"), at("#t")};
  const auto outline = model.value().outline(*engine_, wanted, kDefaultOutlineSpan, {});
  ASSERT_TRUE(outline);
  ASSERT_EQ(outline->size(), 2U);
  EXPECT_EQ((*outline)[0].digests, expected->outlines[wanted[0]]);
  EXPECT_EQ((*outline)[0].digests.size(), 3U);
  EXPECT_EQ((*outline)[1].digests, expected->outlines[wanted[1]]);
  EXPECT_FALSE(model.value().outline(*engine_, {77}, kDefaultOutlineSpan, {}));
  EXPECT_FALSE(model.value().outline(*engine_, wanted, 5, {}));
}

TEST_F(Model, SpansAreTheBytesOfTheEntry) {
  write(model_ / "weights.safetensors", safetensors("tensor bytes" + std::string(38, 'w')));
  const auto model = NodeModel::find(model_, manifest_, {}, {});
  ASSERT_TRUE(model);
  constexpr std::uint64_t kSpan = kDefaultOutlineSpan;
  EXPECT_EQ(model->read({at("sub/big.bin"), 1}, kSpan).value(), Bytes(kSpan, 'b'));
  EXPECT_EQ(model->read({at("sub/big.bin"), 2}, kSpan).value(), Bytes(3'000'000 - 2 * kSpan, 'b'));
  const Bytes tensor = model->read({at("#t"), 0}, kSpan).value();
  EXPECT_EQ(as_text(tensor).substr(0, 12), "tensor bytes");
  EXPECT_EQ(tensor.size(), 50U);
  for (const SpotSpan place : {SpotSpan{at("sub/big.bin"), 3}, SpotSpan{at("empty"), 0},
                               SpotSpan{at("sub/big.bin"), ~std::uint64_t{0}}, SpotSpan{99, 0}}) {
    EXPECT_FALSE(model->read(place, kSpan)) << place.entry << " " << place.index;
  }
  write(model_ / "sub/big.bin", std::string(3'000'000, 'c'));
  EXPECT_EQ(model->read({at("sub/big.bin"), 1}, kSpan).error().code, ErrorCode::kFileChanged);
}

TEST_F(Model, NothingThereIsFoundAsNothing) {
  NodeModel model = NodeModel::absent(manifest_);
  const auto hashed = model.hash(*engine_, {}, {});
  ASSERT_TRUE(hashed);
  EXPECT_TRUE(hashed->entries.empty());
  EXPECT_TRUE(hashed->not_covered.empty());
}

TEST_F(OnDisk, ASingleFileStandsForTheArtifactsOne) {
  model_ = models_ / "acme/model.bin";
  write(model_, "bytes");
  manifest_.name = "acme/llm";
  manifest_.artifact = gpu_hash::hash_artifact(model_, {}, *engine_).value().artifact;
  fs::rename(model_, models_ / "acme/other.bin");
  model_ = models_ / "acme/other.bin";
  EXPECT_EQ(look().value().entries, manifest_.artifact.entries);
}

}  // namespace
}  // namespace assay::cli
