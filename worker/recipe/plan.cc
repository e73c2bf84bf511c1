// SPDX-License-Identifier: Apache-2.0
// Every step follows the order of elements in the entry, in which files are read.
#include "worker/recipe/plan.h"

#include <algorithm>
#include <array>
#include <map>

namespace assay::worker {

namespace {

using gpu_hash::Move;
using gpu_hash::MoveLoop;

gpu_hash::MoveKind kind_of(bool cast, std::string_view dtype, std::uint64_t width) {
  using enum gpu_hash::MoveKind;
  if (cast) {
    return dtype == "BF16" ? kF32ToBf16 : kF32ToF16;
  }
  return width == 8 ? kCopy8 : width == 4 ? kCopy4 : width == 2 ? kCopy2 : kCopy1;
}

// Adds moves of one walk into some elements of its tensor.
class Cutter {
 public:
  Cutter(const PieceWalk& walk, std::uint64_t begin, std::uint64_t end, std::uint64_t place,
         std::size_t most, std::vector<EntryMove>& moves)
      : walk_(walk), begin_(begin), end_(end), place_(place), most_(most), moves_(moves) {}

  void go(std::size_t level, std::uint64_t from, std::uint64_t to) {
    if (moves_.size() > most_) {
      return;
    }
    const std::span<const EntryLoop> loops = std::span(walk_.loops).subspan(level);
    if (loops.empty()) {
      if (to >= begin_ && to < end_) {
        add(from, to, {1, 0, 0}, {1, 0, 0});
      }
      return;
    }
    if (loops.size() == 2) {
      go_two(loops[0], loops[1], from, to);
      return;
    }
    std::uint64_t reach = 1;  // elements of the tensor that the loops inside span
    for (const EntryLoop& inner : loops.subspan(1)) {
      reach += (inner.count - 1) * inner.to;
    }
    const EntryLoop& loop = loops.front();
    const auto [first, last] = touching(loop, to, reach);
    if (loops.size() == 1) {
      if (first < last) {
        add(from + first * loop.from, to + first * loop.to, {1, 0, 0},
            {last - first, loop.from, loop.to});
      }
      return;
    }
    for (std::uint64_t i = first; i < last; ++i) {
      go(level + 1, from + i * loop.from, to + i * loop.to);
    }
  }

 private:
  // The steps that lie in the block as a whole are one move. Steps are those of the loop that is
  // the outer one in the tensor, so that few of them lie in the block in part.
  void go_two(const EntryLoop& outer, const EntryLoop& inner, std::uint64_t from,
              std::uint64_t to) {
    const bool turned = outer.to < inner.to;
    const EntryLoop& steps = turned ? inner : outer;
    const EntryLoop& other = turned ? outer : inner;
    const std::uint64_t reach = (other.count - 1) * other.to + 1;
    const auto [first, last] = touching(steps, to, reach);
    const auto [whole, whole_end] = inside(steps, to, reach);
    for (std::uint64_t i = first; i < last && moves_.size() <= most_; ++i) {
      const std::uint64_t step_from = from + i * steps.from;
      const std::uint64_t step_to = to + i * steps.to;
      if (i == whole && whole < whole_end) {
        const EntryLoop some{whole_end - whole, steps.from, steps.to};
        add(step_from, step_to, turned ? other : some, turned ? some : other);
        i = whole_end - 1;
        continue;
      }
      const auto [begin, end] = touching(other, step_to, 1);
      if (begin < end) {
        add(step_from + begin * other.from, step_to + begin * other.to, {1, 0, 0},
            {end - begin, other.from, other.to});
      }
    }
  }

