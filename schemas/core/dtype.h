// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, as the headers of their formats spell them. Spec: schemas/tree.md
// sections 6.2 (safetensors) and 6.5 (GGUF).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay {

// Returns the number of bits of one element of a safetensors type. Returns nullopt for a name that
// the specification's table does not have. Names are case-sensitive.
[[nodiscard]] std::optional<std::uint64_t> dtype_bits(std::string_view dtype);

// A type of GGUF files. Elements are stored in blocks; a row holds whole blocks.
struct GgmlType {
  std::uint32_t number;    // in the header
  std::string_view name;   // dtype of an entry
  std::uint64_t elements;  // of one block
  std::uint64_t bytes;     // of one block
};
// Returns the type with this number; null for a number that the specification's table does not
// have.
[[nodiscard]] const GgmlType* ggml_type(std::uint32_t number);

// Returns the number of elements of a shape (1 for a scalar). Returns nullopt when the product,
// computed from the left, exceeds 2^53 - 1 at any step.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape);

// Returns the bytes of a tensor whose dtype is of either format. Returns nullopt for an unknown
// dtype, for a shape without element_count(), when the last dimension is not a whole number of
// blocks, and when the elements do not come out at whole bytes.
[[nodiscard]] std::optional<std::uint64_t> tensor_size(std::string_view dtype,
                                                       std::span<const std::uint64_t> shape);

}  // namespace assay
