// SPDX-License-Identifier: Apache-2.0
// The seals that memory files of owners must have (docs/instances.md).
#pragma once

#include <fcntl.h>

namespace assay::worker::test {

inline constexpr int kOwnerSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

}  // namespace assay::worker::test
