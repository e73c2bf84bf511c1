// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/variants.h"

#include <array>

namespace assay::gpu_hash {
namespace {

constexpr KernelVariant kPlain = {"plain", "", 64};

constexpr std::array kCpu = {kPlain};

// Not measured on such devices by us: the plain kernel and its smaller loop.
constexpr std::array kGpu = {kPlain, KernelVariant{"rolled", " -DASSAY_ROLL=1", 64}};

// Found on an H200 by bench/gpu_hash/search.cc.
constexpr std::array kNvidiaSha256 = {
    kPlain,
    KernelVariant{"ptx", " -DASSAY_PTX=1", 128},
    KernelVariant{"multiply",
                  " -DASSAY_PTX=1 -DASSAY_MULTIPLY=1 -DASSAY_ADDS_EVEN=62 -DASSAY_ADDS_ODD=119"
                  " -DASSAY_ADDS_SCHEDULE=7 -DASSAY_TAG_ADDS=2 -cl-nv-maxrregcount=80",
                  128},
    KernelVariant{"multiply-103",
                  " -DASSAY_PTX=1 -DASSAY_MULTIPLY=1 -DASSAY_ADDS_EVEN=62 -DASSAY_ADDS_ODD=103"
                  " -DASSAY_ADDS_SCHEDULE=7 -DASSAY_TAG_ADDS=2 -cl-nv-maxrregcount=80",
                  128},
    KernelVariant{"multiply-48",
                  " -DASSAY_PTX=1 -DASSAY_MULTIPLY=1 -DASSAY_ADDS_EVEN=126 -DASSAY_ADDS_ODD=103"
                  " -DASSAY_ADDS_SCHEDULE=7 -DASSAY_TAG_ADDS=2 -cl-nv-maxrregcount=48",
                  128},
};

constexpr std::array kNvidiaSha384 = {
    kPlain,
    KernelVariant{"ptx", " -DASSAY_PTX=1 -cl-nv-maxrregcount=80", 256},
    KernelVariant{"ptx-rolled", " -DASSAY_PTX=1 -DASSAY_ROLL=1", 128},
    KernelVariant{"multiply-rolled",
                  " -DASSAY_PTX=1 -DASSAY_ROLL=1 -DASSAY_MULTIPLY=1 -DASSAY_ADDS_EVEN=0"
                  " -DASSAY_ADDS_ODD=0 -DASSAY_ADDS_SCHEDULE=1",
                  128},
};

}  // namespace

std::span<const KernelVariant> kernel_variants(HashAlgorithm algorithm, std::string_view vendor,
                                               std::string_view type) {
  if (type != "gpu") {
    return kCpu;
  }
  if (vendor.find("NVIDIA") == std::string_view::npos) {
    return kGpu;
  }
  return algorithm == HashAlgorithm::kSha256 ? std::span<const KernelVariant>(kNvidiaSha256)
                                             : std::span<const KernelVariant>(kNvidiaSha384);
}

}  // namespace assay::gpu_hash
