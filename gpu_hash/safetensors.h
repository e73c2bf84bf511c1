// SPDX-License-Identifier: Apache-2.0
// Strict reader of the safetensors header. It accepts what the reference reader of the format
// accepts, except for input that two readers could understand differently. Spec: schemas/tree.md
// section 6.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/source_file.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Limits of a header. The first one is that of the format itself.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes
inline constexpr std::size_t kMaxRank =
    64;  // dimensions of a tensor; tensor libraries take no more
inline constexpr std::size_t kMaxMetadataMembers = 65536;

struct Tensor {
  std::string name;
  std::string dtype;                 // as spelled in the header
  std::vector<std::uint64_t> shape;  // empty for a scalar
  std::uint64_t offset;              // bytes from the start of the file
  std::uint64_t size;                // bytes
  bool operator==(const Tensor&) const = default;
};

struct Safetensors {
  std::vector<Tensor> tensors;  // ordered by name as bytes
  std::uint64_t data_start;     // bytes from the start of the file
};

// Fills `out` with the bytes of the file from `offset`. read_safetensors() asks only for bytes
// inside the file.
using ReadAt = std::function<Status(std::uint64_t offset, std::span<std::uint8_t> out)>;

// Reads and checks the header of a file of `file_size` bytes. Checks the header's length before
// allocating memory for it. Errors: malformed-safetensors, where `detail` begins with the name that
// schemas/tree.md section 6.3 gives to the failed check, and `where` names the tensor, if any;
// those of `read`.
[[nodiscard]] Result<Safetensors> read_safetensors(std::uint64_t file_size, const ReadAt& read);
// Does the same for a file. The `where` of an error starts with the file's label.
[[nodiscard]] Result<Safetensors> read_safetensors(const SourceFile& file);

// Returns true for paths that end in ".safetensors": their files must be safetensors files.
[[nodiscard]] bool is_safetensors_path(std::string_view path);

}  // namespace assay::gpu_hash
