// SPDX-License-Identifier: Apache-2.0
// Plans how tensors of a layout are derived (gpu_hash/derive.h) from windows of entries: which
// windows are loaded together, and what is moved from them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gpu_hash/derive.h"
#include "schemas/layout_pieces.h"
#include "worker/recipe/verified_entries.h"

namespace assay::worker {

// A loop over elements of an entry, outermost first, in the order in which they stand there.
struct EntryLoop {
  std::uint64_t count;
  std::uint64_t from;  // elements of the entry from one step to the next
  std::uint64_t to;    // elements of the tensor
};

// A piece of a tensor as loops. The innermost loop is the last; loops that go on where the one
// inside of them ends are one loop.
struct PieceWalk {
  std::uint64_t entry;
  std::uint64_t from = 0;  // first element
  std::uint64_t to;
  gpu_hash::MoveKind kind;
  std::vector<EntryLoop> loops{};
};
// `shape` is that of the entry, `width` the bytes of an element of the tensor of type `dtype`.
[[nodiscard]] PieceWalk walk_of(const LayoutPiece& piece, const std::vector<std::uint64_t>& shape,
                                std::string_view dtype, std::uint64_t width);

// Elements that are moved from an entry, as gpu_hash::Move, but from bytes of the entry.
struct EntryMove {
  std::uint64_t entry;
  gpu_hash::Move move;
};

// Adds what `walk` moves into elements [begin, end) of its tensor, which stand from byte `place` of
// the results on. Returns false, and stops, when there are more than `most` moves then.
[[nodiscard]] bool add_moves(const PieceWalk& walk, std::uint64_t begin, std::uint64_t end,
                             std::uint64_t place, std::size_t most, std::vector<EntryMove>& moves);

// Windows [first, first + count) of an entry.
struct WindowRun {
  std::uint64_t entry;
  std::uint64_t first;
  std::uint64_t count;
  auto operator<=>(const WindowRun&) const = default;
};

// Windows that are loaded together, and what is moved from them. Moves count from the places of the
// runs in memory (derive_places()).
struct PlannedLoad {
  std::vector<WindowRun> runs;
  std::vector<gpu_hash::Move> moves;
};

// Plans loads of at most `load_bytes` each. `artifact` has the sizes of the entries.
[[nodiscard]] std::vector<PlannedLoad> plan_loads(const Artifact& artifact,
                                                  std::span<const EntryMove> moves,
                                                  std::uint64_t load_bytes);
// Plans loads of these runs, without moves. Runs ascend and have no window twice.
[[nodiscard]] std::vector<PlannedLoad> plan_loads(const Artifact& artifact,
                                                  std::vector<WindowRun> runs,
                                                  std::uint64_t load_bytes);

// Returns the bytes of a run.
[[nodiscard]] std::uint64_t bytes_of(const Artifact& artifact, const WindowRun& run);

}  // namespace assay::worker
