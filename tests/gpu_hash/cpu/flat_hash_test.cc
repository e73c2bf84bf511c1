// SPDX-License-Identifier: Apache-2.0
// Flat digests of files and ranges, alone and in one pass with the tree.
#include "gpu_hash/flat_hash.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "tests/gpu_hash/support.h"
#include "tests/support/vectors.h"

namespace assay::gpu_hash::test {
namespace {

using assay::test::code_of;

Bytes flat(ByteView bytes, FlatHash hash = FlatHash::kSha256) {
  FlatStream stream(hash);
  stream.update(bytes);
  return stream.finish();
}

std::vector<Bytes> shards_of(ByteView bytes, std::uint64_t size) {
  std::vector<Bytes> digests;
  for (std::uint64_t at = 0; at < bytes.size(); at += size) {
    digests.push_back(flat(bytes.subspan(at, std::min<std::uint64_t>(size, bytes.size() - at))));
  }
  return digests;
}

// Lengths around the blocks in which files are read.
const std::vector<std::size_t> kLengths = {0,      1,      65,      262143,  262144,
                                           262145, 524288, 1600001, 3000000, 4096};

struct Files {
  TempDir dir;
  std::vector<Bytes> contents;
  std::vector<FlatRange> ranges;

  explicit Files(const std::vector<std::size_t>& lengths) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      contents.push_back(pattern(lengths[i]));
      dir.write("f" + std::to_string(i), contents.back());
      const auto path = dir.path() / ("f" + std::to_string(i));
      ranges.push_back({std::move(SourceFile::find(path)).value(), 0, lengths[i]});
    }
  }
};

TEST(FlatFiles, DigestsAreThoseOfTheBytes_WithAnyNumberOfThreads) {
  const Files files(kLengths);
  for (const FlatHash hash : {FlatHash::kSha256, FlatHash::kBlake2b}) {
    for (const unsigned threads : {1U, 2U, 5U, 40U}) {
      std::uint64_t last = 0;
      FlatOptions options{.hash = hash, .threads = threads};
      options.progress = [&](std::uint64_t done) { last = done; };
      const auto digests = hash_flat(files.ranges, options);
      ASSERT_EQ(code_of(digests), "ok");
      std::uint64_t total = 0;
      for (std::size_t i = 0; i < kLengths.size(); ++i) {
        EXPECT_EQ((*digests)[i], flat(files.contents[i], hash)) << kLengths[i];
        total += kLengths[i];
      }
      EXPECT_EQ(last, total);
    }
  }
}

TEST(FlatFiles, OneFileWithIdleCores_IsReadAhead) {
  const Files files({5'000'003});
  for (int round = 0; round < 20; ++round) {
    const auto digests = hash_flat(files.ranges, {.threads = 2});
    ASSERT_EQ(code_of(digests), "ok");
    EXPECT_EQ(digests->front(), flat(files.contents.front()));
  }
}

