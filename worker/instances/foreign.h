// SPDX-License-Identifier: Apache-2.0
// Descriptors of files that another process chose. A call on such a file can wait as long as that
// process likes: close() waits for a socket with SO_LINGER and for a file of FUSE or NFS, fstat()
// for the latter two. So only the thread of the connection that brought a descriptor handles it
// until ForeignFiles has accepted it; that thread holds no lock and no budget of others then,
// and closes it with close_foreign() (schemas/posix/frames.h).
#pragma once

#include <set>
#include <sys/types.h>
#include <utility>

#include "schemas/core/error.h"
#include "schemas/instance.h"
#include "schemas/posix/descriptor.h"

namespace assay::worker {

// The files of one frame, whose descriptors all stay open meanwhile.
class ForeignFiles {
 public:
  // Checks that `piece` may be exported as this file: a memory file that passes check_memory_file()
  // and check_holes() (memory.h), or a file that some driver exports (kDevice). Nothing that this
  // function checks can change later, and neither kind makes close() or fstat() wait. This function
  // waits only in check_holes(), which looks at all pages of a file: once for each file, however
  // often a frame has it. Errors: invalid-parameter.
  [[nodiscard]] Status check(const Descriptor& fd, const InstancePiece& piece);

 private:
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace assay::worker
