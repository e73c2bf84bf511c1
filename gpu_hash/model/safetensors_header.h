// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, read in one pass: what is kept is what a tensor needs,
// whatever the header holds. Internal to safetensors.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// No tensor library has more dimensions.
inline constexpr std::size_t kMaxRank = 64;
inline constexpr std::size_t kMaxMetadataMembers = 65536;

// A tensor as the header says it, its own members checked for type only.
struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> data_offsets;  // two
};

// Memory: the tensors (at most kMaxEntries) and the names in __metadata__. `text` is one JSON text.
// malformed-safetensors with the word of schemas/tree.md section 6.3 in front.
[[nodiscard]] Result<std::vector<HeaderTensor>> read_safetensors_header(std::string_view text);

// The error of a header or of its tensors.
[[nodiscard]] std::unexpected<Error> refuse_safetensors(std::string_view word, std::string_view why,
                                                        std::string where = {});

}  // namespace assay::gpu_hash
