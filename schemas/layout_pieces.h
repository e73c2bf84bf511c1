// SPDX-License-Identifier: Apache-2.0
// Takes the tensors of a layout (schemas/layout.h) apart into pieces: which elements of which entry
// of an artifact stand where in a tensor. The check of a layout and the computation of its tensors
// follow the same pieces. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/layout.h"

namespace assay {

// Largest number of pieces of one tensor and of one layout, and of steps to find the pieces of a
// layout.
inline constexpr std::size_t kMaxTensorPieces = std::size_t{1} << 18;
inline constexpr std::size_t kMaxLayoutPieces = std::size_t{1} << 20;
inline constexpr std::size_t kMaxLayoutSteps = std::size_t{1} << 24;

// The tensor entries of an artifact by name. Borrows from the artifact.
class LayoutEntries {
 public:
  explicit LayoutEntries(const Artifact& artifact);

  [[nodiscard]] const Artifact& artifact() const { return *artifact_; }
  [[nodiscard]] const TensorEntry& at(std::uint64_t position) const;
  // Returns the position of the entry in the artifact. Errors: layout-entry-unknown when there is
  // none, and when several files have a tensor of this name and `entry` names no file.
  [[nodiscard]] Result<std::uint64_t> find(const LayoutEntry& entry) const;

 private:
  const Artifact* artifact_;
  std::multimap<std::string_view, std::uint64_t> positions_;
};

// Indexes [start, start + size) of one axis of an entry.
struct LayoutSpan {
  std::uint64_t start;
  std::uint64_t size;
  std::uint64_t step;  // elements of the tensor from one index to the next
  bool operator==(const LayoutSpan&) const = default;
};

// A box of elements of an entry, and the places of its elements in the tensor: the element at
// `start` of all axes is element `to` of the tensor.
struct LayoutPiece {
  std::uint64_t entry;  // position in the artifact
  std::vector<LayoutSpan> axes;
  std::uint64_t to;
  bool cast;  // its elements are F32, those of the tensor have another type
  bool operator==(const LayoutPiece&) const = default;
};

// Returns the bytes of an element; nullopt for types whose elements share bytes, and for those of
// GGUF in blocks.
[[nodiscard]] std::optional<std::uint64_t> element_bytes(std::string_view dtype);

// Returns the pieces of one tensor. Elements of the tensor that are in no piece are zeros of `pad`;
// no two pieces share an element of the tensor. `steps` is what is left of kMaxLayoutSteps; the
// function takes off those that it needed. Errors, with `where` below the tensor:
// layout-entry-unknown; layout-shape when an operation does not fit its operands, or when dtype and
// shape are not those that the tensor says; limit-exceeded for more than kMaxTensorPieces, and when
// no steps are left.
[[nodiscard]] Result<std::vector<LayoutPiece>> pieces_of(const LayoutTensor& tensor,
                                                         const LayoutEntries& entries,
                                                         std::size_t& steps);

}  // namespace assay
