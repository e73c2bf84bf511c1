// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_lane.h"

#include <utility>

namespace assay::gpu_hash {

Result<ClLane> ClLane::create(const ClSession& session, std::uint64_t bytes, std::uint32_t slots,
                              std::uint32_t levels) {
  ASSAY_ASSIGN(ClQueue queue, session.make_queue());
  // Every segment has a chunk, so there are no more segments than slots.
  ASSAY_ASSIGN(ClTables tables, ClTables::create(session, {slots, slots, levels}));
  ClLane lane(std::move(queue), std::move(tables));
  ASSAY_ASSIGN(lane.data_, session.make_buffer(CL_MEM_READ_ONLY, bytes));
  ASSAY_ASSIGN(lane.pinned_, session.make_buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes));
  cl_int error = CL_SUCCESS;
  void* memory =
      clEnqueueMapBuffer(lane.queue_.get(), lane.pinned_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                         0, bytes, 0, nullptr, nullptr, &error);
  ASSAY_TRY(session.check("clEnqueueMapBuffer", error));
  lane.staging_ = {static_cast<std::uint8_t*>(memory), bytes};
  return lane;
}

ClLane::~ClLane() {
  if (queue_ == nullptr) {
    return;  // moved from
  }
  drain();
  if (!staging_.empty()) {
    clEnqueueUnmapMemObject(queue_.get(), pinned_.get(), staging_.data(), 0, nullptr, nullptr);
    clFinish(queue_.get());
  }
}

Status ClLane::submit(const ClSession& session, const ClKernels& kernels, const SliceLayout& layout,
                      std::uint32_t chunk_size) {
  busy_ = true;  // from here on the device may use this lane's memory
  cl_command_queue queue = queue_.get();
  cl_event event = nullptr;
  ASSAY_TRY(session.check("clEnqueueWriteBuffer",
                          clEnqueueWriteBuffer(queue, data_.get(), CL_FALSE, 0, layout.bytes(),
                                               staging_.data(), 0, nullptr, &event)));
  events_.add(event);
  ASSAY_TRY(tables_.upload(session, queue, layout, events_));
  ASSAY_TRY(tables_.compute(session, queue, kernels, data_.get(), chunk_size, events_));
  ASSAY_TRY(tables_.download(session, queue, kernels, events_));
  return session.check("clFlush", clFlush(queue));
}

Result<std::vector<Digest>> ClLane::wait(const ClSession& session, HashAlgorithm algorithm) {
  ASSAY_TRY(events_.wait(session));
  busy_ = false;
  return tables_.roots(algorithm);
}

void ClLane::drain() {
  if (busy_) {
    clFinish(queue_.get());
    events_.clear();
    busy_ = false;
  }
}

}  // namespace assay::gpu_hash
