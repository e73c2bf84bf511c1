// SPDX-License-Identifier: Apache-2.0
// OpenCL devices: finding them, a context on one, and errors that name it.
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
  std::size_t max_parameter_bytes;  // of a kernel's arguments
  bool imports_fds;                 // memory of other processes, as file descriptors
  std::string uuid;                 // "GPU-..."; empty: unknown
  std::string identity;  // everything that decides whether a program binary fits the device
};

// Usable devices in the order of list_devices(). What cannot be asked or is not little-endian with
// a compiler is left out: it could not be used either.
[[nodiscard]] std::vector<ClDevice> find_cl_devices();

// device-failed, naming device, call and OpenCL's error.
[[nodiscard]] std::unexpected<Error> cl_failure(const std::string& device, const char* call,
                                                cl_int error);

// A device ready for work. Not thread-safe.
class ClSession {
 public:
  [[nodiscard]] static Result<ClSession> open(ClDevice device);

  [[nodiscard]] const ClDevice& device() const { return device_; }
  [[nodiscard]] cl_context context() const { return context_.get(); }
  [[nodiscard]] const std::string& name() const { return device_.info.name; }

  // An in-order queue.
  [[nodiscard]] Result<ClQueue> make_queue() const;
  // `size` must not be 0.
  [[nodiscard]] Result<ClBuffer> make_buffer(cl_mem_flags flags, std::uint64_t size) const;
  // Status of a call: success, or cl_failure().
  [[nodiscard]] Status check(const char* call, cl_int result) const;

 private:
  ClSession(ClDevice device, ClContext context)
      : device_(std::move(device)), context_(std::move(context)) {}

  ClDevice device_;
  ClContext context_;
};

// The events of the commands of one piece of work. In OpenCL a command that fails after it was
// enqueued tells nobody but its own event, so each one is kept and asked.
class ClEvents {
 public:
  // Takes ownership of a command's event.
  void add(cl_event event) { events_.emplace_back(event); }
  // Waits for all commands and forgets them. device-failed when one did not complete.
  [[nodiscard]] Status wait(const ClSession& session);
  void clear() { events_.clear(); }

 private:
  std::vector<ClEvent> events_;
};

}  // namespace assay::gpu_hash
