// SPDX-License-Identifier: Apache-2.0
// Derivation of objects: each engine against a plain evaluation of the moves, element by element.
#include "gpu_hash/derive.h"

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "gpu_hash/cast.h"
#include "gpu_hash/cpu_engine.h"
#include "tests/gpu_hash/support.h"
#include "tests/support/vectors.h"

namespace assay::gpu_hash {
namespace {

using namespace assay::gpu_hash::test;  // NOLINT(google-build-using-namespace)
using assay::test::code_of;

constexpr std::uint64_t kWindow = 8192;

// Elements as the definition says, without what makes move_elements() fast.
void evaluate(const Move& move, ByteView sources, Bytes& results) {
  for (std::uint64_t i = 0; i < move.outer.count; ++i) {
    for (std::uint64_t j = 0; j < move.inner.count; ++j) {
      const std::uint8_t* from =
          sources.data() + move.from + i * move.outer.from + j * move.inner.from;
      std::uint8_t* to = results.data() + move.to + i * move.outer.to + j * move.inner.to;
      if (move.kind < MoveKind::kF32ToBf16) {
        std::memcpy(to, from, bytes_to(move.kind));
        continue;
      }
      std::uint32_t bits = 0;
      std::memcpy(&bits, from, sizeof(bits));
      const std::uint16_t half = move.kind == MoveKind::kF32ToBf16 ? bf16_of(bits) : f16_of(bits);
      std::memcpy(to, &half, sizeof(half));
    }
  }
}

DeriveRequest one_round(DeriveLoad load, std::vector<std::uint64_t> results) {
  return {{{{std::move(load)}, std::move(results)}}};
}

class DeriveTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine_ = GetParam() == std::string("cpu") ? make_cpu_engine(2) : opencl_engine();
    if (engine_ == nullptr) {
      GTEST_SKIP() << "no OpenCL device";
    }
  }
  Bytes noise(std::size_t size) {
    Bytes bytes(size);
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(random_.below(256));
    }
    return bytes;
  }
  // A move that stays inside of so many bytes on both sides, and writes no byte twice.
  Move any_move(std::uint64_t sources, std::uint64_t to, std::uint64_t room) {
    const MoveKind kind{static_cast<std::uint8_t>(random_.below(6))};
    const std::uint64_t in = bytes_from(kind);
    const std::uint64_t out = bytes_to(kind);
    const std::uint64_t outer = 1 + random_.below(20);
    const std::uint64_t inner = 1 + random_.below(20);
    Move move{kind, 8 * random_.below(16), to, {outer, 0, 0}, {inner, 0, 0}};
    move.inner.from = in * (1 + random_.below(3));
    move.outer.from = in * random_.below(50);
    const bool turned = random_.below(2) == 0;
    move.inner.to = turned ? out * outer : out;
    move.outer.to = turned ? out : out * inner;
    EXPECT_LE(move.from + 19 * move.outer.from + 20 * move.inner.from, sources);
    EXPECT_LE(outer * inner * out, room);
    return move;
  }

  std::unique_ptr<Engine> engine_;
  Random random_;
  HashRequest request_{{.chunk_size = 4096}, kWindow, {}, {}};
};

