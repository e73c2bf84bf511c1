// SPDX-License-Identifier: Apache-2.0
// What engines hash: objects as pieces of host memory, files and device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

class SourceFile;

// Memory of a device, known to the engine of that device alone.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // bytes
};

// Borrowed host memory; must stay unchanged until the call returns.
struct HostPiece {
  ByteView bytes;
};

// Bytes [offset, offset + size) of a file, which is opened when they are needed.
struct FilePiece {
  std::shared_ptr<const SourceFile> file;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t size = 0;    // bytes
};

// Bytes [offset, offset + size) of device memory.
struct DevicePiece {
  std::shared_ptr<const DeviceMemory> memory;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t size = 0;    // bytes
};

using Piece = std::variant<HostPiece, FilePiece, DevicePiece>;

// One object: the concatenation of its pieces, in order. Chunks may straddle pieces; pieces may
// start and end at any byte. No pieces make the empty object.
struct Region {
  std::vector<Piece> pieces;
};

[[nodiscard]] std::uint64_t piece_size(const Piece& piece);
// One object out of borrowed host memory.
[[nodiscard]] Region host_region(ByteView bytes);
// The bytes of a file, or of a tensor inside one, as a region.
[[nodiscard]] Region file_region(std::shared_ptr<const SourceFile> file);
[[nodiscard]] Region file_region(std::shared_ptr<const SourceFile> file, std::uint64_t offset,
                                 std::uint64_t size);
// Bytes of the object. limit-exceeded at 2^53 and above.
[[nodiscard]] Result<std::uint64_t> region_size(const Region& region);
// The same of each region.
[[nodiscard]] Result<std::vector<std::uint64_t>> region_sizes(std::span<const Region> regions);
// The object that consists of bytes [offset, offset + size) of `region`, which must lie inside it.
[[nodiscard]] Region sub_region(const Region& region, std::uint64_t offset, std::uint64_t size);

}  // namespace assay::gpu_hash
