// SPDX-License-Identifier: Apache-2.0
// Objects that follow from other objects: their elements are moved, and cast on the way. Sources
// and results are hashed where they lie, so that one pass tells whether the sources are the right
// ones and which roots the results have. Numbers are little-endian.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/region.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// The move of one element: a copy of so many bytes, or a cast (cast.h).
enum class MoveKind : std::uint8_t { kCopy1, kCopy2, kCopy4, kCopy8, kF32ToBf16, kF32ToF16 };
[[nodiscard]] constexpr bool is_known(MoveKind kind) { return kind <= MoveKind::kF32ToF16; }
// Return the bytes of an element before and after it is moved.
[[nodiscard]] std::uint64_t bytes_from(MoveKind kind);
[[nodiscard]] std::uint64_t bytes_to(MoveKind kind);

// One loop of a move: so many steps, and the bytes from one to the next on both sides.
struct MoveLoop {
  std::uint64_t count = 1;  // at least 1
  std::uint64_t from = 0;   // bytes
  std::uint64_t to = 0;     // bytes
  bool operator==(const MoveLoop&) const = default;
};

// Moves outer.count * inner.count elements. `from` counts from the start of the sources of a load,
// `to` from the start of the results of a round (derive_places()). All of them are multiples of the
// bytes of an element on their side.
struct Move {
  MoveKind kind = MoveKind::kCopy1;
  std::uint64_t from = 0;  // bytes
  std::uint64_t to = 0;    // bytes
  MoveLoop outer{};
  MoveLoop inner{};
  bool operator==(const Move&) const = default;
};

// Sources that are in memory at the same time, and what is moved from them. Sources are files or
// host memory.
struct DeriveLoad {
  std::vector<Region> sources;
  std::vector<Move> moves;
};

// Results that are in memory at the same time, and the loads that they are made of.
struct DeriveRound {
  std::vector<DeriveLoad> loads;
  std::vector<std::uint64_t> results;  // bytes of each
  // Says that something is moved to every byte of the results. Otherwise the bytes to which nothing
  // is moved are zeros.
  bool filled = false;
};
// Rounds follow one another. Several in one call keep a device busy between them.
struct DeriveRequest {
  std::vector<DeriveRound> rounds;
};

// How much an engine takes at once.
struct DeriveRoom {
  std::uint64_t load = 0;     // bytes of the sources of a load
  std::uint64_t results = 0;  // bytes of the results of a round
};

// The CPU engine keeps so much memory from its first derivation on. Sources of a turned result are
// read once for each part of it that fits.
inline constexpr DeriveRoom kHostDeriveRoom{.load = std::uint64_t{16} << 20,
                                            .results = std::uint64_t{64} << 20};
// Two loads and the results take 384 MiB of a device; with loads of this size it copies as
// fast as it can.
inline constexpr DeriveRoom kDeviceDeriveRoom{.load = std::uint64_t{96} << 20,
                                              .results = std::uint64_t{192} << 20};

// Objects in memory begin at multiples of so many bytes.
inline constexpr std::uint64_t kDeriveAlignment = 256;

// Returns where objects of these sizes begin when they follow one another in memory, and at last
// where they end.
[[nodiscard]] std::vector<std::uint64_t> derive_places(std::span<const std::uint64_t> sizes);

// Checks that all fits the room, and that each move stays inside of its sources and results.
// Errors: invalid-parameter; limit-exceeded.
[[nodiscard]] Status check(const DeriveRequest& request, const DeriveRoom& room);

// Return the sources of all loads, one after the other, and the sizes of all results.
[[nodiscard]] std::vector<Region> sources_of(const DeriveRequest& request);
[[nodiscard]] std::vector<std::uint64_t> results_of(const DeriveRequest& request);

// Moves the elements in host memory.
void move_elements(const Move& move, ByteView sources, std::span<std::uint8_t> results);

}  // namespace assay::gpu_hash
