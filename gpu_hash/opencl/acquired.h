// SPDX-License-Identifier: Apache-2.0
// External memory (imported from another process) while kernels read it.
#pragma once

#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/scratch.h"

namespace assay::gpu_hash {

// The external memory of some regions, from acquire() to release(). Nothing waits for the device
// but finish() and, when the work was not finished, the destructor. While another process computes
// on the device, each wait would cost a switch to that process and back.
class Acquired {
 public:
  // `regions` are device memory of `session`. Both must outlive this object, and so must `scratch`,
  // whose queues the work is in.
  Acquired(const ClSession& session, ResidentScratch& scratch, std::span<const Region> regions);
  ~Acquired();
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

  // Begins to acquire the memory; what comes into `queue` from here on waits for that.
  // Errors: device-failed, as of all functions here.
  [[nodiscard]] Status acquire(cl_command_queue queue);
  // What comes into this other queue from here on waits for the same.
  [[nodiscard]] Status join(cl_command_queue queue);
  // Begins to release the memory, behind all that is in these queues.
  [[nodiscard]] Status release(std::span<const cl_command_queue> queues);
  // Waits until the memory is released. Nothing else may be in flight then.
  [[nodiscard]] Status finish();

 private:
  [[nodiscard]] Status follow(cl_command_queue queue, cl_command_queue first);

  const ClSession& session_;
  ResidentScratch& scratch_;
  cl_command_queue queue_ = nullptr;
  std::vector<cl_mem> memory_;
  ClEvents events_;
  bool acquired_ = false;
  bool done_ = false;  // nothing is in flight
};

}  // namespace assay::gpu_hash
