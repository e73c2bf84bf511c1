// SPDX-License-Identifier: Apache-2.0
#include "worker/recipe/recipe.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "schemas/core/merkle.h"
#include "schemas/layout_pieces.h"
#include "worker/recipe/plan.h"

namespace assay::worker {

namespace {

// Most moves that are planned at a time, unless a single window of a tensor needs more.
constexpr std::size_t kMaxPlannedMoves = std::size_t{1} << 18;

// The entry whose bytes a tensor has as they are; null: none.
const TensorEntry* unchanged(std::span<const LayoutPiece> pieces, const LayoutTensor& tensor,
                             const LayoutEntries& manifest) {
  if (pieces.size() != 1 || pieces.front().cast) {
    return nullptr;
  }
  const TensorEntry& entry = manifest.at(pieces.front().entry);
  const PieceWalk walk = walk_of(pieces.front(), entry.shape, tensor.dtype, 1);
  const bool in_order = walk.loops.empty() || (walk.loops.size() == 1 && walk.loops[0].to == 1 &&
                                               walk.loops[0].from == 1);
  const std::uint64_t count = walk.loops.empty() ? 1 : walk.loops[0].count;
  const auto all = [count](const std::vector<std::uint64_t>& shape) {
    std::uint64_t product = 1;
    for (const std::uint64_t length : shape) {
      product *= length;
    }
    return product == count;
  };
  return in_order && all(entry.shape) && all(tensor.shape) ? &entry : nullptr;
}

// Collects blocks of tensors until an engine is full of them, and has it derive them.
class Recipe {
 public:
  Recipe(const Artifact& artifact, EntryBytes& bytes, gpu_hash::Engine& engine,
         const std::stop_token& stop, const gpu_hash::DeriveRoom& room)
      : artifact_(artifact),
        manifest_(artifact),
        entries_(artifact),
        bytes_(bytes),
        engine_(engine),
        request_{artifact.parameters, kEntryWindow, {}, stop},
        room_(room) {}

  // Sets `root` now or when finish() has returned.
  Status add(const LayoutTensor& tensor, Digest& root) {
    ASSAY_ASSIGN(const std::vector<LayoutPiece> pieces, pieces_of(tensor, manifest_, steps_));
    if (const TensorEntry* const entry = unchanged(pieces, tensor, manifest_); entry != nullptr) {
      root = entry->root;
      return {};
    }
    const std::uint64_t width = element_bytes(tensor.dtype).value_or(1);
    std::uint64_t size = width;
    for (const std::uint64_t length : tensor.shape) {
      size *= length;
    }
    std::vector<PieceWalk> walks;
    for (const LayoutPiece& piece : pieces) {
      walks.push_back(walk_of(piece, manifest_.at(piece.entry).shape, tensor.dtype, width));
    }
    made_.push_back({&root, {}});
    for (std::uint64_t at = 0; at < size;) {
      if (used_ > 0 && size - at > room_.results - used_) {
        ASSAY_TRY(end_round());
      }
      std::uint64_t block =
          std::min(size - at, (room_.results - used_) / kEntryWindow * kEntryWindow);
      const std::size_t before = moves_.size();
      while (!plan(walks, at / width, (at + block) / width, block)) {
        moves_.resize(before);
        block = std::max(block / 2 / kEntryWindow, std::uint64_t{1}) * kEntryWindow;
      }
      results_.push_back(block);
      owners_.push_back(made_.size() - 1);
      used_ = gpu_hash::derive_places(results_).back();
      if (moves_.size() > kMaxPlannedMoves || results_.size() >= kMaxResults ||
          used_ + kEntryWindow > room_.results) {
        ASSAY_TRY(end_round());
      }
      at += block;
    }
    return {};
  }

  // Derives what is left, verifies every entry that was used, and sets the roots.
  Status finish() {
    add_round();
    ASSAY_TRY(derive());
    std::vector<WindowRun> rest;
    for (const auto& [entry, windows] : entries_.missing()) {
      for (const std::uint64_t window : windows) {
        rest.push_back({entry, window, 1});
      }
    }
    rounds_.push_back({plan_loads(artifact_, std::move(rest), room_.load), {}, false});
    ASSAY_TRY(derive());
    for (Made& one : made_) {
      *one.root = merkle_root(artifact_.parameters.hash, one.windows);
    }
    return {};
  }

 private:
  static constexpr std::size_t kMaxResults = 4096;
  // Bytes of results after which an engine is called: several rounds of each.
  static constexpr std::uint64_t kCallBytes = std::uint64_t{4} << 30;
  struct Round {
    std::vector<PlannedLoad> loads;
    std::vector<std::uint64_t> results;
    bool filled;
  };
  // A tensor that is derived, and the digests of its windows so far.
  struct Made {
    Digest* root;
    std::vector<Digest> windows;
  };

