// SPDX-License-Identifier: Apache-2.0
// What the kernel says about the processor.
#pragma once

#include <istream>
#include <string>

namespace assay::gpu_hash {

// Returns the processor's name from the text of /proc/cpuinfo, or "cpu" when it names none. x86
// kernels write a name. arm64 kernels write two numbers, who made the core and which one it is: the
// name is "Arm Neoverse V2" for the cores of servers with GPUs, and "arm64 0x41 0xd0b" for others.
[[nodiscard]] std::string processor_name(std::istream& cpuinfo);

}  // namespace assay::gpu_hash
