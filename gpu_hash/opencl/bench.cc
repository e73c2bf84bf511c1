// SPDX-License-Identifier: Apache-2.0
// Figures of an OpenCL device: hashing and tags of resident data, hashing of streamed data, and the
// limits beside them.

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <utility>

#include "gpu_hash/bench_clock.h"
#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/opencl/limits.h"
#include "gpu_hash/opencl/opencl.h"
#include "gpu_hash/tags.h"
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

// "16.50 T" for 16.5e12, "16.50 G" for 16.5e9.
std::string short_number(double number) {
  const bool large = number >= 1e12;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f %s", number / (large ? 1e12 : 1e9),
                      large ? "T" : "G");
  return text.data();
}

struct Bound {
  double rate;  // bytes per second
  std::string words;
};

void add_figure(BenchResult& result, const char* name, double rate,
                std::initializer_list<Bound> bounds) {
  const Bound& bound = std::min(
      bounds, [](const Bound& left, const Bound& right) { return left.rate < right.rate; });
  result.figures.push_back({name, rate, bound.rate, bound.words});
}

// One device while its figures are taken.
class Measurement {
 public:
  Measurement(ClEngine& engine, const KernelCache& cache, BenchResult& result)
      : engine_(engine),
        cache_(cache),
        result_(result),
        request_{TreeParameters{result.hash, kDefaultChunkSize}, 0, {}, {}},
        bytes_(static_cast<double>(result.bytes)),
        memory_(result.bytes) {}

  Status run() {
    SystemRandom random;
    const std::span<std::uint8_t> block =
        std::span(memory_).first(std::min<std::uint64_t>(memory_.size(), engine_.slice_bytes()));
    ASSAY_TRY(random.fill(block));
    for (std::uint64_t at = block.size(); at < memory_.size(); at += block.size()) {
      std::copy_n(block.begin(), std::min<std::uint64_t>(block.size(), memory_.size() - at),
                  memory_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSAY_TRY(resident(block));
    return streamed();
  }

 private:
  // What bounds hashing wherever the data are.
  [[nodiscard]] Bound computing() const {
    const std::uint64_t operations = integer_operations(result_.hash, kDefaultChunkSize);
    const double chunks = result_.limits.integer_operations / static_cast<double>(operations);
    return {chunks * kDefaultChunkSize, short_number(result_.limits.integer_operations) +
                                            " integer operations a second, " +
                                            std::to_string(operations) + " for each chunk"};
  }
  [[nodiscard]] Bound reading() const {
    return {result_.limits.memory_read, "reading the device's memory"};
  }

  Status resident(std::span<std::uint8_t> block) {
    ASSAY_ASSIGN(const std::shared_ptr<ClMemory> memory, engine_.allocate(result_.bytes));
    ASSAY_TRY(fill(engine_, *memory, block));
    Region region;
    region.pieces.emplace_back(DevicePiece{memory, 0, result_.bytes});
    const std::span<const Region> regions(&region, 1);
    ASSAY_ASSIGN(const double hashed, best_rate(bytes_, kRepeats, [&]() -> Status {
                   ASSAY_TRY(engine_.hash(regions, request_));
                   return {};
                 }));
    result_.variant = engine_.last_path().variant;
    // Right behind it, so that the device is as warm as it was there.
    ASSAY_ASSIGN(result_.limits.integer_operations, integer_rate(engine_.session(), cache_));
    ASSAY_ASSIGN(result_.limits.memory_read, memory_read_rate(engine_.session(), cache_, *memory));
    add_figure(result_, "resident", hashed, {computing(), reading()});
    return tags(regions);
  }

  Status tags(std::span<const Region> regions) {
    SystemRandom random;
    ASSAY_ASSIGN(const TagKey key, TagKey::draw(random));
    std::vector<std::vector<Digest>> roots;
    ASSAY_ASSIGN(const double both, best_rate(bytes_, kRepeats, [&]() -> Status {
                   ASSAY_TRY(engine_.hash_tagged(regions, request_, key, roots));
                   return {};
                 }));
    add_figure(result_, "tagged", both, {computing(), reading()});
    ASSAY_ASSIGN(const double alone, best_rate(bytes_, kRepeats, [&]() -> Status {
                   ASSAY_TRY(engine_.tags(regions, request_, key));
                   return {};
                 }));
    add_figure(result_, "tags", alone, {reading()});
    return {};
  }

  Status streamed() {
    const std::uint64_t slice = engine_.slice_bytes();
    const std::uint64_t copied = (result_.bytes + slice - 1) / slice * slice;
    const auto copy = [&]() -> Result<double> {
      return best_rate(static_cast<double>(copied), kRepeats,
                       [&] { return engine_.copy_alone(result_.bytes); });
    };
    ASSAY_ASSIGN(const double before, copy());
    const Region region = host_region(memory_);
    ASSAY_ASSIGN(const double hashed, best_rate(bytes_, kRepeats, [&]() -> Status {
                   ASSAY_TRY(engine_.hash({&region, 1}, request_));
                   return {};
                 }));
    ASSAY_ASSIGN(const double after, copy());
    result_.limits.pinned_copy = std::max(before, after);
    add_figure(result_, "streamed", hashed,
               {{result_.limits.pinned_copy, "copies from pinned memory to the device"},
                computing(),
                reading()});
    return {};
  }

  ClEngine& engine_;
  const KernelCache& cache_;
  BenchResult& result_;
  HashRequest request_;
  double bytes_;
  Bytes memory_;
};

}  // namespace

Result<BenchResult> bench_opencl(unsigned index, HashAlgorithm hash, std::uint64_t bytes,
                                 const EngineOptions& options) {
  std::vector<ClDevice> devices = find_cl_devices();
  if (index >= devices.size()) {
    return fail(ErrorCode::kDeviceNotFound, opencl_absence());
  }
  const std::uint64_t limit =
      std::min(devices[index].info.max_allocation_bytes, devices[index].info.memory_bytes / 4);
  const KernelCache cache = KernelCache::of_user();
  ASSAY_ASSIGN(const std::unique_ptr<ClEngine> engine,
               ClEngine::open(std::move(devices[index]), options, cache));
  BenchResult result{engine->info(), hash};
  result.bytes = std::max<std::uint64_t>(std::min(bytes, limit) / kUnit, 1) * kUnit;
  ASSAY_TRY(Measurement(*engine, cache, result).run());
  return result;
}

}  // namespace assay::gpu_hash
