// SPDX-License-Identifier: Apache-2.0
// What a node found against what the manifest says: pure functions.
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

// One way in which the bytes on the node are not the model.
struct Difference {
  enum class Kind : std::uint8_t {
    kChanged,  // "changed": same size, other bytes; or a tensor of another type, shape or place
    kMissing,  // "missing": not on the node
    kExtra,    // "extra": on the node, not in the manifest
    kSize,     // "size": another size
  };
  Kind kind;
  std::optional<std::uint64_t> entry;  // position in the artifact; absent for kExtra
  std::string path;                    // of the file
  std::optional<std::string> tensor;   // name; absent for the file itself
  std::optional<std::uint64_t> expected_size;
  std::optional<std::uint64_t> actual_size;
  // Outline digests can tell where it differs; `ranges` once they did.
  bool can_localise = false;
  std::vector<ByteRange> ranges;
  // Of kExtra, with an empty path: so many more files that the report counts and does not list, or
  // tensors, when `tensor` is there.
  std::uint64_t others = 0;
};
// {"entry","path","tensor","kind","expected_size","actual_size","ranges":[[begin,end],...],"others"};
// what is absent is left out.
[[nodiscard]] Json to_json(const Difference& difference);
// "model.safetensors#layer.0 bytes 0-1048576", for people.
[[nodiscard]] std::string describe(const Difference& difference);

struct Comparison {
  // In the order of the artifact, then extras. Empty only if every entry that was covered agrees
  // and no file or tensor is extra.
  std::vector<Difference> differences;
  // What was to be hashed and was, by position. None: nothing was verified.
  std::vector<std::uint64_t> covered;
};

// Compares by identity (path of a file; file and name of a tensor). `subset` as in a job: empty for
// all. A report about memory is about all tensor entries, and no file. report-mismatch when the
// report does not follow from the job: other parameters (ignore rules among them), entries outside
// the subset, entries that are both reported and not covered, positions out of order, extra files
// or tensors that are entries.
[[nodiscard]] Result<Comparison> compare_report(const Artifact& expected,
                                                std::span<const std::uint64_t> subset,
                                                const VerificationReport& report);

// Path of a file entry, or file and name of a tensor entry.
struct EntryName {
  std::string path;
  std::optional<std::string> tensor;
  auto operator<=>(const EntryName&) const = default;
};
[[nodiscard]] EntryName name_of(const Entry& entry);

}  // namespace assay::server
