// SPDX-License-Identifier: Apache-2.0
// Device memory of an OpenCL engine: its own, or imported from another process.
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
  // `size` bytes of the device's own memory, not initialised.
  [[nodiscard]] static Result<std::shared_ptr<ClMemory>> allocate(const ClSession& session,
                                                                  std::uint64_t size);
  // Memory of another process, as Engine::import_memory() describes it.
  [[nodiscard]] static Result<std::shared_ptr<ClMemory>> import(const ClSession& session,
                                                                Descriptor fd, std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] cl_mem get() const { return buffer_.get(); }
  [[nodiscard]] cl_context context() const { return context_; }
  // Memory that must be acquired before the device uses it.
  [[nodiscard]] bool external() const { return external_; }

 private:
  ClMemory(cl_context context, ClBuffer buffer, std::uint64_t size, bool external, Mapping mapping)
      : context_(context),
        mapping_(std::move(mapping)),
        buffer_(std::move(buffer)),
        size_(size),
        external_(external) {}

  cl_context context_;
  Mapping mapping_;  // before the buffer that uses it
  ClBuffer buffer_;
  std::uint64_t size_;
  bool external_;
};

// Acquires external memory for the time of its life, or gives it back.
enum class Handover { kAcquire, kRelease };
[[nodiscard]] Status hand_over(const ClSession& session, cl_command_queue queue, Handover what,
                               std::span<const cl_mem> memory, ClEvents& events);

}  // namespace assay::gpu_hash
