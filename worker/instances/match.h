// SPDX-License-Identifier: Apache-2.0
// Matches registered tensors with the tensor entries of a manifest by name, and compares dtype,
// shape and size. Never guesses. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/error.h"
#include "schemas/instance.h"
#include "schemas/memory_facts.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// The processes of an instance, sorted by rank (their number in the instance, from 0); none is
// null.
using Ranks = std::span<const InstanceRegistration* const>;

// Checks that the ranks 0 to world - 1 (world is the number of processes) are there, each once, all
// with this artifact and the same world. Errors: not-found when a rank is not registered; conflict
// when they disagree about the world, or when one registered another artifact.
[[nodiscard]] Status check_ranks(const ArtifactId& artifact, Ranks ranks);

// A registered tensor for which the manifest has one or more entries.
struct MatchedTensor {
  std::size_t rank;    // position in the ranks
  std::size_t tensor;  // position in that registration
  // Positions in the artifact of the entries with its names, ascending. An entry with another
  // dtype, shape or size is listed too, and there is a finding about it.
  std::vector<std::uint64_t> entries;
  bool operator==(const MatchedTensor&) const = default;
};

struct TensorMatch {
  std::vector<MatchedTensor> tensors;  // by rank and position; no entry is in two of them
  // Tensor entries, ascending, whose name no registered tensor has, or only one with more bytes.
  std::vector<std::uint64_t> missing;
  // Registered tensors without an entry, and those with an entry that an earlier tensor already
  // has, by rank and position; as many as a report can list.
  std::vector<ExtraTensor> extra;
  std::uint64_t extra_count = 0;
  std::vector<Finding> findings;  // missing, extra, mismatch; at most kMaxFindings
  [[nodiscard]] bool agrees() const { return findings.empty(); }
};

// Largest number of findings that an owner (owner.h) is told.
inline constexpr std::size_t kMaxFindings = 16;

// Returns the name under which the tensors of one rank of a layout are entries of a file. The order
// of the names is that of the ranks.
[[nodiscard]] std::string rank_file(std::uint64_t rank);

// Matches the tensors of all `ranks`. When several entries have one name (in several files), a
// tensor of that name is matched with all of them. With `by_rank`, the entries are tensors of a
// layout, and a tensor is matched only with entries of the file rank_file() of its rank.
[[nodiscard]] TensorMatch match_tensors(const Artifact& artifact, Ranks ranks,
                                        bool by_rank = false);

// Returns the size of a tensor in bytes.
[[nodiscard]] std::uint64_t size_of(const InstanceTensor& tensor);

// Returns the entry as it was found in memory. `file` and `offset` are copied from `expected`.
[[nodiscard]] TensorEntry found_entry(const TensorEntry& expected, const InstanceTensor& tensor,
                                      const Digest& root);

}  // namespace assay::worker
