// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/owner.h"

#include <utility>

#include "schemas/posix/files.h"

namespace assay::worker {

Status Owner::read_staged(std::uint64_t piece, std::uint64_t offset, std::span<std::uint8_t> out) {
  return stage(piece, offset, out.size(), [&] {
    const std::int64_t size = read_at(window(), 0, out);
    return std::cmp_equal(size, out.size())
               ? Status()
               : fail(ErrorCode::kFileUnreadable, "the window cannot be read");
  });
}

}  // namespace assay::worker