TEST_P(DeriveTest, SourcesAndResults_HaveTheRootsOfTheirBytes) {
  SCOPED_TRACE(random_.text());
  const Bytes first = noise(70'001);
  const Bytes second = noise(9000);
  const std::vector<std::uint64_t> sizes{40'000, 0, 50'000};
  const std::vector<std::uint64_t> places = derive_places(sizes);
  Bytes results(places.back());
  DeriveRequest derivation{{{{}, sizes}}};
  for (int load = 0; load < 5; ++load) {
    DeriveLoad own{{host_region(first), host_region(second)}, {}};
    Bytes memory(derive_places(std::array<std::uint64_t, 2>{first.size(), second.size()}).back());
    std::ranges::copy(first, memory.begin());
    std::ranges::copy(second, memory.begin() + 70'144);
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t slot = (static_cast<std::uint64_t>(load) * 5 + i) * 3200;
      own.moves.push_back(any_move(memory.size(), slot, 3200));
      if (i == 4) {
        own.moves.back().from += 70'144;
      }
      evaluate(own.moves.back(), memory, results);
    }
    derivation.rounds[0].loads.push_back(std::move(own));
  }
  const Derived derived = engine_->derive(derivation, request_).value();
  ASSERT_EQ(derived.sources.size(), 10U);
  for (std::size_t i = 0; i < derived.sources.size(); ++i) {
    const Bytes& bytes = i % 2 == 0 ? first : second;
    EXPECT_EQ(derived.sources[i].root, reference_root(request_.parameters, bytes));
    EXPECT_EQ(derived.sources[i].outline, reference_outline(request_.parameters, bytes, kWindow));
  }
  ASSERT_EQ(derived.results.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const ByteView bytes = ByteView(results).subspan(places[i], sizes[i]);
    EXPECT_EQ(derived.results[i].root, reference_root(request_.parameters, bytes));
    EXPECT_EQ(derived.results[i].outline, reference_outline(request_.parameters, bytes, kWindow));
  }
}

// More than a work-group takes at a time, in rows that are wide and in such that are not.
TEST_P(DeriveTest, LargeMoves_MoveEveryElement) {
  const Bytes bytes = noise(std::size_t{3} << 20);
  for (const Move& move : {Move{MoveKind::kCopy2, 0, 0, {}, {1'500'000, 2, 2}},
                           Move{MoveKind::kCopy4, 4, 0, {}, {700'000, 4, 4}},
                           Move{MoveKind::kF32ToBf16, 0, 0, {}, {780'000, 4, 2}},
                           Move{MoveKind::kF32ToF16, 0, 0, {800, 4, 2}, {900, 3200, 1600}},
                           Move{MoveKind::kCopy1, 0, 0, {100'000, 30, 30}, {30, 1, 1}}}) {
    Bytes results(std::size_t{3} << 20);
    evaluate(move, bytes, results);
    const Derived derived =
        engine_->derive(one_round({{host_region(bytes)}, {move}}, {results.size()}), request_)
            .value();
    EXPECT_EQ(derived.results[0].root, reference_root(request_.parameters, results));
  }
}

// Bytes that one round leaves in memory are not seen in the next one.
TEST_P(DeriveTest, RoundsFollowOneAnother_WithMemoryOfTheirOwn) {
  const Bytes bytes = noise(20'000);
  const Move half{MoveKind::kCopy1, 0, 0, {}, {10'000, 1, 1}};
  DeriveRequest derivation = one_round({{host_region(bytes)}, {half}}, {10'000});
  derivation.rounds.push_back(
      {{{{host_region(bytes)}, {{MoveKind::kCopy1, 5, 9000, {}, {1000, 1, 1}}}}}, {10'000}, false});
  derivation.rounds.push_back({{{{host_region(bytes)}, {half}}}, {10'000}, true});
  const Derived derived = engine_->derive(derivation, request_).value();
  ASSERT_EQ(derived.results.size(), 3U);
  EXPECT_EQ(derived.results[0].root,
            reference_root(request_.parameters, ByteView(bytes).first(10'000)));
  EXPECT_EQ(derived.results[2].root, derived.results[0].root);
  Bytes second(10'000);
  std::copy_n(bytes.begin() + 5, 1000, second.begin() + 9000);
  EXPECT_EQ(derived.results[1].root, reference_root(request_.parameters, second));
}

TEST_P(DeriveTest, NothingToDerive_IsHashingOfSources) {
  const Bytes bytes = noise(5000);
  const Derived derived =
      engine_->derive(one_round({{host_region(bytes)}, {}}, {}), request_).value();
  EXPECT_EQ(derived.sources.at(0).root, reference_root(request_.parameters, bytes));
  EXPECT_TRUE(derived.results.empty());
}

TEST_P(DeriveTest, MovesThatLeaveTheirObjects_AreRefused) {
  const Bytes bytes = noise(1024);
  const Move fits{MoveKind::kF32ToBf16, 0, 0, {16, 64, 32}, {16, 4, 2}};
  const auto derive = [&](const Move& move) {
    return engine_->derive(one_round({{host_region(bytes)}, {move}}, {512}), request_);
  };
  EXPECT_TRUE(derive(fits));
  const std::vector<std::function<void(Move&)>> changes = {
      [](Move& move) { move.from = 4; },
      [](Move& move) { move.to = 2; },
      [](Move& move) { move.from = 2; },
      [](Move& move) { move.to = 1; },
      [](Move& move) { move.kind = MoveKind{6}; },
      [](Move& move) { move.outer.count = 17; },
      [](Move& move) { move.outer.count = 0; },
      [](Move& move) { move.inner.count = 0; },
      [](Move& move) { move.inner.count = 1ULL << 40; },
      [](Move& move) { move.outer.from = 68; },
      [](Move& move) { move.inner.to = 3; },
      [](Move& move) { move.outer = {1ULL << 31, 1ULL << 31, 0}; },
      [](Move& move) { move.from = ~0ULL - 3; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Move move = fits;
    changes[i](move);
    EXPECT_EQ(code_of(derive(move)), "invalid-parameter") << i;
  }
}

TEST_P(DeriveTest, MoreThanTheRoom_IsRefused) {
  const DeriveRoom room = engine_->derive_room();
  EXPECT_EQ(code_of(engine_->derive(one_round({}, {room.results + 1}), request_)),
            "limit-exceeded");
  EXPECT_EQ(code_of(engine_->derive(one_round({}, {~0ULL, 1}), request_)), "limit-exceeded");
  EXPECT_EQ(code_of(engine_->derive(
                one_round({}, std::vector<std::uint64_t>(room.results / kDeriveAlignment + 1)),
                request_)),
            "limit-exceeded");
  const Bytes bytes(room.load + 1);
  EXPECT_EQ(code_of(engine_->derive(one_round({{host_region(bytes)}, {}}, {}), request_)),
            "limit-exceeded");
}

TEST_P(DeriveTest, Stop_EndsTheWork) {
  std::stop_source stop;
  stop.request_stop();
  request_.stop = stop.get_token();
  const Bytes bytes = noise(1024);
  EXPECT_EQ(code_of(engine_->derive(one_round({{host_region(bytes)}, {}}, {16}), request_)),
            "cancelled");
}

INSTANTIATE_TEST_SUITE_P(Engines, DeriveTest, testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace assay::gpu_hash
