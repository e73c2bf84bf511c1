// SPDX-License-Identifier: Apache-2.0
// Memory of another process, announced over a Unix socket (SOCK_STREAM): its pieces as file
// descriptors (SCM_RIGHTS), and the objects that lie in them. All numbers are 64-bit,
// little-endian:
//
//   pieces   messages of a count n (1 to 253) with n descriptors beside its first byte, then n
//   sizes;
//            a count of 0 without descriptors ends them
//   objects  their number; for each one the number of its parts, and for each part piece, offset
//   and
//            size in bytes
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

struct SharedPiece {
  Descriptor fd;
  std::uint64_t size;  // bytes
};

struct SharedPart {
  std::uint64_t piece;
  std::uint64_t offset;  // bytes
  std::uint64_t size;    // bytes
};

struct SharedMemory {
  std::vector<SharedPiece> pieces;
  std::vector<std::vector<SharedPart>> objects;
};

// Reads what the other side announces. Parts lie inside their pieces. Bounds: 65,536 pieces, 2^20
// parts. file-unreadable when the socket fails or ends early, limit-exceeded, invalid-parameter.
[[nodiscard]] Result<SharedMemory> receive_memory(int socket);

// The other direction, for owners of memory.
[[nodiscard]] Status send_memory(int socket, const SharedMemory& memory);

}  // namespace assay::gpu_hash
