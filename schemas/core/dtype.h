// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, as safetensors headers spell them. Spec: schemas/tree.md section 6.2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay {

// Returns the number of bits of one element. Returns nullopt for a name that the specification's
// table does not have. Names are case-sensitive.
[[nodiscard]] std::optional<std::uint64_t> dtype_bits(std::string_view dtype);

// Returns the number of elements of a shape (1 for a scalar). Returns nullopt when the product,
// computed from the left, exceeds 2^53 - 1 at any step.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape);

}  // namespace assay
