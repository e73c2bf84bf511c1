// SPDX-License-Identifier: Apache-2.0
// Compares a node's report with the manifest. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/outline.h"
#include "schemas/verification_report.h"

namespace assay::server {

// One difference between the bytes on the node and the model.
struct Difference {
  enum class Kind : std::uint8_t {
    kChanged,  // "changed": same size, other bytes; or a tensor of another type, shape or position
    kMissing,  // "missing": not on the node
    kExtra,    // "extra": on the node, not in the manifest
    kSize,     // "size": another size
  };
  Kind kind;
  std::optional<std::uint64_t> entry;  // position in the artifact; absent for kExtra
  std::string path;                    // of the file
  std::optional<std::string> tensor;   // name of the tensor; absent for the file itself
  std::optional<std::uint64_t> expected_size;
  std::optional<std::uint64_t> actual_size;
  // True when outline digests can tell where the bytes differ. `ranges` is filled from those
  // digests.
  bool can_localise = false;
  std::vector<ByteRange> ranges;
  // For kExtra with an empty path: number of further files that the report counts but does not
  // list.
  std::uint64_t others = 0;
};
// Returns {"entry","path","tensor","kind","expected_size","actual_size",
// "ranges":[[begin,end],...],"others"}. Absent values are left out.
[[nodiscard]] Json to_json(const Difference& difference);
// Returns a text for people, such as "model.safetensors#layer.0 bytes 0-1048576".
[[nodiscard]] std::string describe(const Difference& difference);

// The result of compare_report().
struct Comparison {
  // In the order of the artifact, then the extra files. Empty only if every covered entry agrees
  // and no file is extra.
  std::vector<Difference> differences;
  // Positions of the entries that were to be hashed and were hashed.
  std::vector<std::uint64_t> covered;
};

// Compares by identity: the path of a file; file and name of a tensor. `subset` is that of the job;
// empty means all entries. Errors: report-mismatch when the report does not fit the job: other
// parameters (including ignore rules), entries outside the subset, entries that are both reported
// and not covered, positions out of order, extra files that are entries.
[[nodiscard]] Result<Comparison> compare_report(const Artifact& expected,
                                                std::span<const std::uint64_t> subset,
                                                const VerificationReport& report);

// Identity of an entry: the path of a file entry; file and name of a tensor entry.
struct EntryName {
  std::string path;
  std::optional<std::string> tensor;
  auto operator<=>(const EntryName&) const = default;
};
[[nodiscard]] EntryName name_of(const Entry& entry);

}  // namespace assay::server
