// SPDX-License-Identifier: Apache-2.0
// Instances that registered a layout (schemas/layout.md): which tensors their processes must hold,
// and what was found of them as a statement about the entries of the manifest.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schemas/layout.h"
#include "schemas/manifest.h"
#include "schemas/memory_facts.h"
#include "worker/instances/model.h"

namespace assay::worker {

// The layout that all processes of an instance registered: a document, the id of a published one,
// or neither.
struct RegisteredLayout {
  const Layout* layout = nullptr;  // null: none
  std::optional<ArtifactId> published{};
};
// Errors: conflict when the processes disagree. `owners` is not empty.
[[nodiscard]] Result<RegisteredLayout> layout_of(const std::vector<std::shared_ptr<Owner>>& owners);

class LaidOut {
 public:
  using Roots = std::vector<std::vector<Digest>>;  // by rank and position in the layout

  // Checks the layout, and takes the roots of its tensors from `roots_of`. Errors: the first fault
  // of check_layout() (schemas/layout_check.h); those of `roots_of`.
  [[nodiscard]] static Result<LaidOut> make(const Layout& layout, const ArtifactId& artifact,
                                            const Manifest& manifest,
                                            const std::function<Result<Roots>()>& roots_of);

  // Takes the expected tensors from a published manifest of tensors, whose id is `id`. Errors:
  // layout-shape unless all its entries are tensors of the files rank_file(0) to
  // rank_file(world - 1), of which each has one.
  [[nodiscard]] static Result<LaidOut> published(const ArtifactId& id, Manifest manifest,
                                                 std::uint64_t world);

  // Returns a manifest of the tensors of the layout, for InstanceModel: a tensor of rank N is an
  // entry of the file rank_file(N).
  [[nodiscard]] const Manifest& expected() const { return expected_; }
  [[nodiscard]] const MemoryLayout& facts() const { return facts_; }

  // Replaces what was found of tensors of the layout by what follows for the tensor entries of
  // `manifest`. An entry is as in the manifest when all tensors with bytes of it are as expected.
  // When one of these tensors differs, the root of the entry is the node over that tensor's
  // expected and found root, which is the root of no entry. An entry is left out when one of these
  // tensors was not registered, and not covered when one was not hashed. An entry without bytes in
  // a tensor, which the layout drops, is as in the manifest. In a published layout each tensor has
  // bytes of all entries.
  void translate(const Artifact& manifest, InstanceModel::Hashed& hashed) const;

 private:
  LaidOut() = default;

  Manifest expected_;
  MemoryLayout facts_{};
  // Entries of expected_, by entry of the manifest; of a published layout, one list for all.
  std::vector<std::vector<std::size_t>> uses_;
};

}  // namespace assay::worker
