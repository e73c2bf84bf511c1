// SPDX-License-Identifier: Apache-2.0
// Finds files that run code when they are loaded. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// Returns the paths of files that may be pickles by their names (schemas/core/model_format.h) and
// that are pickles by their first bytes, or ZIP archives, as which torch.save() writes them. Opens
// no other file. A file that cannot be read is left out: to hash it is an error. A pickle of
// protocol 0 or 1 has no first bytes of its own and is not recognised.
[[nodiscard]] std::vector<std::string> find_pickles(const std::vector<WalkedFile>& files);

}  // namespace assay::gpu_hash
