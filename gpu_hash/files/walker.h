// SPDX-License-Identifier: Apache-2.0
// The walk itself, for the directories that walk() and find_in_repository() choose.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_hash/files/ignore.h"
#include "gpu_hash/files/links.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// Lists the directory `top` below `base`, or `base` itself when `top` is empty. Paths are those
// below `top`; no link leads out of `base`. Errors: those of walk().
[[nodiscard]] Result<std::vector<WalkedFile>> walk_below(std::shared_ptr<const Directory> base,
                                                         const std::string& top, IgnoreRules rules,
                                                         Links links);

}  // namespace assay::gpu_hash
