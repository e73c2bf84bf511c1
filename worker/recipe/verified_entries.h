// SPDX-License-Identifier: Apache-2.0
// Digests of the windows of tensor entries, as files had them when they were read, and what they
// say of these entries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gpu_hash/region.h"
#include "schemas/core/artifact.h"

namespace assay::worker {

// A window is a run of so many bytes of an entry, or what is left at its end. Windows begin at
// multiples of their size, which is at least that of a chunk.
inline constexpr std::uint64_t kEntryWindow = std::uint64_t{1} << 20;

// Where the bytes of entries come from. The bytes may be any.
class EntryBytes {
 public:
  virtual ~EntryBytes() = default;
  // Returns bytes [offset, offset + size) of the entry at a position of the artifact. Errors: those
  // of finding a file; content-mismatch when the file has no such bytes of the entry.
  [[nodiscard]] virtual Result<gpu_hash::Region> region(std::uint64_t entry, std::uint64_t offset,
                                                        std::uint64_t size) = 0;
};

// The digests of all windows of an entry lead to the root that the manifest has. When a window is
// read again, its digest must be the same.
class VerifiedEntries {
 public:
  // `artifact` must outlive this object.
  explicit VerifiedEntries(const Artifact& artifact) : artifact_(artifact) {}

  // Notes the digest of window `index` of the entry at a position of the artifact. Errors:
  // content-mismatch, with the label of the entry, when it had another one before, and when all
  // windows are known and are not those of the manifest.
  [[nodiscard]] Status note(std::uint64_t entry, std::uint64_t index, const Digest& digest);

  // Returns the windows that are missing until the entries of which others are known are verified,
  // by entry.
  [[nodiscard]] std::map<std::uint64_t, std::vector<std::uint64_t>> missing() const;

 private:
  struct Known {
    std::vector<std::optional<Digest>> windows;
    std::uint64_t missing;
  };
  [[nodiscard]] const TensorEntry& at(std::uint64_t entry) const;

  const Artifact& artifact_;
  std::map<std::uint64_t, Known> known_;  // by entry
};

}  // namespace assay::worker
