// SPDX-License-Identifier: Apache-2.0
// Compares a node's report (its signed account of what it read) with the manifest. Pure functions.
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
    kChanged,  // "changed": same size, but bytes, type, shape or position differ
    kMissing,  // "missing": not on the node
    kExtra,    // "extra": on the node, not in the manifest
    kSize,     // "size": the sizes differ
  };
  Kind kind;
  std::optional<std::uint64_t> entry;  // position in the artifact; absent for kExtra
  std::string path;                    // of the file
  std::optional<std::string> tensor;   // name of the tensor; absent for the file itself
  std::optional<std::uint64_t> expected_size;
  std::optional<std::uint64_t> actual_size;
  // True when outline digests (inner nodes of the artifact's tree) can show where the bytes differ.
  // `ranges` is filled after the worker has sent those digests.
  bool can_localise = false;
  std::vector<ByteRange> ranges;
  // For kExtra with an empty path: number of further files that the report counts but does not
  // list; further tensors when `tensor` is set.
  std::uint64_t others = 0;
};
// Returns {"entry","path","tensor","kind","expected_size","actual_size",
// "ranges":[[begin,end],...],"others"}. Absent values are left out.
[[nodiscard]] Json to_json(const Difference& difference);
// Returns a text for people, such as "model.safetensors#layer.0 bytes 0-1048576".
[[nodiscard]] std::string describe(const Difference& difference);

// The result of compare_report().
struct Comparison {
  // In the order of the artifact, then the extra files and tensors. A file is left out whose
  // differing tensors are listed and account for it. Empty only if every covered entry is the same
  // on the node and nothing is extra.
  std::vector<Difference> differences;
  // Positions of the entries that were to be hashed and were hashed. Empty: nothing was verified.
  std::vector<std::uint64_t> covered;
};

// Compares the entries of `report` with the entries of `expected` that have the same name (see
// EntryName). `subset` has the positions of the entries that the job is about; empty means all
// entries. A report about memory is compared with all tensor entries and no file entry. Errors:
// report-mismatch when the report does not fit the job: its parameters (including ignore rules)
// differ from the manifest's; it reports entries outside the subset; it reports an entry and also
// lists it as not covered; positions are out of order; an extra file is an entry of the manifest.
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
