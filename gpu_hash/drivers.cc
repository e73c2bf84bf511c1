// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/drivers.h"

#include <algorithm>
#include <tuple>

namespace assay::gpu_hash {
namespace {

int rank(std::string_view type) {
  return type == "gpu" ? 0 : type == "accelerator" ? 1 : type == "cpu" ? 3 : 2;
}

}  // namespace

bool is_listed_before(const DeviceInfo& a, const DeviceInfo& b) {
  return std::tuple(rank(a.type), std::string_view(a.name), std::string_view(a.platform)) <
         std::tuple(rank(b.type), std::string_view(b.name), std::string_view(b.platform));
}

}  // namespace assay::gpu_hash