  // Adds the moves into elements [begin, end) of a tensor. Returns false when they are too many for
  // a block of so many bytes; a window has as many as it has elements at most.
  bool plan(std::span<const PieceWalk> walks, std::uint64_t begin, std::uint64_t end,
            std::uint64_t block) {
    const std::size_t most =
        block > kEntryWindow ? kMaxPlannedMoves : std::numeric_limits<std::size_t>::max();
    return std::ranges::all_of(walks, [&](const PieceWalk& walk) {
      return add_moves(walk, begin, end, used_, most, moves_);
    });
  }

  // Makes a round of the blocks and moves that were collected.
  void add_round() {
    if (results_.empty()) {
      return;
    }
    std::uint64_t moved = 0;
    for (const EntryMove& one : moves_) {
      moved += one.move.outer.count * one.move.inner.count * bytes_to(one.move.kind);
    }
    // No two moves write the same byte.
    const bool filled =
        moved == std::accumulate(results_.begin(), results_.end(), std::uint64_t{0});
    planned_moves_ += moves_.size();
    planned_bytes_ += used_;
    rounds_.push_back(
        {plan_loads(artifact_, moves_, room_.load), std::exchange(results_, {}), filled});
    moves_.clear();
    used_ = 0;
  }

  Status end_round() {
    add_round();
    const bool enough = planned_moves_ > kMaxPlannedMoves || planned_bytes_ > kCallBytes ||
                        owners_.size() >= kMaxResults;
    return enough ? derive() : Status();
  }

  Status derive() {
    gpu_hash::DeriveRequest derivation;
    for (Round& round : rounds_) {
      gpu_hash::DeriveRound& own = derivation.rounds.emplace_back();
      own.results = round.results;
      own.filled = round.filled;
      for (PlannedLoad& load : round.loads) {
        gpu_hash::DeriveLoad& loaded = own.loads.emplace_back();
        for (const WindowRun& run : load.runs) {
          ASSAY_ASSIGN(gpu_hash::Region region, bytes_.region(run.entry, run.first * kEntryWindow,
                                                              bytes_of(artifact_, run)));
          loaded.sources.push_back(std::move(region));
        }
        loaded.moves = std::move(load.moves);
      }
    }
    ASSAY_ASSIGN(const gpu_hash::Derived derived, engine_.derive(derivation, request_));
    std::size_t source = 0;
    for (const Round& round : rounds_) {
      for (const PlannedLoad& load : round.loads) {
        for (const WindowRun& run : load.runs) {
          const std::vector<Digest>& windows = derived.sources.at(source++).outline;
          for (std::uint64_t i = 0; i < run.count; ++i) {
            ASSAY_TRY(entries_.note(run.entry, run.first + i, windows.at(i)));
          }
        }
      }
    }
    for (std::size_t i = 0; i < derived.results.size(); ++i) {
      std::vector<Digest>& windows = made_[owners_.at(i)].windows;
      const std::vector<Digest>& more = derived.results[i].outline;
      windows.insert(windows.end(), more.begin(), more.end());
    }
    owners_.clear();
    rounds_.clear();
    planned_moves_ = 0;
    planned_bytes_ = 0;
    return {};
  }

  const Artifact& artifact_;
  LayoutEntries manifest_;
  VerifiedEntries entries_;
  EntryBytes& bytes_;
  gpu_hash::Engine& engine_;
  gpu_hash::HashRequest request_;
  gpu_hash::DeriveRoom room_;
  std::size_t steps_ = kMaxLayoutSteps;
  std::vector<Made> made_;
  // The next round: blocks, and the moves into them.
  std::vector<std::uint64_t> results_;
  std::vector<EntryMove> moves_;
  std::uint64_t used_ = 0;  // bytes of the blocks
  // The rounds of the next call, and the tensors that the blocks of it belong to.
  std::vector<Round> rounds_;
  std::vector<std::size_t> owners_;
  std::size_t planned_moves_ = 0;
  std::uint64_t planned_bytes_ = 0;
};

}  // namespace

Result<std::vector<std::vector<Digest>>> expected_roots(
    const Layout& layout, const Artifact& artifact, EntryBytes& bytes, gpu_hash::Engine& engine,
    const std::stop_token& stop, const std::optional<gpu_hash::DeriveRoom>& room) {
  std::vector<std::vector<Digest>> roots;
  const Digest none = merkle_root(artifact.parameters.hash, {});  // until it is known
  for (const LayoutRank& rank : layout.ranks) {
    roots.emplace_back(rank.tensors.size(), none);
  }
  Recipe recipe(artifact, bytes, engine, stop, room ? *room : engine.derive_room());
  for (std::size_t rank = 0; rank < layout.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < layout.ranks[rank].tensors.size(); ++i) {
      ASSAY_TRY(recipe.add(layout.ranks[rank].tensors[i], roots[rank][i]));
    }
  }
  ASSAY_TRY(recipe.finish());
  return roots;
}

}  // namespace assay::worker
