// SPDX-License-Identifier: Apache-2.0
// Expected roots that were computed before, by artifact and layout: they follow from both alone.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/digest.h"
#include "schemas/layout.h"

namespace assay::worker {

// Thread-safe. In memory only; the roots that were used last are kept.
class RootsMemory {
 public:
  using Roots = std::vector<std::vector<Digest>>;  // by rank and position

  // Keeps at most `digests` digests, 32 MiB by default.
  explicit RootsMemory(std::size_t digests = std::size_t{1} << 19) : most_(digests) {}

  [[nodiscard]] std::optional<Roots> find(const ArtifactId& artifact, const LayoutId& layout);
  void keep(const ArtifactId& artifact, const LayoutId& layout, const Roots& roots);

 private:
  struct Kept {
    ArtifactId artifact;
    LayoutId layout;
    Roots roots;
    std::size_t digests;
  };
  std::size_t most_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // guarded by mutex_; the last used one first
};

}  // namespace assay::worker
