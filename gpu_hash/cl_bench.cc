// SPDX-License-Identifier: Apache-2.0
// Figures of an OpenCL device: hashing of resident and of streamed data, and the copies beside
// them.

#include <algorithm>
#include <utility>

#include "gpu_hash/bench_clock.h"
#include "gpu_hash/cl_device_engine.h"
#include "gpu_hash/cl_engine.h"
#include "schemas/core/random.h"

namespace assay::gpu_hash {
namespace {

constexpr int kRepeats = 3;
constexpr std::uint64_t kUnit = std::uint64_t{8} << 20;  // bytes

// Random bytes, one slice of them over and over, in `memory`.
Status fill(ClEngine& engine, const ClMemory& memory, std::span<std::uint8_t> block) {
  for (std::uint64_t at = 0; at < memory.size(); at += block.size()) {
    const std::uint64_t size = std::min<std::uint64_t>(block.size(), memory.size() - at);
    ASSAY_TRY(engine.write(memory, at, block.first(size)));
  }
  return {};
}

// The copies of streaming alone: pinned memory to the device, lane after lane.
Status copy_lanes(ClEngine& engine, std::uint64_t bytes) {
  ASSAY_ASSIGN(std::vector<ClLane>* const lanes, engine.lanes());
  std::size_t lane = 0;
  for (std::uint64_t at = 0; at < bytes; at += engine.slice_bytes()) {
    (*lanes)[lane].drain();
    ASSAY_TRY((*lanes)[lane].copy(engine.session()));
    lane = (lane + 1) % lanes->size();
  }
  for (ClLane& one : *lanes) {
    one.drain();
  }
  return {};
}

Status copy_halves(const ClSession& session, const ClMemory& memory) {
  ASSAY_ASSIGN(const ClQueue queue, session.make_queue());
  ClEvents events;
  cl_event event = nullptr;
  const std::uint64_t half = memory.size() / 2;
  ASSAY_TRY(session.check("clEnqueueCopyBuffer",
                          clEnqueueCopyBuffer(queue.get(), memory.get(), memory.get(), 0, half,
                                              half, 0, nullptr, &event)));
  events.add(event);
  return events.wait(session);
}

Status measure(ClEngine& engine, HashAlgorithm hash, BenchResult& result) {
  const HashRequest request{TreeParameters{hash, kDefaultChunkSize}, 0, {}, {}};
  Bytes memory(result.bytes);
  SystemRandom random;
  const std::span<std::uint8_t> block =
      std::span(memory).first(std::min<std::uint64_t>(memory.size(), engine.slice_bytes()));
  ASSAY_TRY(random.fill(block));
  for (std::uint64_t at = block.size(); at < memory.size(); at += block.size()) {
    std::copy_n(block.begin(), std::min<std::uint64_t>(block.size(), memory.size() - at),
                memory.begin() + static_cast<std::ptrdiff_t>(at));
  }
  {
    ASSAY_ASSIGN(const std::shared_ptr<ClMemory> resident, engine.allocate(result.bytes));
    ASSAY_TRY(fill(engine, *resident, block));
    ASSAY_ASSIGN(result.resident_copy, best_rate(result.bytes / 2, kRepeats, [&] {
                   return copy_halves(engine.session(), *resident);
                 }));
    Region region;
    region.pieces.emplace_back(DevicePiece{resident, 0, result.bytes});
    ASSAY_ASSIGN(result.resident, best_rate(result.bytes, kRepeats + 1, [&]() -> Status {
                   ASSAY_TRY(engine.hash({&region, 1}, request));
                   return {};
                 }));
  }
  ASSAY_ASSIGN(result.streamed_copy,
               best_rate((result.bytes + engine.slice_bytes() - 1) / engine.slice_bytes() *
                             engine.slice_bytes(),
                         kRepeats, [&] { return copy_lanes(engine, result.bytes); }));
  const Region region = host_region(memory);
  ASSAY_ASSIGN(result.streamed, best_rate(result.bytes, kRepeats, [&]() -> Status {
                 ASSAY_TRY(engine.hash({&region, 1}, request));
                 return {};
               }));
  result.variant = engine.last_path().variant;
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
  result.bytes = std::max<std::uint64_t>(std::min(bytes, limit) / kUnit, 1) * kUnit;
  ASSAY_TRY(measure(*engine, hash, result));
  return result;
}

}  // namespace assay::gpu_hash
