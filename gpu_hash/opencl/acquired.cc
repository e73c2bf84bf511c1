// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/acquired.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "gpu_hash/opencl/memory.h"

namespace assay::gpu_hash {
namespace {

void add_external(const DeviceMemory* memory, std::vector<cl_mem>& found) {
  const auto& cl = static_cast<const ClMemory&>(*memory);
  if (cl.external()) {
    found.push_back(cl.get());
  }
}

template <typename Planned>
void add_external(const std::vector<Planned>& planned, std::vector<cl_mem>& found) {
  for (const Planned& one : planned) {
    for (const DeviceMemory* memory : one.memory) {
      if (memory != nullptr) {  // the side buffer
        add_external(memory, found);
      }
    }
  }
}

}  // namespace

Acquired::~Acquired() {
  if (done_) {
    return;
  }
  // What is in flight may use buffers that are about to go.
  for (BatchScratch& one : scratch_.queues) {
    one.finish();
  }
  if (!memory_.empty()) {
    ClEvents events;
    (void)hand_over(session_, queue_, Handover::kRelease, memory_, events);
    clFinish(queue_);
  }
}

Status Acquired::acquire(cl_command_queue queue, const ResidentBatch& batch) {
  queue_ = queue;
  std::vector<cl_mem> found;
  add_external(batch.launches, found);
  add_external(batch.copies, found);
  return add(std::move(found));
}

Status Acquired::acquire_rest(cl_command_queue queue) {
  ASSAY_TRY(join(queue));
  queue_ = queue;
  std::vector<cl_mem> found;
  const DeviceMemory* last = nullptr;
  for (const Region& region : regions_) {
    for (const Piece& piece : region.pieces) {
      const DeviceMemory* one = std::get<DevicePiece>(piece).memory.get();
      if (one != last) {
        last = one;
        add_external(one, found);
      }
    }
  }
  return add(std::move(found));
}

Status Acquired::add(std::vector<cl_mem> found) {
  std::ranges::sort(found);
  const auto rest = std::ranges::unique(found);
  found.erase(rest.begin(), rest.end());
  std::vector<cl_mem> missing;
  std::ranges::set_difference(found, memory_, std::back_inserter(missing));
  if (missing.empty()) {
    return {};
  }
  ASSAY_TRY(hand_over(session_, queue_, Handover::kAcquire, missing, events_));
  const auto middle = memory_.insert(memory_.end(), missing.begin(), missing.end());
  std::ranges::inplace_merge(memory_, middle);
  ASSAY_ASSIGN(acquired_at_, mark(queue_));
  return {};
}

Status Acquired::join(cl_command_queue queue) {
  return acquired_at_ == nullptr || queue == queue_ ? Status() : wait_for(queue, acquired_at_);
}

Status Acquired::release(std::span<const cl_command_queue> queues) {
  if (memory_.empty()) {
    return {};
  }
  for (const cl_command_queue queue : queues) {
    if (queue != queue_) {
      ASSAY_ASSIGN(const cl_event end, mark(queue));
      ASSAY_TRY(wait_for(queue_, end));
    }
  }
  ASSAY_TRY(hand_over(session_, queue_, Handover::kRelease, memory_, events_));
  memory_.clear();
  return session_.check("clFlush", clFlush(queue_));
}

Status Acquired::finish() {
  ASSAY_TRY(events_.wait(session_));
  done_ = true;
  return {};
}

Result<cl_event> Acquired::mark(cl_command_queue queue) {
  cl_event event = nullptr;
  ASSAY_TRY(session_.check("clEnqueueMarkerWithWaitList",
                           clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event)));
  events_.add(event);
  ASSAY_TRY(session_.check("clFlush", clFlush(queue)));
  return event;
}

Status Acquired::wait_for(cl_command_queue queue, cl_event event) {
  return session_.check("clEnqueueBarrierWithWaitList",
                        clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr));
}

}  // namespace assay::gpu_hash