TEST(FlatFiles, RangesOfOneFile_AreHashedApart) {
  const Files files({1'000'000});
  const auto& source = files.ranges.front().file;
  const std::vector<FlatRange> ranges = {{source, 0, 0},
                                         {source, 1, 300'000},
                                         {source, 300'000, 1'000'000},
                                         {source, 999'999, 1'000'000}};
  const auto digests = hash_flat(ranges, {.threads = 3});
  ASSERT_EQ(code_of(digests), "ok");
  const ByteView bytes(files.contents.front());
  EXPECT_EQ((*digests)[0], flat({}));
  EXPECT_EQ((*digests)[1], flat(bytes.subspan(1, 299'999)));
  EXPECT_EQ((*digests)[2], flat(bytes.subspan(300'000)));
  EXPECT_EQ((*digests)[3], flat(bytes.subspan(999'999)));
  const std::vector<FlatRange> behind = {{source, 0, 1'000'001}};
  EXPECT_EQ(code_of(hash_flat(behind, {})), "invalid-parameter");
  EXPECT_EQ(code_of(hash_flat({}, {})), "ok");
}

TEST(FlatFiles, FileThatChanged_IsAnError) {
  for (const unsigned threads : {1U, 4U}) {
    const Files files({3'000'000, 10});
    std::filesystem::resize_file(files.dir.path() / "f0", 1'000'000);
    EXPECT_EQ(code_of(hash_flat(files.ranges, {.threads = threads})), "file-changed");
  }
}

TEST(FlatFiles, FileThatChangedAfterItWasHashed_IsAnErrorToo) {
  const Files files({1'000'000, 1});
  FlatOptions options{.threads = 1};
  options.progress = [&](std::uint64_t done) {
    if (done == 1'000'000) {  // the longest one comes first
      files.dir.write("f0", pattern(999'999));
    }
  };
  EXPECT_EQ(code_of(hash_flat(files.ranges, options)), "file-changed");
}

TEST(FlatFiles, StopsOnRequest) {
  const Files files({3'000'000, 3'000'000});
  for (const unsigned threads : {1U, 2U, 6U}) {
    std::stop_source stop;
    FlatOptions options{.threads = threads, .stop = stop.get_token()};
    options.progress = [&](std::uint64_t /*done*/) { stop.request_stop(); };
    EXPECT_EQ(code_of(hash_flat(files.ranges, options)), "cancelled");
  }
}

// A model with what the tree treats apart: tensors, some without bytes, and files without any.
void write_model(const TempDir& dir) {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[700000],"data_offsets":[0,700000]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[700000,700003]},)"
      R"("none":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
      R"("c":{"dtype":"F32","shape":[100000],"data_offsets":[700003,1100003]}})";
  dir.write("w.safetensors", safetensors_file(header, pattern(1'100'003)));
  dir.write("config.json", "{}");
  dir.write("empty", "");
  dir.write("d/blob", pattern(2'000'001));
}

TEST(FlatEngine, GivesTheTreeOfTheCpuEngineAndFlatDigests) {
  const TempDir dir;
  write_model(dir);
  const auto cpu = make_cpu_engine(2);
  for (const std::uint32_t chunk : {4096U, 16384U, 1048576U}) {
    for (const std::uint64_t shard : {0U, 1000U, 262145U, 2'000'001U}) {
      for (const Objects objects : {Objects::kFiles, Objects::kBoth}) {
        ArtifactOptions options;
        options.parameters.chunk_size = chunk;
        options.objects = objects;
        options.outline_span = shard == 1000U ? 1048576U : 0U;
        const auto want = hash_artifact(dir.path(), options, *cpu);
        ASSERT_EQ(code_of(want), "ok");
        FlatResults results{.shard_size = shard};
        const auto engine = make_flat_engine(3, results);
        const auto got = hash_artifact(dir.path(), options, *engine);
        ASSERT_EQ(code_of(got), "ok");
        EXPECT_EQ(got->artifact, want->artifact);
        EXPECT_EQ(got->outlines, want->outlines);
        EXPECT_EQ(got->bytes, want->bytes);
        ASSERT_EQ(results.files.size(), 4U);
        for (const FlatFile& file : results.files) {
          const Bytes content = read_file(dir.path() / file.path);
          EXPECT_EQ(file.size, content.size());
          EXPECT_EQ(file.digests,
                    shard == 0 ? std::vector<Bytes>{flat(content)} : shards_of(content, shard))
              << file.path << " " << shard;
        }
      }
    }
  }
}

TEST(FlatEngine, RandomSizes_GiveTheSameTrees) {
  Random random;
  SCOPED_TRACE(random.text());
  const TempDir dir;
  for (int i = 0; i < 12; ++i) {
    dir.write("f" + std::to_string(i), pattern(random.below(900'000)));
  }
  ArtifactOptions options;
  options.parameters.hash = HashAlgorithm::kSha384;
  const auto cpu = make_cpu_engine(2);
  FlatResults results{.hash = FlatHash::kBlake2b};
  const auto engine = make_flat_engine(0, results);
  const auto got = hash_artifact(dir.path(), options, *engine);
  ASSERT_EQ(code_of(got), "ok");
  EXPECT_EQ(got->id, hash_artifact(dir.path(), options, *cpu)->id);
  for (const FlatFile& file : results.files) {
    EXPECT_EQ(file.digests.front(), flat(read_file(dir.path() / file.path), FlatHash::kBlake2b));
  }
}

TEST(FlatEngine, PartsOfFiles_AreRefused) {
  const TempDir dir;
  write_model(dir);
  FlatResults results;
  const auto engine = make_flat_engine(1, results);
  ArtifactOptions options;
  options.objects = Objects::kTensors;
  EXPECT_EQ(code_of(hash_artifact(dir.path(), options, *engine)), "invalid-parameter");
  const auto file = std::move(SourceFile::find(dir.path() / "config.json")).value();
  const auto code = [&](const std::vector<Region>& regions) {
    return code_of(engine->hash(regions, {}));
  };
  EXPECT_EQ(code({file_region(file)}), "ok");
  EXPECT_EQ(code({file_region(file, 0, 1)}), "invalid-parameter");
  EXPECT_EQ(code({file_region(file, 1, 1), file_region(file, 0, 1)}), "invalid-parameter");
  EXPECT_EQ(code({host_region(as_bytes("x"))}), "invalid-parameter");
  EXPECT_TRUE(results.files.size() == 1);
}

TEST(FlatEngine, FileThatChanged_IsAnError) {
  const TempDir dir;
  dir.write("f", pattern(3'000'000));
  const auto file = std::move(SourceFile::find(dir.path() / "f")).value();
  std::filesystem::resize_file(dir.path() / "f", 10);
  FlatResults results;
  const auto engine = make_flat_engine(1, results);
  EXPECT_EQ(code_of(engine->hash(std::vector<Region>{file_region(file)}, {})), "file-changed");
  EXPECT_TRUE(results.files.empty());
}

}  // namespace
}  // namespace assay::gpu_hash::test
