// SPDX-License-Identifier: Apache-2.0
#include "schemas/layout_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "schemas/core/json_values.h"
#include "schemas/layout_cover.h"
#include "schemas/layout_pieces.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxComparisons = std::uint64_t{1} << 26;

class Checker {
 public:
  Checker(const Layout& layout, const Artifact& artifact)
      : layout_(layout), entries_(artifact), boxes_(artifact.entries.size()) {}

  std::vector<Error> check() {
    for (std::size_t rank = 0; rank < layout_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < layout_.ranks[rank].tensors.size() && !full(); ++i) {
        use(layout_.ranks[rank].tensors[i],
            "/ranks/" + std::to_string(rank) + "/tensors/" + std::to_string(i));
      }
    }
    find(layout_.dropped, "/dropped/", &Claims::dropped);
    find(layout_.replicated, "/replicated/", &Claims::replicated);
    if (faults_.empty()) {  // else it is not known what the layout uses
      for (std::uint64_t i = 0; i < boxes_.size() && !full(); ++i) {
        if (std::holds_alternative<TensorEntry>(entries_.artifact().entries[i])) {
          cover(i);
        }
      }
    }
    return std::move(faults_);
  }

 private:
  struct Claims {
    bool dropped = false;
    bool replicated = false;
  };

  [[nodiscard]] bool full() const { return faults_.size() >= kMaxLayoutFaults; }

  void use(const LayoutTensor& tensor, const std::string& where) {
    auto pieces = pieces_of(tensor, entries_, steps_);
    if (!pieces) {
      Error error = std::move(pieces).error();
      error.where = where + error.where;
      faults_.push_back(std::move(error));
      return;
    }
    pieces_ += pieces->size();
    if (pieces_ > kMaxLayoutPieces) {
      faults_.push_back({ErrorCode::kLimitExceeded, "the layout has more than 2^20 pieces", where});
      return;
    }
    for (const LayoutPiece& piece : *pieces) {
      GridBox& box = boxes_[piece.entry].emplace_back();
      for (const LayoutSpan& span : piece.axes) {
        box.push_back({span.start, span.size});
      }
    }
  }

  void find(const std::vector<LayoutEntry>& list, const std::string& where, bool Claims::* claim) {
    for (std::size_t i = 0; i < list.size() && !full(); ++i) {
      auto found = entries_.find(list[i]);
      if (!found) {
        faults_.push_back({found.error().code, found.error().detail, where + std::to_string(i)});
      } else if (std::exchange(claims_[*found].*claim, true)) {
        faults_.push_back({ErrorCode::kLayoutClaimWrong, "the list names this entry twice",
                           where + std::to_string(i)});
      }
    }
  }

  void fault(ErrorCode code, std::string detail, std::uint64_t entry) {
    faults_.push_back({code, std::move(detail), label_of(entries_.artifact().entries[entry])});
  }

  void cover(std::uint64_t entry) {
    const auto named = claims_.find(entry);
    const Claims claims = named == claims_.end() ? Claims{} : named->second;
    const auto covered = cover_of(entries_.at(entry).shape, std::move(boxes_[entry]), comparisons_);
    if (!covered) {
      return fault(covered.error().code, covered.error().detail, entry);
    }
    if (covered->overlaps || (covered->repeated && !claims.replicated)) {
      return fault(ErrorCode::kLayoutBytesRepeated,
                   covered->overlaps ? "two parts of this entry share some of their bytes"
                                     : "bytes of this entry are in several places",
                   entry);
    }
    if (claims.replicated && (claims.dropped || !covered->repeated)) {
      return fault(ErrorCode::kLayoutClaimWrong,
                   claims.dropped ? "this entry is named as dropped and as replicated"
                                  : "no byte of this entry is in several places",
                   entry);
    }
    if (covered->whole == claims.dropped) {
      fault(claims.dropped ? ErrorCode::kLayoutClaimWrong : ErrorCode::kLayoutBytesUnused,
            claims.dropped ? "all bytes of this entry are used"
                           : "bytes of this entry are in no tensor",
            entry);
    }
  }

  const Layout& layout_;
  LayoutEntries entries_;
  std::vector<std::vector<GridBox>> boxes_;  // by position in the artifact
  std::map<std::uint64_t, Claims> claims_;
  std::vector<Error> faults_;
  std::size_t pieces_ = 0;
  std::size_t steps_ = kMaxLayoutSteps;
  std::uint64_t comparisons_ = kMaxComparisons;
};

}  // namespace

std::vector<Error> check_layout(const Layout& layout, const ArtifactId& id,
                                const Artifact& artifact) {
  if (layout.artifact != id) {
    return {{ErrorCode::kArtifactMismatch, "the layout is about another artifact", "/artifact"}};
  }
  return Checker(layout, artifact).check();
}

}  // namespace assay
