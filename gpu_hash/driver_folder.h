// SPDX-License-Identifier: Apache-2.0
// Where drivers keep the code that they compile and load again. Left to themselves, some take a
// folder of /tmp that anybody may have filled before: PoCL without HOME takes /tmp/pocl.
#pragma once

namespace assay::gpu_hash {

// Points the variables of drivers that are not set at assay/drivers in $XDG_CACHE_HOME, or else in
// $HOME/.cache, if this user alone can write there; otherwise at a folder that cannot be. Then
// drivers compile anew in each process, and PoCL has no device. Call it before there are threads.
void use_driver_folder();

}  // namespace assay::gpu_hash
