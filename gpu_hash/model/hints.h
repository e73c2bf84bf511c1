// SPDX-License-Identifier: Apache-2.0
// What people usually overlook when a model differs. Internal to this folder.
#pragma once

#include <vector>

#include "gpu_hash/artifact_verify.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// Adds to the details of `differences` what is likely behind them: a pointer of Git LFS in place of
// a file, the records of a download tool, or a file that is missing under one name and there under
// a name that looks the same (NFC and NFD of Unicode). Says "may" where it is a guess, and changes
// nothing but details. `files` are those on disk. A file that cannot be read gets no hint.
void add_hints(const std::vector<WalkedFile>& files, std::vector<Difference>& differences);

}  // namespace assay::gpu_hash
