// SPDX-License-Identifier: Apache-2.0
// Which tensor entries of a manifest the registered tensors are: by name, dtype, shape and bytes,
// never guessed. Pure.
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

// The processes of an instance, by rank; none is null.
using Ranks = std::span<const InstanceRegistration* const>;

// The ranks 0 to world - 1, each once, all with this artifact and one world. not-found (a rank is
// not registered), conflict (they disagree, or registered another artifact).
[[nodiscard]] Status check_ranks(const ArtifactId& artifact, Ranks ranks);

// A registered tensor that the manifest has one or more entries of.
struct MatchedTensor {
  std::size_t rank;    // position in the ranks
  std::size_t tensor;  // position in that registration
  // Entries that its names stand for, by position in the artifact, ascending. Dtype or shape may
  // differ there: then there is a finding, and what was found is reported all the same.
  std::vector<std::uint64_t> entries;
  bool operator==(const MatchedTensor&) const = default;
};

struct TensorMatch {
  std::vector<MatchedTensor> tensors;  // by rank and position; an entry is in one of them at most
  std::vector<std::uint64_t> missing;  // tensor entries that no registered tensor has the name of
  // Registered tensors without an entry, and those whose entry another tensor has already, by rank
  // and position; the first kMaxExtraTensors.
  std::vector<ExtraTensor> extra;
  std::uint64_t extra_count = 0;
  std::vector<Finding> findings;  // missing, extra, mismatch: the first kMaxFindings
  [[nodiscard]] bool agrees() const { return findings.empty(); }
};

// Findings that an owner is told.
inline constexpr std::size_t kMaxFindings = 16;

// Several entries of one name (in several files) are all meant by that name.
[[nodiscard]] TensorMatch match_tensors(const Artifact& artifact, Ranks ranks);

// Bytes of a tensor.
[[nodiscard]] std::uint64_t size_of(const InstanceTensor& tensor);

// The entry as it was found: file and offset are the manifest's.
[[nodiscard]] TensorEntry found_entry(const TensorEntry& expected, const InstanceTensor& tensor,
                                      const Digest& root);

}  // namespace assay::worker
