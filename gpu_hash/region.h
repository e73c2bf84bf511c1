// SPDX-License-Identifier: Apache-2.0
// Objects for engines to hash, as pieces of host memory, files and device memory.
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

// Memory of a device. Only the engine of that device knows its concrete type.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // bytes
};

// Borrowed host memory. The memory must stay unchanged until the call that uses the piece returns.
struct HostPiece {
  ByteView bytes;
};

// Bytes [offset, offset + size) of a file. The file is opened when the bytes are needed.
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

// One object: the concatenation of its pieces, in order. Pieces may start and end at any byte, and
// a chunk may lie in several pieces. A region without pieces is the empty object.
struct Region {
  std::vector<Piece> pieces;
};

[[nodiscard]] std::uint64_t piece_size(const Piece& piece);
// Makes an object that consists of borrowed host memory.
[[nodiscard]] Region host_region(ByteView bytes);
// Makes a region of the bytes of a file, or of a tensor inside a file.
[[nodiscard]] Region file_region(std::shared_ptr<const SourceFile> file);
[[nodiscard]] Region file_region(std::shared_ptr<const SourceFile> file, std::uint64_t offset,
                                 std::uint64_t size);
// Returns the number of bytes of the object. Errors: limit-exceeded for 2^53 bytes or more.
[[nodiscard]] Result<std::uint64_t> region_size(const Region& region);
// Returns the number of bytes of each region. Errors: as region_size().
[[nodiscard]] Result<std::vector<std::uint64_t>> region_sizes(std::span<const Region> regions);
// Returns the object that consists of bytes [offset, offset + size) of `region`. These bytes must
// lie inside `region`.
[[nodiscard]] Region sub_region(const Region& region, std::uint64_t offset, std::uint64_t size);

}  // namespace assay::gpu_hash
