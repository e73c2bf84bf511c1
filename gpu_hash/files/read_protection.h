// SPDX-License-Identifier: Apache-2.0
// What keeps an open file from being written while it is read.
#pragma once

#include "schemas/core/read_protection.h"

namespace assay::gpu_hash {

// Finds the strongest protection of the regular file `fd`, which is open for reading. Takes a read
// lease when the file system is one whose leases see every writer of this machine, and this process
// owns the file or has CAP_LEASE. The lease ends when `fd` is closed.
[[nodiscard]] Protection protect(int fd);

// Returns whether the lease of `fd` still holds. When a process waits to open the file for writing,
// gives the lease back, so that this process waits no longer, and returns false.
[[nodiscard]] bool keeps_lease(int fd);

}  // namespace assay::gpu_hash
