// SPDX-License-Identifier: Apache-2.0
// OpenCL devices: finds them, opens a context on one, and makes errors that name the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/opencl/handles.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct ClDevice {
  cl_platform_id platform;
  cl_device_id device;
  DeviceInfo info;
  std::string vendor;
  std::size_t max_parameter_bytes;  // largest size of a kernel's arguments
  bool imports_fds;                 // can import memory of other processes as file descriptors
  std::string uuid;                 // "GPU-..."; empty: unknown
  std::string pci;                  // "0000:1b:00.0"; empty: unknown
  std::string identity;  // everything that decides whether a program binary fits the device
};

// Returns the usable devices in the order of Drivers::list(). Leaves out a device that cannot be
// queried, is not little-endian or has no compiler, because hashing could not use it. Adds each
// platform without a usable device to `failed`.
[[nodiscard]] std::vector<ClDevice> find_cl_devices(std::vector<FailedPlatform>* failed = nullptr);

// Makes the error device-failed with device, call and OpenCL's error in its text.
[[nodiscard]] std::unexpected<Error> cl_failure(const std::string& device, const char* call,
                                                cl_int error);

// A device with a context. Not thread-safe.
class ClSession {
 public:
  [[nodiscard]] static Result<ClSession> open(ClDevice device);

  [[nodiscard]] const ClDevice& device() const { return device_; }
  [[nodiscard]] cl_context context() const { return context_.get(); }
  [[nodiscard]] const std::string& name() const { return device_.info.name; }

  // Makes an in-order queue.
  [[nodiscard]] Result<ClQueue> make_queue() const;
  // Makes a buffer of `size` bytes. `size` must not be 0.
  [[nodiscard]] Result<ClBuffer> make_buffer(cl_mem_flags flags, std::uint64_t size) const;
  // Returns success when `result` is CL_SUCCESS, otherwise cl_failure() for `call`.
  [[nodiscard]] Status check(const char* call, cl_int result) const;

 private:
  ClSession(ClDevice device, ClContext context)
      : device_(std::move(device)), context_(std::move(context)) {}

  ClDevice device_;
  ClContext context_;
};

// The events of the commands of one piece of work. In OpenCL a command that fails after it was
// enqueued reports the failure only through its own event. Each event is therefore kept and
// checked.
class ClEvents {
 public:
  // Takes ownership of a command's event.
  void add(cl_event event) { events_.emplace_back(event); }
  // Waits for all commands and forgets their events. Errors: device-failed when a command did not
  // complete.
  [[nodiscard]] Status wait(const ClSession& session);
  void clear() { events_.clear(); }

 private:
  std::vector<ClEvent> events_;
};

}  // namespace assay::gpu_hash
