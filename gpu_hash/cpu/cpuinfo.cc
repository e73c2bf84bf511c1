// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu/cpuinfo.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay::gpu_hash {
namespace {

struct Core {
  std::string_view numbers;  // implementer and part, as in MIDR_EL1
  std::string_view name;
};

constexpr auto kCores = std::to_array<Core>({{"0x41 0xd0c", "Arm Neoverse N1"},
                                             {"0x41 0xd40", "Arm Neoverse V1"},
                                             {"0x41 0xd49", "Arm Neoverse N2"},
                                             {"0x41 0xd4f", "Arm Neoverse V2"},
                                             {"0x41 0xd84", "Arm Neoverse V3"}});

}  // namespace

std::string processor_name(std::istream& cpuinfo) {
  std::string implementer;
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) {
      continue;
    }
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) {
      return value;
    }
    if (line.starts_with("CPU implementer")) {
      implementer = value;
    } else if (line.starts_with("CPU part") && !implementer.empty()) {
      const std::string numbers = implementer + " " + value;
      const auto* const core = std::ranges::find(kCores, numbers, &Core::numbers);
      return core != kCores.end() ? std::string(core->name) : "arm64 " + numbers;
    }
  }
  return "cpu";
}

}  // namespace assay::gpu_hash
