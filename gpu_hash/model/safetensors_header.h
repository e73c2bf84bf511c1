// SPDX-License-Identifier: Apache-2.0
// Reads the JSON header of a safetensors file in one pass. Keeps only the data about tensors,
// whatever else the header contains. Internal to safetensors.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// The largest accepted number of dimensions of a tensor. Tensor libraries support no more.
inline constexpr std::size_t kMaxRank = 64;
inline constexpr std::size_t kMaxMetadataMembers = 65536;

// One tensor as the header describes it. Only the types of its members are checked.
struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> data_offsets;  // begin and end
};

// Reads the header `text`, which must be one JSON text. Memory: the tensors (at most kMaxEntries)
// and the names in __metadata__. Errors: malformed-safetensors; `detail` begins with the name that
// schemas/tree.md section 6.3 gives to the failed check.
[[nodiscard]] Result<std::vector<HeaderTensor>> read_safetensors_header(std::string_view text);

// Makes the error malformed-safetensors for a header or a tensor. `word` is the name that
// schemas/tree.md section 6.3 gives to the failed check.
[[nodiscard]] std::unexpected<Error> refuse_safetensors(std::string_view word, std::string_view why,
                                                        std::string where = {});

}  // namespace assay::gpu_hash