  // The steps [first, last) that reach into the block.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> touching(const EntryLoop& loop,
                                                                 std::uint64_t to,
                                                                 std::uint64_t reach) const {
    const std::uint64_t first = to + reach > begin_ ? 0 : (begin_ - to - reach) / loop.to + 1;
    const std::uint64_t last = to < end_ ? (end_ - 1 - to) / loop.to + 1 : 0;
    return {first, std::min(loop.count, last)};
  }
  // The steps [first, last) of which every element lies in the block.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> inside(const EntryLoop& loop,
                                                               std::uint64_t to,
                                                               std::uint64_t reach) const {
    const std::uint64_t first = to >= begin_ ? 0 : (begin_ - to + loop.to - 1) / loop.to;
    const std::uint64_t last = to + reach <= end_ ? (end_ - to - reach) / loop.to + 1 : 0;
    return {first, std::min(loop.count, last)};
  }

  void add(std::uint64_t from, std::uint64_t to, const EntryLoop& outer, const EntryLoop& inner) {
    const std::uint64_t in = bytes_from(walk_.kind);
    const std::uint64_t out = bytes_to(walk_.kind);
    moves_.push_back({walk_.entry,
                      {walk_.kind,
                       from * in,
                       place_ + (to - begin_) * out,
                       {outer.count, outer.from * in, outer.to * out},
                       {inner.count, inner.from * in, inner.to * out}}});
  }

  const PieceWalk& walk_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t place_;
  std::size_t most_;
  std::vector<EntryMove>& moves_;
};

// The bytes of the entry that an inner loop spans.
std::uint64_t span_of(const Move& move) {
  return (move.inner.count - 1) * move.inner.from + bytes_from(move.kind);
}

void add_windows(std::uint64_t entry, std::uint64_t begin, std::uint64_t size,
                 std::vector<WindowRun>& runs) {
  const std::uint64_t first = begin / kEntryWindow;
  const std::uint64_t last = (begin + size - 1) / kEntryWindow;
  if (!runs.empty() && runs.back().entry == entry && first >= runs.back().first &&
      first <= runs.back().first + runs.back().count) {
    const std::uint64_t end = std::max(runs.back().first + runs.back().count, last + 1);
    runs.back().count = end - runs.back().first;
    return;
  }
  runs.push_back({entry, first, last + 1 - first});
}

// The windows that moves need, ascending, each once.
std::vector<WindowRun> windows_of(std::span<const EntryMove> moves) {
  std::vector<WindowRun> runs;
  for (const EntryMove& one : moves) {
    const Move& move = one.move;
    if (move.outer.from <= kEntryWindow) {
      add_windows(one.entry, move.from, (move.outer.count - 1) * move.outer.from + span_of(move),
                  runs);
      continue;
    }
    for (std::uint64_t i = 0; i < move.outer.count; ++i) {
      add_windows(one.entry, move.from + i * move.outer.from, span_of(move), runs);
    }
  }
  std::ranges::sort(runs);
  std::vector<WindowRun> joined;
  for (const WindowRun& run : runs) {
    if (!joined.empty() && joined.back().entry == run.entry &&
        run.first <= joined.back().first + joined.back().count) {
      const std::uint64_t end =
          std::max(joined.back().first + joined.back().count, run.first + run.count);
      joined.back().count = end - joined.back().first;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

// A run of windows in the memory of its load.
struct Place {
  std::size_t load;
  std::uint64_t begin;  // bytes of the entry
  std::uint64_t end;
  std::uint64_t at;  // bytes in the load
};

// Gives each move to the loads that have its bytes.
class Divider {
 public:
  Divider(const Artifact& artifact, std::vector<PlannedLoad>& loads) : loads_(loads) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      std::vector<std::uint64_t> sizes;
      for (const WindowRun& run : loads[i].runs) {
        sizes.push_back(bytes_of(artifact, run));
      }
      const std::vector<std::uint64_t> places = gpu_hash::derive_places(sizes);
      for (std::size_t j = 0; j < sizes.size(); ++j) {
        const WindowRun& run = loads[i].runs[j];
        const std::uint64_t begin = run.first * kEntryWindow;
        places_[run.entry].emplace(begin, Place{i, begin, begin + sizes[j], places[j]});
      }
    }
  }

  void divide(std::uint64_t entry, Move move) {
    while (move.outer.count > 0) {
      const Place& place = std::prev(places_.at(entry).upper_bound(move.from))->second;
      const std::uint64_t span = span_of(move);
      const std::uint64_t left = place.end - move.from;
      if (span <= left) {
        Move part = move;
        part.outer.count = move.outer.from == 0
                               ? move.outer.count
                               : std::min(move.outer.count, (left - span) / move.outer.from + 1);
        give(place, part);
        advance(move, part.outer.count);
        continue;
      }
      // The first row goes on in another run.
      Move part = move;
      part.outer.count = 1;
      part.inner.count = (left - bytes_from(move.kind)) / move.inner.from + 1;
      give(place, part);
      Move rest = move;
      rest.outer.count = 1;
      rest.inner.count -= part.inner.count;
      rest.from += part.inner.count * move.inner.from;
      rest.to += part.inner.count * move.inner.to;
      divide(entry, rest);
      advance(move, 1);
    }
  }

 private:
  static void advance(Move& move, std::uint64_t rows) {
    move.from += rows * move.outer.from;
    move.to += rows * move.outer.to;
    move.outer.count -= rows;
  }
  void give(const Place& place, Move move) {
    move.from = move.from - place.begin + place.at;
    loads_[place.load].moves.push_back(move);
  }

  std::vector<PlannedLoad>& loads_;
  std::map<std::uint64_t, std::map<std::uint64_t, Place>> places_;  // by entry and first byte
};

}  // namespace

