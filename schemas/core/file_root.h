// SPDX-License-Identifier: Apache-2.0
// The root of a file over its segments, and what the entries of its tensors say of it. Spec:
// schemas/tree.md sections 2.2 and 5.2.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/sha.h"

namespace assay {

// Roots of padding, which is bytes of value 0. Each size is hashed once, and sizes share their
// beginning: all sizes together cost less than 0.2 s. Not thread-safe.
class PaddingRoots {
 public:
  // `parameters` must be valid.
  explicit PaddingRoots(const TreeParameters& parameters) : parameters_(parameters) {}
  // `size` is from 1 to kMaxPadding bytes.
  [[nodiscard]] const Digest& of(std::uint64_t size);

 private:
  [[nodiscard]] Digest leaf(std::uint64_t size);

  TreeParameters parameters_;
  std::unordered_map<std::uint64_t, Digest> roots_;  // by size
  std::vector<ShaStream> begun_;  // element i has the leaf prefix and i * kStep bytes
};

// Computes the root of a cut file from the roots of its header, of all its tensors, and of padding.
// `file` must have a cut that check() accepts. `tensors` are in any order; each lies inside the
// file. Errors: schema-violation when the tensors do not fill the file from its header to its end
// without overlap, apart from padding where the format has it; or when a tensor without bytes has
// another root than that of no bytes.
[[nodiscard]] Result<Digest> cut_file_root(const FileEntry& file,
                                           std::vector<const TensorEntry*> tensors,
                                           PaddingRoots& padding);

// Returns the tensors of the file at `path` among sorted `entries`. Borrows from them.
[[nodiscard]] std::vector<const TensorEntry*> tensors_in(std::span<const Entry> entries,
                                                         std::string_view path);

// Checks the files among sorted `entries` against the tensors: each tensor lies in a cut file, and
// the tensors of each cut file lead to its root. Without tensors, checks only files that consist of
// a header. Errors: schema-violation; `where` names the entry.
[[nodiscard]] Status check_cuts(const TreeParameters& parameters, std::span<const Entry> entries);

}  // namespace assay
