// SPDX-License-Identifier: Apache-2.0
// Measures engines, and keeps the rates.
#include "gpu_hash/auto_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "gpu_hash/choose/choose.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/drivers.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kSampleSize = std::uint64_t{4} << 20;  // bytes
constexpr std::size_t kMostSamples = 64;                       // in one pass
constexpr int kMostPasses = 8;
constexpr double kTimeLimit = 0.1;  // seconds, for all passes together

// Rates in the cache are text; whatever is not a rate is measured anew.
std::optional<double> load_rate(const KernelCache& cache, const std::string& key) {
  const std::optional<Bytes> stored = cache.load(key);
  if (!stored) {
    return std::nullopt;
  }
  const std::string text(as_text(*stored));
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(rate) && rate > 0 ? std::optional(rate) : std::nullopt;
}

// Of `index`, measured only when the cache does not know it.
Result<double> rate_of(std::optional<unsigned> index, const std::string& key,
                       const MeasureRate& measure, const KernelCache& cache) {
  if (const auto known = load_rate(cache, key)) {
    return *known;
  }
  ASSAY_ASSIGN(const double rate, measure(index));
  cache.store(key, as_bytes(std::to_string(rate)));
  return rate;
}

std::string gigabytes(double rate) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f GB/s", rate / 1e9);
  return text.data();
}

}  // namespace

Result<double> measure_rate(Engine& engine, const SteadyNow& now) {
  const Bytes sample(kSampleSize, 0x5A);
  // The same bytes many times: as much work as different ones, without their memory.
  const std::vector<Region> regions(kMostSamples, host_region(sample));
  const auto pass = [&](std::size_t samples) {
    return engine.hash(std::span(regions).first(samples), HashRequest{});
  };
  ASSAY_TRY(pass(1));  // sets things up, which is not what is measured
  const auto start = now();
  std::size_t samples = 1;
  double best = 0;
  for (int number = 0; number < kMostPasses; ++number) {
    const auto begin = now();
    ASSAY_TRY(pass(samples));
    const auto end = now();
    const double seconds = std::max(std::chrono::duration<double>(end - begin).count(), 1e-9);
    best = std::max(best, static_cast<double>(samples * kSampleSize) / seconds);
    // A longer pass is nearer to what a model takes, when there is time for one.
    const std::size_t next = std::min(4 * samples, kMostSamples);
    const double needed = static_cast<double>(next) / static_cast<double>(samples) * seconds;
    if (std::chrono::duration<double>(end - start).count() + needed > kTimeLimit) {
      break;
    }
    samples = next;
  }
  return best;
}

AutoChoice choose_auto(const std::vector<DeviceInfo>& devices, const std::string& cpu,
                       const MeasureRate& measure, const KernelCache& cache) {
  const auto candidate = [](const DeviceInfo& device) { return device.type != "cpu"; };
  if (std::ranges::none_of(devices, candidate)) {
    return {
        std::nullopt, "cpu",
        "there is no GPU or accelerator, and an OpenCL device on a CPU is never faster than the "
        "CPU engine"};
  }
  const std::string prefix = "rate of --device auto, 2\n" + cpu + "\n";
  const Result<double> cpu_rate = rate_of(std::nullopt, prefix, measure, cache);
  double best = cpu_rate ? *cpu_rate : 0;
  AutoChoice choice{std::nullopt, "cpu", {}};
  std::string rates = "cpu " + (cpu_rate ? gigabytes(best) : to_string(cpu_rate.error()));
  for (unsigned i = 0; i < devices.size(); ++i) {
    if (!candidate(devices[i])) {
      continue;
    }
    const std::string key =
        prefix + devices[i].name + "\n" + devices[i].platform + "\n" + devices[i].driver;
    const Result<double> rate = rate_of(i, key, measure, cache);
    rates += ", " + devices[i].id + " " + (rate ? gigabytes(*rate) : to_string(rate.error()));
    if (rate && *rate > best) {
      best = *rate;
      choice.index = i;
      choice.id = devices[i].id;
    }
  }
  choice.reason = "from host memory to the root: " + rates;
  return choice;
}

AutoChoice choose_auto(Drivers& drivers, const EngineOptions& options) {
  const std::vector<DeviceInfo> devices = drivers.list().devices;
  const MeasureRate measure = [&](std::optional<unsigned> index) -> Result<double> {
    if (!index) {
      return measure_rate(*make_cpu_engine(options.threads));
    }
    ASSAY_ASSIGN(const std::unique_ptr<Engine> engine, drivers.make_engine(*index, options));
    return measure_rate(*engine);
  };
  return choose_auto(devices,
                     cpu_name() + "\n" + cpu_driver() + "\n" + std::to_string(options.threads),
                     measure, KernelCache::of_user());
}

}  // namespace assay::gpu_hash
