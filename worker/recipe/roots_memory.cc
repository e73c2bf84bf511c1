// SPDX-License-Identifier: Apache-2.0
#include "worker/recipe/roots_memory.h"

#include <algorithm>

namespace assay::worker {

std::optional<RootsMemory::Roots> RootsMemory::find(const ArtifactId& artifact,
                                                    const LayoutId& layout) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.artifact == artifact && one.layout == layout; });
  if (found == kept_.end()) {
    return std::nullopt;
  }
  kept_.splice(kept_.begin(), kept_, found);
  return found->roots;
}

void RootsMemory::keep(const ArtifactId& artifact, const LayoutId& layout, const Roots& roots) {
  std::size_t digests = 0;
  for (const std::vector<Digest>& rank : roots) {
    digests += rank.size();
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(kept_,
                [&](const Kept& one) { return one.artifact == artifact && one.layout == layout; });
  kept_.push_front({artifact, layout, roots, digests});
  std::size_t all = 0;
  for (auto one = kept_.begin(); one != kept_.end();) {
    all += one->digests;
    one = all > most_ ? kept_.erase(one) : std::next(one);
  }
}

}  // namespace assay::worker
