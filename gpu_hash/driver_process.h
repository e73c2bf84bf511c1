// SPDX-License-Identifier: Apache-2.0
// Drivers in processes of their own. A driver that ends, hangs or answers nonsense is the error
// device-failed then, with how its process ended and what the driver said last.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gpu_hash/drivers.h"
#include "schemas/core/error.h"
#include "schemas/posix/child_process.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

// The number of the socket's descriptor in such a process.
inline constexpr int kDriverSocket = kFirstChildDescriptor;

// How long a process may take before it is killed.
struct DriverTimes {
  std::chrono::seconds list{60};      // to list devices, but no longer than `silent`
  std::chrono::seconds silent{300};   // without any message, while it works
  std::chrono::seconds stalled{900};  // without another hashed byte, even if it says it goes on
  std::chrono::seconds bench{3'600};  // to measure one device
};

// How to start this build of this program so that it calls serve_driver().
struct DriverProgram {
  std::string path = "/proc/self/exe";
  std::vector<std::string> words{};  // of the command line, beginning with the program's name
  std::string vendors_option{};      // option whose value is the `vendors` of serve_driver()
  std::string build{};               // that the process must name
  DriverTimes times{};
};

// Makes the access to drivers in processes of `program`: one for each engine. When the process that
// lists all platforms fails, each platform is listed by a process of its own, so that the others
// can be used. An engine whose process failed starts another one at the next call.
[[nodiscard]] std::unique_ptr<Drivers> make_driver_processes(DriverProgram program);

// The main function of such a process. With `vendors` not empty, the OpenCL loader loads only the
// driver that this file of type .icd names. Returns only when it cannot begin: with the error usage
// when `socket` is no socket. Otherwise the whole process ends when the socket is closed or the
// other side violates the protocol. Running threads are not waited for, because a driver may block
// them.
[[nodiscard]] Status serve_driver(Descriptor socket, const std::string& build,
                                  const std::string& vendors);

}  // namespace assay::gpu_hash
