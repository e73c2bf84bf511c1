// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, as safetensors headers spell them. Spec: schemas/tree.md section 6.2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay {

// Bits of one element; nothing for a name that is not in the table. Names are case-sensitive.
[[nodiscard]] std::optional<std::uint64_t> dtype_bits(std::string_view dtype);

// Elements of a shape (1 for a scalar); nothing when the running product from the left passes
// 2^53 - 1.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape);

}  // namespace assay
