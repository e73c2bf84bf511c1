// SPDX-License-Identifier: Apache-2.0
// Device memory of an OpenCL engine, allocated by the engine or imported from another process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/handles.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

// A read-only mapping of a file.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* memory, std::size_t size) : memory_(memory), size_(size) {}
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&& other) = delete;
  [[nodiscard]] void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

class ClMemory final : public DeviceMemory {
 public:
  // Allocates `size` bytes of the device's own memory. The memory is not initialised.
  [[nodiscard]] static Result<std::shared_ptr<ClMemory>> allocate(const ClSession& session,
                                                                  std::uint64_t size);
  // Imports memory of another process, as Engine::import_memory() describes it.
  [[nodiscard]] static Result<std::shared_ptr<ClMemory>> import(const ClSession& session,
                                                                Descriptor fd, std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] cl_mem get() const { return buffer_.get(); }
  [[nodiscard]] cl_context context() const { return context_; }
  // Returns true when the memory must be acquired before the device uses it.
  [[nodiscard]] bool external() const { return external_; }

 private:
  ClMemory(cl_context context, ClBuffer buffer, std::uint64_t size, bool external, Mapping mapping)
      : context_(context),
        mapping_(std::move(mapping)),
        buffer_(std::move(buffer)),
        size_(size),
        external_(external) {}

  cl_context context_;
  Mapping mapping_;  // declared before the buffer, which uses it
  ClBuffer buffer_;
  std::uint64_t size_;
  bool external_;
};

// Whether external memory is acquired for the device or released.
enum class Handover { kAcquire, kRelease };
// Enqueues the acquisition or the release of `memory`, which must be external. Errors:
// device-failed.
[[nodiscard]] Status hand_over(const ClSession& session, cl_command_queue queue, Handover what,
                               std::span<const cl_mem> memory, ClEvents& events);

}  // namespace assay::gpu_hash