PieceWalk walk_of(const LayoutPiece& piece, const std::vector<std::uint64_t>& shape,
                  std::string_view dtype, std::uint64_t width) {
  PieceWalk walk{piece.entry, 0, piece.to, kind_of(piece.cast, dtype, width)};
  std::uint64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const LayoutSpan& span = piece.axes[axis];
    walk.from += span.start * stride;
    if (span.size > 1) {
      EntryLoop* const inner = walk.loops.empty() ? nullptr : &walk.loops.back();
      if (inner != nullptr && inner->from * inner->count == stride &&
          inner->to * inner->count == span.step) {
        inner->count *= span.size;
      } else {
        walk.loops.push_back({span.size, stride, span.step});
      }
    }
    stride *= shape[axis];
  }
  std::ranges::reverse(walk.loops);
  return walk;
}

bool add_moves(const PieceWalk& walk, std::uint64_t begin, std::uint64_t end, std::uint64_t place,
               std::size_t most, std::vector<EntryMove>& moves) {
  Cutter(walk, begin, end, place, most, moves).go(0, walk.from, walk.to);
  return moves.size() <= most;
}

std::uint64_t bytes_of(const Artifact& artifact, const WindowRun& run) {
  const std::uint64_t size = std::get<TensorEntry>(artifact.entries.at(run.entry)).size;
  return std::min(size - run.first * kEntryWindow, run.count * kEntryWindow);
}

std::vector<PlannedLoad> plan_loads(const Artifact& artifact, std::vector<WindowRun> runs,
                                    std::uint64_t load_bytes) {
  std::vector<PlannedLoad> loads;
  std::uint64_t room = 0;
  for (WindowRun run : runs) {
    while (run.count > 0) {
      const std::uint64_t bytes = bytes_of(artifact, run);
      if (room < std::min(bytes, kEntryWindow)) {
        loads.emplace_back();
        room = load_bytes;
      }
      WindowRun part = run;
      part.count = bytes <= room ? run.count : room / kEntryWindow;
      loads.back().runs.push_back(part);
      const std::array<std::uint64_t, 1> size{bytes_of(artifact, part)};
      room -= std::min(room, gpu_hash::derive_places(size).back());
      run.first += part.count;
      run.count -= part.count;
    }
  }
  return loads;
}

std::vector<PlannedLoad> plan_loads(const Artifact& artifact, std::span<const EntryMove> moves,
                                    std::uint64_t load_bytes) {
  std::vector<PlannedLoad> loads = plan_loads(artifact, windows_of(moves), load_bytes);
  Divider divider(artifact, loads);
  for (const EntryMove& one : moves) {
    divider.divide(one.entry, one.move);
  }
  return loads;
}

}  // namespace assay::worker
