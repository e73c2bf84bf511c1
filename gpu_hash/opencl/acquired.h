// SPDX-License-Identifier: Apache-2.0
// External memory (imported from another process) while kernels read it.
#pragma once

#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/scratch.h"
#include "gpu_hash/resident/plan.h"

namespace assay::gpu_hash {

// The external memory of some regions, from acquire() to release(). Nothing waits for the device
// but finish() and, when the work was not finished, the destructor. While another process computes
// on the device, each wait would cost a switch to that process and back. Acquiring thousands of
// pieces takes a millisecond, so the first batch waits for its own memory alone.
class Acquired {
 public:
  // `regions` are device memory of `session`. Both must outlive this object, and so must `scratch`,
  // whose queues the work is in.
  Acquired(const ClSession& session, ResidentScratch& scratch, std::span<const Region> regions)
      : session_(session), scratch_(scratch), regions_(regions) {}
  ~Acquired();
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

  // Begins to acquire what `batch` reads; what comes into `queue` from here on waits for that.
  // Errors: device-failed, as of all functions here.
  [[nodiscard]] Status acquire(cl_command_queue queue, const ResidentBatch& batch);
  // Begins to acquire the rest; what comes into `queue` from here on waits for all of the memory.
  [[nodiscard]] Status acquire_rest(cl_command_queue queue);
  // What comes into this other queue from here on waits for the same.
  [[nodiscard]] Status join(cl_command_queue queue);
  // Begins to release the memory, behind all that is in these queues.
  [[nodiscard]] Status release(std::span<const cl_command_queue> queues);
  // Waits until the memory is released. Nothing else may be in flight then.
  [[nodiscard]] Status finish();

 private:
  // Acquires, in `queue_`, what of `found` is not acquired yet.
  [[nodiscard]] Status add(std::vector<cl_mem> found);
  // An event for all that is in the queue now; `events_` owns it.
  [[nodiscard]] Result<cl_event> mark(cl_command_queue queue);
  [[nodiscard]] Status wait_for(cl_command_queue queue, cl_event event);

  const ClSession& session_;
  ResidentScratch& scratch_;
  std::span<const Region> regions_;
  cl_command_queue queue_ = nullptr;  // of the last acquisition
  cl_event acquired_at_ = nullptr;    // the end of that; nullptr without external memory
  std::vector<cl_mem> memory_;        // that is acquired; ascending
  ClEvents events_;
  bool done_ = false;  // nothing is in flight
};

}  // namespace assay::gpu_hash
