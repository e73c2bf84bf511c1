// SPDX-License-Identifier: Apache-2.0
// Descriptors of files that another process chose. A call on such a file can wait as long as that
// process likes: close() waits for a socket with SO_LINGER and for a file of FUSE or NFS, fstat()
// for the latter two. So only the thread of the connection that brought a descriptor handles it
// until check_foreign() has accepted it; that thread holds no lock and no budget of others then,
// and closes it with close_foreign() (schemas/posix/frames.h).
#pragma once

#include "schemas/core/error.h"
#include "schemas/instance.h"
#include "schemas/posix/descriptor.h"

namespace assay::worker {

// Checks, by calls that do not wait, that pieces of this kind are exported as such files: memory
// files that nobody can cut short (kHost), files that some driver exports (kDevice). Neither kind
// makes close() or fstat() wait. Errors: invalid-parameter.
[[nodiscard]] Status check_foreign(const Descriptor& fd, PieceKind kind);

}  // namespace assay::worker
