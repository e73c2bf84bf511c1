// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/foreign.h"

#include <sys/stat.h>

#include "gpu_hash/exported.h"
#include "worker/instances/memory.h"

namespace assay::worker {

Status ForeignFiles::check(const Descriptor& fd, const InstancePiece& piece) {
  if (piece.kind == PieceKind::kHost) {
    ASSAY_TRY(check_memory_file(fd, piece.size));
    struct stat status{};
    if (::fstat(fd.get(), &status) == 0 && !seen_.emplace(status.st_dev, status.st_ino).second) {
      return {};  // of the seals follows that it has got no holes since
    }
    return check_holes(fd, piece.size);
  }
  const Result<gpu_hash::FileKind> file = gpu_hash::kind_of(fd);
  return piece.kind == PieceKind::kDevice && file && gpu_hash::is_device_memory(*file)
             ? Status()
             : fail(ErrorCode::kInvalidParameter,
                    "a descriptor is no memory of a device that a driver exported");
}

}  // namespace assay::worker
