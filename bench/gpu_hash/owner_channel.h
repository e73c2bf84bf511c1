// SPDX-License-Identifier: Apache-2.0
// How owners of memory hand it to a benchmark, over a Unix socket (SOCK_STREAM). Both ends are
// parts of the benchmark and believe each other; processes register with the product as
// docs/instances.md says. All numbers are 64-bit, little-endian:
//
//   pieces   messages of a count n (1 to 253), then n sizes; n descriptors accompany the first byte
//            a message with count 0 and no descriptors ends the pieces
//   objects  the number of objects; for each object the number of its parts;
//            for each part its piece, offset and size in bytes
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

struct SharedPiece {
  Descriptor fd;
  std::uint64_t size;  // bytes
};

// A part of an object: bytes [offset, offset + size) of a piece.
struct SharedPart {
  std::uint64_t piece;   // index into SharedMemory::pieces
  std::uint64_t offset;  // bytes
  std::uint64_t size;    // bytes
};

struct SharedMemory {
  std::vector<SharedPiece> pieces;
  std::vector<std::vector<SharedPart>> objects;
};

// Reads what the other side announces. Errors: file-unreadable when the socket fails or ends early.
[[nodiscard]] Result<SharedMemory> receive_memory(int socket);

// Announces `memory` to the other side. Used by the process that owns the memory. Errors: as above.
[[nodiscard]] Status send_memory(int socket, const SharedMemory& memory);

}  // namespace assay::gpu_hash
