// SPDX-License-Identifier: Apache-2.0
// The engines that tests of memory run on.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/engine.h"

namespace assay::worker::test {

// "cpu", or "opencl": the first OpenCL device that imports memory files, such as PoCL. Skips the
// test where there is none. Programs are built once.
class OnEngine : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    static const auto cpu = gpu_hash::make_engine(gpu_hash::drivers_in_this_process(),
                                                  gpu_hash::parse_device("cpu").value());
    static const auto opencl = gpu_hash::make_engine(gpu_hash::drivers_in_this_process(),
                                                     gpu_hash::parse_device("opencl").value());
    const auto& chosen = GetParam() == "cpu" ? cpu : opencl;
    if (!chosen ||
        (GetParam() == "opencl" && (*chosen)->imports() != gpu_hash::Imports::kMemoryFiles)) {
      GTEST_SKIP() << "no OpenCL device that imports memory files";
    }
    engine_ = chosen->get();
  }

  gpu_hash::Engine* engine_ = nullptr;
};

inline std::string engine_name(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace assay::worker::test
