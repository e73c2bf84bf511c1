// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/foreign.h"

#include <fcntl.h>

#include "gpu_hash/exported.h"

namespace assay::worker {
namespace {

// Only memory files have these seals; the kernel looks at the descriptor alone.
bool is_sealed(const Descriptor& fd) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

}  // namespace

Status check_foreign(const Descriptor& fd, PieceKind kind) {
  if (kind == PieceKind::kHost) {
    return is_sealed(fd)
               ? Status()
               : fail(
                     ErrorCode::kInvalidParameter,
                     "a descriptor is no memory file that is sealed against shrinking and growing");
  }
  const Result<gpu_hash::FileKind> file = gpu_hash::kind_of(fd);
  return kind == PieceKind::kDevice && file && gpu_hash::is_device_memory(*file)
             ? Status()
             : fail(ErrorCode::kInvalidParameter,
                    "a descriptor is no memory of a device that a driver exported");
}

}  // namespace assay::worker
