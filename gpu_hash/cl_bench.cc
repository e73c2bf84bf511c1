// SPDX-License-Identifier: Apache-2.0
// Figures of an OpenCL device: hashing of resident and of streamed data, and the copies beside
// them.

#include <algorithm>
#include <bit>
#include <utility>

#include "gpu_hash/bench_clock.h"
#include "gpu_hash/cl_device_engine.h"
#include "gpu_hash/cl_engine.h"
#include "gpu_hash/cl_tables.h"

namespace assay::gpu_hash {
namespace {

constexpr int kRepeats = 3;
constexpr std::uint64_t kSegment = std::uint64_t{4} << 20;  // bytes

// Data that lie on the device, the tables over them, and a queue.
class Resident {
 public:
  static Result<Resident> create(const ClSession& session, std::uint64_t bytes) {
    ASSAY_ASSIGN(ClQueue queue, session.make_queue());
    SliceLayout layout(kDefaultChunkSize,
                       {bytes, static_cast<std::uint32_t>(bytes / kDefaultChunkSize), 64});
    for (std::uint64_t at = 0; at < bytes; at += kSegment) {
      if (!layout.add({0, at, kSegment})) {
        return fail(ErrorCode::kInternal, "the benchmark's data do not fit");
      }
    }
    const auto segments = static_cast<std::uint32_t>(layout.segments().size());
    const auto levels = static_cast<std::uint32_t>(std::bit_width(kSegment / kDefaultChunkSize));
    ASSAY_ASSIGN(ClTables tables, ClTables::create(session, {segments, layout.slots(), levels}));
    Resident resident(std::move(queue), std::move(tables), std::move(layout));
    ASSAY_ASSIGN(resident.data_, session.make_buffer(CL_MEM_READ_WRITE, bytes));
    return resident;
  }

  // Fills the data from staging memory, over and over: also the copy that streaming needs.
  Status fill(const ClSession& session, ClLane& lane) {
    const std::span<std::uint8_t> staging = lane.staging();
    ClEvents events;
    for (std::uint64_t at = 0; at < bytes(); at += staging.size()) {
      const std::uint64_t size = std::min<std::uint64_t>(staging.size(), bytes() - at);
      cl_event event = nullptr;
      ASSAY_TRY(session.check("clEnqueueWriteBuffer",
                              clEnqueueWriteBuffer(queue_.get(), data_.get(), CL_FALSE, at, size,
                                                   staging.data(), 0, nullptr, &event)));
      events.add(event);
    }
    return events.wait(session);
  }

  Status copy_halves(const ClSession& session) {
    ClEvents events;
    cl_event event = nullptr;
    ASSAY_TRY(session.check("clEnqueueCopyBuffer",
                            clEnqueueCopyBuffer(queue_.get(), data_.get(), data_.get(), 0,
                                                bytes() / 2, bytes() / 2, 0, nullptr, &event)));
    events.add(event);
    return events.wait(session);
  }

  Status upload(const ClSession& session) {
    ClEvents events;
    ASSAY_TRY(tables_.upload(session, queue_.get(), layout_, events));
    return events.wait(session);
  }

  Status hash(const ClSession& session, const ClKernels& kernels) {
    ClEvents events;
    ASSAY_TRY(
        tables_.compute(session, queue_.get(), kernels, data_.get(), kDefaultChunkSize, events));
    ASSAY_TRY(tables_.download(session, queue_.get(), kernels, events));
    return events.wait(session);
  }

  [[nodiscard]] std::uint64_t bytes() const { return layout_.bytes(); }

 private:
  Resident(ClQueue queue, ClTables tables, SliceLayout layout)
      : queue_(std::move(queue)), tables_(std::move(tables)), layout_(std::move(layout)) {}

  ClQueue queue_;
  ClTables tables_;
  SliceLayout layout_;
  ClBuffer data_;
};

Status measure_resident(ClEngine& engine, HashAlgorithm hash, BenchResult& result) {
  const ClSession& session = engine.session();
  ASSAY_ASSIGN(const ClKernels* const kernels, engine.kernels(hash));
  ASSAY_ASSIGN(Resident resident, Resident::create(session, result.bytes));
  ASSAY_ASSIGN(ClLane lane, ClLane::create(session, engine.slice_bytes(), 1, 1));
  std::ranges::fill(lane.staging(), std::uint8_t{0x5A});
  ASSAY_ASSIGN(result.streamed_copy,
               best_rate(result.bytes, kRepeats, [&] { return resident.fill(session, lane); }));
  ASSAY_ASSIGN(result.resident_copy, best_rate(result.bytes / 2, kRepeats,
                                               [&] { return resident.copy_halves(session); }));
  ASSAY_TRY(resident.upload(session));
  ASSAY_ASSIGN(result.resident,
               best_rate(result.bytes, kRepeats, [&] { return resident.hash(session, *kernels); }));
  return {};
}

}  // namespace

Result<BenchResult> bench_opencl(unsigned index, HashAlgorithm hash, std::uint64_t bytes,
                                 const EngineOptions& options) {
  std::vector<ClDevice> devices = find_cl_devices();
  if (index >= devices.size()) {
    return fail(ErrorCode::kDeviceNotFound, opencl_absence());
  }
  const std::uint64_t limit =
      std::min(devices[index].info.max_allocation_bytes, devices[index].info.memory_bytes / 4);
  ASSAY_ASSIGN(const std::unique_ptr<ClEngine> engine,
               ClEngine::open(std::move(devices[index]), options, KernelCache::of_user()));
  BenchResult result{engine->info()};
  const std::uint64_t unit = 2 * kSegment;
  result.bytes = std::max<std::uint64_t>(std::min(bytes, limit) / unit, 1) * unit;
  ASSAY_TRY(measure_resident(*engine, hash, result));

  const Bytes memory(result.bytes, 0x5A);
  const Region region = host_region(memory);
  const HashRequest request{TreeParameters{hash, kDefaultChunkSize}, 0, {}, {}};
  ASSAY_ASSIGN(result.streamed, best_rate(result.bytes, kRepeats, [&]() -> Status {
                 ASSAY_TRY(engine->hash({&region, 1}, request));
                 return {};
               }));
  return result;
}

}  // namespace assay::gpu_hash
