// SPDX-License-Identifier: Apache-2.0
#include "worker/laid_out.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/dtype.h"
#include "schemas/core/merkle.h"
#include "schemas/layout_check.h"
#include "schemas/layout_pieces.h"
#include "worker/instances/match.h"

namespace assay::worker {

namespace {

// The result of looking for one tensor of a layout.
struct Seen {
  enum class As : std::uint8_t { kUnregistered, kNotCovered, kDiffers, kRight };
  As as = As::kUnregistered;
  std::string reason{};          // kNotCovered
  std::optional<Digest> root{};  // kDiffers: of both
};

std::vector<Seen> seen_of(const Artifact& expected, const InstanceModel::Hashed& hashed) {
  std::vector<Seen> all(expected.entries.size());
  for (const NotCovered& item : hashed.not_covered) {
    all.at(item.entry) = {Seen::As::kNotCovered, item.reason, {}};
  }
  auto found = hashed.entries.begin();
  for (std::size_t i = 0; i < all.size() && found != hashed.entries.end(); ++i) {
    if (order_of(expected.entries[i]) != order_of(*found)) {
      continue;
    }
    if (*found == expected.entries[i]) {
      all[i].as = Seen::As::kRight;
    } else {
      all[i] = {Seen::As::kDiffers, {}, merkle_node(root_of(expected.entries[i]), root_of(*found))};
    }
    ++found;
  }
  return all;
}

}  // namespace

Result<RegisteredLayout> layout_of(const std::vector<std::shared_ptr<Owner>>& owners) {
  const InstanceRegistration& first = owners.front()->registration();
  for (const std::shared_ptr<Owner>& owner : owners) {
    const InstanceRegistration& other = owner->registration();
    if (other.layout != first.layout || other.published != first.published) {
      return fail(ErrorCode::kConflict,
                  "The processes of the instance disagree on their layout: rank " +
                      std::to_string(other.rank) + " has another one than rank " +
                      std::to_string(first.rank),
                  other.instance);
    }
  }
  return RegisteredLayout{first.layout ? &*first.layout : nullptr, first.published};
}

Result<LaidOut> LaidOut::published(const ArtifactId& id, Manifest manifest, std::uint64_t world) {
  std::set<std::string_view> ranks;
  for (const Entry& entry : manifest.artifact.entries) {
    if (std::holds_alternative<FileEntry>(entry)) {
      return fail(ErrorCode::kLayoutShape, "A published layout has tensors alone, and no files",
                  label_of(entry));
    }
    ranks.insert(file_of(entry));
  }
  bool fits = ranks.size() == world;
  for (std::uint64_t rank = 0; fits && rank < world; ++rank) {
    fits = ranks.contains(rank_file(rank));
  }
  if (!fits) {
    return fail(ErrorCode::kLayoutShape,
                "The published layout is not of rank 0 to " + std::to_string(world - 1) +
                    ", but of " + std::to_string(ranks.size()) + " processes",
                id.text());
  }
  LaidOut made;
  made.facts_ = {LayoutKind::kPublished, id.text(), false};
  made.uses_.emplace_back(manifest.artifact.entries.size());
  std::iota(made.uses_.front().begin(), made.uses_.front().end(), std::size_t{0});
  made.expected_ = std::move(manifest);
  return made;
}

Result<LaidOut> LaidOut::make(const Layout& layout, const ArtifactId& artifact,
                              const Manifest& manifest,
                              const std::function<Result<Roots>()>& roots_of) {
  const Artifact& entries = manifest.artifact;
  if (const std::vector<Error> faults = check_layout(layout, artifact, entries); !faults.empty()) {
    return std::unexpected(faults.front());
  }
  ASSAY_ASSIGN(const Roots roots, roots_of());
  LaidOut made;
  made.expected_.name = manifest.name;
  made.expected_.artifact.parameters = entries.parameters;
  made.facts_ = {LayoutKind::kRecipe, id_of(layout).text(),
                 is_by_table(layout, entries).has_value()};
  made.uses_.resize(entries.entries.size());
  const LayoutEntries index(entries);
  std::size_t steps = kMaxLayoutSteps;
  for (std::size_t rank = 0; rank < layout.ranks.size(); ++rank) {
    const std::vector<LayoutTensor>& tensors = layout.ranks[rank].tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      ASSAY_ASSIGN(const std::vector<LayoutPiece> pieces, pieces_of(tensors[i], index, steps));
      for (const LayoutPiece& piece : pieces) {
        std::vector<std::size_t>& uses = made.uses_.at(piece.entry);
        const std::size_t own = made.expected_.artifact.entries.size();
        if (uses.empty() || uses.back() != own) {
          uses.push_back(own);
        }
      }
      made.expected_.artifact.entries.emplace_back(
          TensorEntry{tensors[i].name, tensors[i].dtype, tensors[i].shape, rank_file(rank), 0,
                      tensor_size(tensors[i].dtype, tensors[i].shape).value_or(0), roots[rank][i]});
    }
  }
  return made;
}

void LaidOut::translate(const Artifact& manifest, InstanceModel::Hashed& hashed) const {
  const std::vector<Seen> seen = seen_of(expected_.artifact, hashed);
  // Looked for once for each list of uses: a published layout has one for all entries.
  std::map<std::pair<std::size_t, Seen::As>, const Seen*> known;
  const auto first_of = [&](std::size_t list, Seen::As as) {
    const auto [at, fresh] = known.try_emplace({list, as}, nullptr);
    if (fresh) {
      const auto found =
          std::ranges::find_if(uses_[list], [&](std::size_t use) { return seen[use].as == as; });
      at->second = found == uses_[list].end() ? nullptr : &seen[*found];
    }
    return at->second;
  };
  hashed.entries.clear();
  hashed.not_covered.clear();
  for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
    const auto* const tensor = std::get_if<TensorEntry>(&manifest.entries[i]);
    if (tensor == nullptr) {
      continue;
    }
    const std::size_t own = facts_.kind == LayoutKind::kPublished ? 0 : i;
    const auto worst = [&](Seen::As as) { return first_of(own, as); };
    TensorEntry entry = *tensor;
    if (const Seen* const differs = worst(Seen::As::kDiffers)) {
      entry.root = *differs->root;
    } else if (worst(Seen::As::kUnregistered) != nullptr) {
      continue;
    } else if (const Seen* const left_out = worst(Seen::As::kNotCovered)) {
      hashed.not_covered.push_back({i, left_out->reason});
      continue;
    }
    hashed.entries.emplace_back(std::move(entry));
  }
}

}  // namespace assay::worker
