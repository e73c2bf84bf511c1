// SPDX-License-Identifier: Apache-2.0
// Messages of processes that read memory: what is written reads back, and nothing else is read.
#include "worker/reader/wire.h"

#include <set>

#include <gtest/gtest.h>

#include "schemas/core/random.h"
#include "schemas/core/sha.h"

namespace assay::worker::wire {
namespace {

std::vector<ToReader> all_to() {
  return {Start{7,
                HashAlgorithm::kSha384,
                16'384,
                8,
                false,
                {{5, PieceKind::kStaged}, {6, {}}},
                {{{0, 1, 2}, {1, 3, 3}}, {}}},
          Look{1, {2, 3}, 16},
          Fetch{1, 16},
          Draw{1, 16},
          Outline{1, 4096, {0, 5}},
          Exported{1, {"cancelled", "why", "where"}},
          Staged{1, {}},
          End{~std::uint64_t{0}}};
}

std::vector<FromReader> all_from() {
  return {Hello{"1.2.3", "opencl:0", "A GPU", "GPU-1", "0000:1b:00.0", "5", "sha256:00"},
          Progress{1},
          Export{1, {0, 1, 2}},
          Stage{1, 2, 3, 4},
          Taken{1},
          Started{1,
                  {sha256({}), Digest::wrap(HashAlgorithm::kSha384, Bytes(48).data())},
                  {9, 8},
                  1'000'000,
                  2,
                  3},
          Looked{1, {3}, 16, 20, {4}},
          Fetched{1},
          Drawn{1, 16, 20, {}},
          Outlined{1, {{sha256({})}, {sha256({}), sha256({})}, {}}},
          Failed{1, {"device-failed", "why", ""}},
          Ended{1}};
}

TEST(ReaderWire, WhatIsWritten_ReadsBack) {
  std::set<std::size_t> types;
  for (const ToReader& message : all_to()) {
    types.insert(message.index());
    EXPECT_EQ(parse_to_reader(write(message)).value(), message);
  }
  EXPECT_EQ(types.size(), std::variant_size_v<ToReader>);
  types.clear();
  for (const FromReader& message : all_from()) {
    types.insert(message.index());
    EXPECT_EQ(parse_from_reader(write(message)).value(), message);
  }
  EXPECT_EQ(types.size(), std::variant_size_v<FromReader>);
}

// The longest manifest, all of it in one process.
TEST(ReaderWire, TheMostTensors_FitIntoAMessage) {
  Start start{1, HashAlgorithm::kSha384, 16384, 9, true, {}, {}};
  start.pieces.assign(kMaxInstancePieces, {std::uint64_t{1} << 32, PieceKind::kDevice});
  start.tensors.assign(kMaxInstanceTensors,
                       std::vector<Part>(kMaxInstanceParts / kMaxInstanceTensors, {1, 2, 3}));
  const Bytes asked = write(ToReader{start});
  EXPECT_LT(asked.size(), kMaxToReader);
  EXPECT_EQ(std::get<Start>(parse_to_reader(asked).value()), start);
  const Digest root = Digest::wrap(HashAlgorithm::kSha384, Bytes(48).data());
  const Started started{1, Digests(kMaxInstanceTensors, root), Numbers(4096, 1), 1, 2, 3};
  const Bytes said = write(FromReader{started});
  EXPECT_LT(said.size(), kMaxFromReader);
  EXPECT_EQ(std::get<Started>(parse_from_reader(said).value()), started);
}

TEST(ReaderWire, WhatIsCutShortOrTooLong_IsNoMessage) {
  for (const FromReader& message : all_from()) {
    Bytes bytes = write(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(parse_from_reader(ByteView(bytes).first(size)).error().code,
                ErrorCode::kInvalidEncoding);
    }
    bytes.push_back(0);
    EXPECT_FALSE(parse_from_reader(bytes));
  }
}

// A list that says to be longer than the message could be takes no memory.
TEST(ReaderWire, LengthsAreCheckedBeforeMemoryIsTaken) {
  Bytes bytes = write(FromReader(Looked{1, {}, 0, 0, {}}));
  std::fill(bytes.end() - 4, bytes.end(), std::uint8_t{0xff});
  EXPECT_FALSE(parse_from_reader(bytes));
  bytes = write(FromReader(Outlined{1, {}}));
  std::fill(bytes.end() - 4, bytes.end(), std::uint8_t{0xff});
  EXPECT_FALSE(parse_from_reader(bytes));
  bytes = write(ToReader(Look{}));
  bytes[0] = 200;
  EXPECT_FALSE(parse_to_reader(bytes));
}

TEST(ReaderWire, ErrorsTravelByTheirCodes) {
  EXPECT_EQ(error_of(problem_of({})), std::nullopt);
  const auto error = error_of(problem_of(fail(ErrorCode::kFileUnreadable, "a", "b")));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(error->detail, "a");
  EXPECT_EQ(error->where, "b");
  EXPECT_EQ(error_of({"no-such-code", "", ""})->code, ErrorCode::kInternal);
}

// Drivers say what they like; events and frames to owners are JSON.
TEST(ReaderWire, TextIsUtf8_AndHasALimit) {
  const Failed failed{1, {"device-failed", std::string("a\xff") + "b", std::string(5000, 'x')}};
  const auto read = parse_from_reader(write(FromReader(failed)));
  ASSERT_TRUE(read);
  const Problem& problem = std::get<Failed>(*read).problem;
  EXPECT_EQ(problem.detail, "a?b");
  EXPECT_EQ(problem.where.size(), kMaxText);
  Bytes bytes = write(FromReader(Failed{1, {"", "abc", ""}}));
  *(bytes.end() - 5) = 0xff;  // the last character of the detail
  EXPECT_FALSE(parse_from_reader(bytes));
}

// Random bytes, and messages with some bytes changed: read as a message that writes the same bytes,
// or not at all.
TEST(ReaderWire, AnyBytes_AreAMessageOrNone) {
  SystemRandom random;
  for (int round = 0; round < 20'000; ++round) {
    std::array<std::uint8_t, 64> dice{};
    ASSERT_TRUE(random.fill(dice));
    Bytes bytes(dice.begin(), dice.begin() + dice[0] % 64);
    if (dice[1] % 2 == 0) {
      const std::vector<FromReader> messages = all_from();
      bytes = write(messages[dice[2] % messages.size()]);
      bytes[dice[3] % bytes.size()] = dice[4];
      bytes[dice[5] % bytes.size()] ^= static_cast<std::uint8_t>(1U << (dice[6] % 8));
    }
    if (const auto message = parse_from_reader(bytes)) {
      EXPECT_EQ(write(*message), bytes);
    }
  }
}

}  // namespace
}  // namespace assay::worker::wire
