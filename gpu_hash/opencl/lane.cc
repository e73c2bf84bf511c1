// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/lane.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kTableAlignment = 64;  // bytes

std::uint64_t align(std::uint64_t size) {
  return (size + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
}

// Devices are little-endian, and so is every host this is built for.
static_assert(std::endian::native == std::endian::little);

}  // namespace

Result<ClLane> ClLane::create(const ClSession& session, std::uint64_t bytes, std::uint32_t slots,
                              std::uint32_t levels) {
  ASSAY_ASSIGN(ClQueue queue, session.make_queue());
  ClLane lane(std::move(queue));
  lane.data_bytes_ = bytes;
  // Every row of the tables and every segment has a chunk, so there are no more of them than slots.
  // A row has its place and size, a buffer, a slot and an item; a segment its first slot, and its
  // first block in each launch.
  constexpr std::uint64_t kWordsPerSegment = 8;
  lane.tables_bytes_ =
      align((std::uint64_t{slots} + 2) * (kWordsPerSegment + levels + 1) * sizeof(std::uint32_t));
  const std::uint64_t roots = std::uint64_t{slots} * Digest::kMaxSize;
  ASSAY_ASSIGN(lane.data_,
               session.make_buffer(CL_MEM_READ_ONLY, align(bytes) + lane.tables_bytes_));
  ASSAY_ASSIGN(lane.digests_, session.make_buffer(CL_MEM_READ_WRITE, roots));
  ASSAY_ASSIGN(lane.roots_, session.make_buffer(CL_MEM_READ_WRITE, roots));
  const std::uint64_t host = lane.tables_bytes_ + roots;
  ASSAY_ASSIGN(lane.pinned_, PinnedMemory::create(session, host));
  return lane;
}

ClLane::~ClLane() {
  if (queue_ != nullptr) {  // not moved from
    drain();
  }
}

Status ClLane::receive(const ClSession& session, ClStaging& staging, std::size_t block,
                       std::uint64_t size, std::uint64_t offset) {
  busy_ = true;  // from here on the device may use this lane's memory
  ASSAY_ASSIGN(ClEvent event,
               staging.send(session, queue_.get(), block, size, data_.get(), offset));
  events_.add(event.release());
  return {};
}

Status ClLane::submit(const ClSession& session, ClKernels& kernels, const SliceLayout& layout,
                      std::uint32_t chunk_size) {
  busy_ = true;
  tables_.clear();
  std::vector<Run> runs;
  runs.reserve(layout.segments().size());
  bool aligned = true;
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    runs.push_back({layout.extents()[2 * i], layout.extents()[2 * i + 1], 0});
    aligned = aligned && runs.back().offset % 16 == 0;
  }
  const RunTables run_tables = tables_.add_runs(runs, chunk_size);
  const SegmentTables segments = tables_.add_segments(layout.first_slot());
  const std::uint64_t tables_begin = align(layout.bytes());
  if (tables_.bytes() > tables_bytes_) {
    return fail(ErrorCode::kInternal, "a launch is larger than its device memory");
  }
  std::memcpy(memory().data(), tables_.words().data(), tables_.bytes());
  segments_ = segments.segments;

  cl_command_queue queue = queue_.get();
  cl_event event = nullptr;
  ASSAY_TRY(
      session.check("clEnqueueWriteBuffer",
                    clEnqueueWriteBuffer(queue, data_.get(), CL_FALSE, tables_begin,
                                         tables_.bytes(), memory().data(), 0, nullptr, &event)));
  events_.add(event);
  const auto base = static_cast<std::uint32_t>(tables_begin / sizeof(std::uint32_t));
  const cl_mem data = data_.get();
  LeafLaunch leaves;
  leaves.buffers = {&data, 1};
  leaves.tables = data;
  leaves.tables_begin = base;
  leaves.runs = run_tables;
  leaves.chunk_size = chunk_size;
  leaves.aligned = aligned;
  leaves.digests = digests_.get();
  ASSAY_TRY(kernels.leaves(session, queue, leaves, events_));
  const NodeLaunch nodes{digests_.get(), data, base};
  for (const LevelTable& level : segments.levels) {
    ASSAY_TRY(kernels.nodes(session, queue, nodes, segments, level, events_));
  }
  ASSAY_TRY(kernels.gather_roots(session, queue, nodes, segments, roots_.get(), 0, events_));
  ASSAY_TRY(session.check(
      "clEnqueueReadBuffer",
      clEnqueueReadBuffer(queue, roots_.get(), CL_FALSE, 0, segments_ * kernels.digest_bytes(),
                          memory().data() + tables_bytes_, 0, nullptr, &event)));
  events_.add(event);
  return session.check("clFlush", clFlush(queue));
}

Result<std::vector<Digest>> ClLane::wait(const ClSession& session, HashAlgorithm algorithm) {
  ASSAY_TRY(events_.wait(session));
  busy_ = false;
  std::vector<Digest> result;
  result.reserve(segments_);
  const std::size_t width = digest_size(algorithm);
  const std::uint8_t* roots = memory().data() + tables_bytes_;
  for (std::size_t i = 0; i < segments_; ++i) {
    result.push_back(Digest::wrap(algorithm, roots + i * width));
  }
  return result;
}

void ClLane::drain() {
  if (busy_) {
    clFinish(queue_.get());
    events_.clear();
    busy_ = false;
  }
}

}  // namespace assay::gpu_hash
