// SPDX-License-Identifier: Apache-2.0
// Reads a GGUF header from its first byte to the end of the last tensor's description, in one pass.
// Keeps only the data that a tensor needs, whatever else the header contains. Internal to gguf.cc.
// Its limits: gpu_hash/gguf.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/gguf.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct GgufHeader {
  std::vector<Tensor> tensors;  // in the header's order; offsets count from the start of the data
  std::uint64_t size = 0;       // bytes
  std::uint32_t alignment = kDefaultGgufAlignment;  // bytes
  std::optional<GgufSplit> split;
};

// Reads the header. Each tensor is checked for itself; its place is not. Memory: the tensors (at
// most kMaxEntries) and the names of the keys. Errors: as read_gguf().
[[nodiscard]] Result<GgufHeader> read_gguf_header(std::uint64_t file_size, const ReadAt& read);

// Makes the error malformed-gguf. `word` is the name that schemas/tree.md section 6.6 gives to the
// failed check.
[[nodiscard]] std::unexpected<Error> refuse_gguf(std::string_view word, std::string_view why,
                                                 std::string where = {});

}  // namespace assay::gpu_hash
