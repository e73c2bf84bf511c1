// SPDX-License-Identifier: Apache-2.0
// Messages of processes that drive devices: what is written reads back, and nothing else is read;
// digests that were not asked for are refused.
#include "gpu_hash/driver_process/wire.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "gpu_hash/driver_process/request.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash::driver {
namespace {

const Digest kDigest = sha256({});

std::vector<ToProcess> all_to() {
  return {List{},
          Open{1, 2, 3, 4},
          Bench{{1, 2, 3, 4}, HashAlgorithm::kSha384, 5},
          Call{HashAlgorithm::kSha384, 16'384, 1},
          Folder{},
          Files{{{1, {'a', 0xff}, 2, 3, 4, -5, 6, true}}},
          Memory{7},
          Pieces{{{PieceSource::kFile, 1, 2, 3, false}, {.ends = true}}},
          Go{},
          Moves{{{MoveKind::kF32ToF16, 1, 2, {3, 4, 5}, {6, 7, 8}}}},
          Round{{{1, 2}}, {3, 4}, true}};
}

std::vector<FromProcess> all_from() {
  return {
      Hello{"1.2.3"},
      Listed{{{"opencl:0", "A", "P", "1", "gpu", 1, 2, 3}}, {{"P", {"device-failed", "w", ""}}}},
      Opened{"A", "1", "", "GPU-1", "0000:1b:00.0"},
      Benched{{"A", "1", "", "", ""}, 1, "plain", {{"resident", 1, 2, "memory"}}, {1, 2}},
      Progress{1},
      Digests{{kDigest, Digest::wrap(HashAlgorithm::kSha384, Bytes(48).data())}},
      Done{{0, 3, kNotOpened}},
      Failed{{"device-failed", "why", "0"}}};
}

TEST(DriverWire, WhatIsWritten_ReadsBack_AndNoPartOfIt) {
  std::set<std::size_t> types;
  for (const ToProcess& message : all_to()) {
    types.insert(message.index());
    const Bytes bytes = write(message);
    EXPECT_EQ(write(parse_to_process(bytes).value()), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(parse_to_process(ByteView(bytes).first(size)));
    }
  }
  EXPECT_EQ(types.size(), std::variant_size_v<ToProcess>);
  types.clear();
  for (const FromProcess& message : all_from()) {
    types.insert(message.index());
    const Bytes bytes = write(message);
    EXPECT_EQ(write(parse_from_process(bytes).value()), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(parse_from_process(ByteView(bytes).first(size)));
    }
  }
  EXPECT_EQ(types.size(), std::variant_size_v<FromProcess>);
}

TEST(DriverWire, LongestLists_FitAMessage) {
  const File file{.path = Bytes(messages::kMaxText, 'a')};
  EXPECT_LE(write(Files{std::vector<File>(kMaxFiles, file)}).size(), kMaxMessage);
  EXPECT_LE(write(Pieces{std::vector<Piece>(kMaxPieces)}).size(), kMaxMessage);
  EXPECT_LE(write(Moves{std::vector<Move>(kMaxMoves)}).size(), kMaxMessage);
  EXPECT_LE(write(Round{std::vector<Load>(kMaxLoads), std::vector<std::uint64_t>(kMaxLoads), false})
                .size(),
            kMaxMessage);
  const Digest digest = Digest::wrap(HashAlgorithm::kSha384, Bytes(48).data());
  EXPECT_LE(write(Digests{std::vector<Digest>(kMaxDigests, digest)}).size(), kMaxMessage);
}

TEST(DriverWire, Benches_ComeBack_AndFiguresThatAreNoNumbersDoNot) {
  const BenchResult result{
      {"opencl:0", "A", "1", kDigest, "", ""}, HashAlgorithm::kSha256, 5, "plain",
      {{"resident", 2, 4, "memory"}},          {1, 2, 3, 4, 5}};
  const auto back = result_of(benched_of(result), HashAlgorithm::kSha256, "opencl:0").value();
  EXPECT_EQ(back.engine, result.engine);
  EXPECT_EQ(back.figures.at(0).rate, 2);
  EXPECT_EQ(back.limits.openssl_streams, 5);
  BenchResult odd = result;
  odd.figures[0].limit = std::nan("");
  EXPECT_FALSE(result_of(benched_of(odd), HashAlgorithm::kSha256, "opencl:0"));
  Benched few = benched_of(result);
  few.limits.pop_back();
  EXPECT_FALSE(result_of(few, HashAlgorithm::kSha256, "opencl:0"));
}

TEST(DriverAnswer, TakesTheDigestsOfItsRegions_AndNoOthers) {
  HashRequest request;
  request.outline_span = 16'384;
  AnswerReader answer({0, 16'385, 1}, request);
  EXPECT_EQ(answer.bytes(), 16'386U);
  EXPECT_TRUE(answer.add({kDigest, kDigest, kDigest}));  // one root without an outline; half of one
  EXPECT_FALSE(answer.is_complete());
  EXPECT_FALSE(answer.add({Digest::wrap(HashAlgorithm::kSha384, Bytes(48).data())}));
  EXPECT_TRUE(answer.add({kDigest, kDigest, kDigest}));
  EXPECT_TRUE(answer.is_complete());
  EXPECT_FALSE(answer.add({kDigest}));
  const std::vector<ObjectDigests> digests = answer.take();
  ASSERT_EQ(digests.size(), 3U);
  EXPECT_EQ(digests[0].outline.size(), 0U);
  EXPECT_EQ(digests[1].outline.size(), 2U);
  EXPECT_EQ(digests[2].outline.size(), 1U);
}

}  // namespace
}  // namespace assay::gpu_hash::driver
