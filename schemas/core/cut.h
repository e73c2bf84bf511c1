// SPDX-License-Identifier: Apache-2.0
// How a file is cut into segments: its header, its tensors, and the padding between them. Spec:
// schemas/tree.md section 2.2.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

// Formats of files whose segments are known.
enum class CutFormat : std::uint8_t { kSafetensors, kGguf };
// Returns "safetensors" or "gguf".
[[nodiscard]] std::string_view name(CutFormat format);
// Errors: schema-violation for any other text.
[[nodiscard]] Result<CutFormat> cut_format_from(std::string_view name);

// A format can have padding: bytes of value 0 between two tensors, before the first one and behind
// the last one. This is the largest number of such bytes in one place.
inline constexpr std::uint64_t kMaxPadding = 65535;
[[nodiscard]] bool has_padding(CutFormat format);

// The header segment of a file that is cut. The other segments follow from the header's bytes.
struct Cut {
  CutFormat format;
  std::uint64_t size;  // bytes of the header
  Digest root;         // of the header
  bool operator==(const Cut&) const = default;
};

// Checks a cut of a file of `file_size` bytes: the header is not longer than the file, and has a
// size that a header of this format can have. Errors: schema-violation.
[[nodiscard]] Status check(const Cut& cut, std::uint64_t file_size);

}  // namespace assay
