// SPDX-License-Identifier: Apache-2.0
// Stands in for the OpenCL engine in builds without it (ASSAY_OPENCL=OFF).

#include "gpu_hash/opencl/opencl.h"

namespace assay::gpu_hash {

DeviceListing list_opencl_devices() { return {}; }

std::string opencl_absence() { return "this build has no OpenCL engine"; }

Result<std::unique_ptr<Engine>> make_opencl_engine(unsigned, const EngineOptions&) {
  return fail(ErrorCode::kDeviceNotFound, opencl_absence());
}

Result<BenchResult> bench_opencl(unsigned, HashAlgorithm, std::uint64_t, const EngineOptions&) {
  return fail(ErrorCode::kDeviceNotFound, opencl_absence());
}

}  // namespace assay::gpu_hash
