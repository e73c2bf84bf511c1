// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/acquired.h"

#include <algorithm>
#include <variant>

#include "gpu_hash/opencl/memory.h"

namespace assay::gpu_hash {

Acquired::Acquired(const ClSession& session, ResidentScratch& scratch,
                   std::span<const Region> regions)
    : session_(session), scratch_(scratch) {
  const DeviceMemory* last = nullptr;
  for (const Region& region : regions) {
    for (const Piece& piece : region.pieces) {
      const DeviceMemory* one = std::get<DevicePiece>(piece).memory.get();
      if (one == last) {
        continue;
      }
      last = one;
      const auto& cl = static_cast<const ClMemory&>(*one);
      if (cl.external()) {
        memory_.push_back(cl.get());
      }
    }
  }
  std::ranges::sort(memory_);
  const auto rest = std::ranges::unique(memory_);
  memory_.erase(rest.begin(), rest.end());
}

Acquired::~Acquired() {
  if (done_) {
    return;
  }
  // What is in flight may use buffers that are about to go.
  for (BatchScratch& one : scratch_.queues) {
    one.finish();
  }
  if (acquired_) {
    ClEvents events;
    (void)hand_over(session_, queue_, Handover::kRelease, memory_, events);
    clFinish(queue_);
  }
}

Status Acquired::acquire(cl_command_queue queue) {
  queue_ = queue;
  ASSAY_TRY(hand_over(session_, queue, Handover::kAcquire, memory_, events_));
  acquired_ = !memory_.empty();
  return {};
}

Status Acquired::join(cl_command_queue queue) {
  return acquired_ ? follow(queue, queue_) : Status();
}

Status Acquired::release(std::span<const cl_command_queue> queues) {
  if (!acquired_) {
    return {};
  }
  for (const cl_command_queue queue : queues) {
    if (queue != queue_) {
      ASSAY_TRY(follow(queue_, queue));
    }
  }
  ASSAY_TRY(hand_over(session_, queue_, Handover::kRelease, memory_, events_));
  acquired_ = false;
  return session_.check("clFlush", clFlush(queue_));
}

Status Acquired::finish() {
  ASSAY_TRY(events_.wait(session_));
  done_ = true;
  return {};
}

// What comes into `queue` from here on waits for what is in `first` now.
Status Acquired::follow(cl_command_queue queue, cl_command_queue first) {
  cl_event event = nullptr;
  ASSAY_TRY(session_.check("clEnqueueMarkerWithWaitList",
                           clEnqueueMarkerWithWaitList(first, 0, nullptr, &event)));
  events_.add(event);
  ASSAY_TRY(session_.check("clFlush", clFlush(first)));
  return session_.check("clEnqueueBarrierWithWaitList",
                        clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr));
}

}  // namespace assay::gpu_hash
