// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/foreign.h"

#include "gpu_hash/exported.h"
#include "worker/instances/memory.h"

namespace assay::worker {

Status check_foreign(const Descriptor& fd, const InstancePiece& piece) {
  if (piece.kind == PieceKind::kHost) {
    ASSAY_TRY(check_memory_file(fd, piece.size));
    return check_holes(fd, piece.size);
  }
  const Result<gpu_hash::FileKind> file = gpu_hash::kind_of(fd);
  return piece.kind == PieceKind::kDevice && file && gpu_hash::is_device_memory(*file)
             ? Status()
             : fail(ErrorCode::kInvalidParameter,
                    "a descriptor is no memory of a device that a driver exported");
}

}  // namespace assay::worker
