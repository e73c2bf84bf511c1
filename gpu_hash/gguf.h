// SPDX-License-Identifier: Apache-2.0
// Strict reader of GGUF files, versions 2 and 3, little-endian. It accepts what the reference
// reader of the format accepts, except for input that two readers could understand differently.
// Spec: schemas/tree.md sections 6.4 to 6.6.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu_hash/safetensors.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Limits of a header.
inline constexpr std::uint64_t kMaxGgufHeader = 100'000'000;  // bytes
inline constexpr std::uint64_t kMaxGgufKeys = 65536;
inline constexpr std::uint64_t kMaxGgufKey = 65535;  // bytes of a key
inline constexpr std::uint64_t kMaxGgufName = 64;    // bytes of a tensor's name
inline constexpr std::uint32_t kMaxGgufRank = 4;     // dimensions of a tensor
inline constexpr int kMaxGgufDepth = 4;              // arrays in arrays
inline constexpr std::uint32_t kDefaultGgufAlignment = 32;
inline constexpr std::uint32_t kMinGgufAlignment = 8;
inline constexpr std::uint32_t kMaxGgufAlignment = 65536;

// A file that is one part of a model, by the keys split.no, split.count and split.tensors.count.
struct GgufSplit {
  std::uint32_t no;       // from 0
  std::uint32_t count;    // parts, at least 2
  std::uint64_t tensors;  // of all parts together
  bool operator==(const GgufSplit&) const = default;
};

struct Gguf {
  std::vector<Tensor> tensors;  // ordered by name as bytes; shapes with the outermost dimension
                                // first; offsets count from the start of the file
  std::uint64_t header_size;    // bytes from the start of the file to the end of the last tensor's
                                // description
  std::uint64_t data_start;     // header_size, rounded up to `alignment`; a file without tensors
                                // may end before
  std::uint32_t alignment;      // bytes
  std::optional<GgufSplit> split;
};

// Reads and checks the header of a file of `file_size` bytes, and the bytes between header and
// tensors. Reads the header in pieces; no length in the file makes it allocate memory. Errors:
// malformed-gguf, where `detail` begins with the name that schemas/tree.md section 6.6 gives to the
// failed check, and `where` names the key or tensor, if any; those of `read`.
[[nodiscard]] Result<Gguf> read_gguf(std::uint64_t file_size, const ReadAt& read);
// Does the same for a file. The `where` of an error starts with the file's label.
[[nodiscard]] Result<Gguf> read_gguf(const SourceFile& file);

// Returns true for paths that end in ".gguf": their files must be GGUF files.
[[nodiscard]] bool is_gguf_path(std::string_view path);

}  // namespace assay::gpu_hash
