// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/auto_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "gpu_hash/cl_engine.h"
#include "gpu_hash/cpu_engine.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kSampleSize = std::uint64_t{32} << 20;  // bytes
constexpr std::chrono::milliseconds kTimeLimit{100};            // for one engine

// Best rate over a few passes; the first one, which sets things up, does not count unless the time
// is up with it.
Result<double> measure_engine(Engine& engine) {
  const Bytes sample(kSampleSize, 0x5A);
  const Region region = host_region(sample);
  const auto start = std::chrono::steady_clock::now();
  double best = 0;
  for (int pass = 0; pass < 4; ++pass) {
    const auto begin = std::chrono::steady_clock::now();
    ASSAY_TRY(engine.hash({&region, 1}, HashRequest{}));
    const auto end = std::chrono::steady_clock::now();
    const double rate =
        static_cast<double>(kSampleSize) / std::chrono::duration<double>(end - begin).count();
    best = pass < 2 ? rate : std::max(best, rate);
    if (end - start > kTimeLimit) {
      break;
    }
  }
  return best;
}

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

AutoChoice choose_auto(const std::vector<DeviceInfo>& devices, const std::string& cpu,
                       const MeasureRate& measure, const KernelCache& cache) {
  const auto candidate = [](const DeviceInfo& device) { return device.type != "cpu"; };
  if (std::ranges::none_of(devices, candidate)) {
    return {
        std::nullopt, "cpu",
        "there is no GPU or accelerator, and an OpenCL device on a CPU is never faster than the "
        "CPU engine"};
  }
  const std::string prefix = "rate of --device auto, 1\n" + cpu + "\n";
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

AutoChoice choose_auto(const EngineOptions& options) {
  const std::vector<DeviceInfo> devices = list_opencl_devices();
  const MeasureRate measure = [&](std::optional<unsigned> index) -> Result<double> {
    if (!index) {
      return measure_engine(*make_cpu_engine(options.threads));
    }
    ASSAY_ASSIGN(const std::unique_ptr<Engine> engine, make_opencl_engine(*index, options));
    return measure_engine(*engine);
  };
  return choose_auto(devices,
                     cpu_name() + "\n" + cpu_driver() + "\n" + std::to_string(options.threads),
                     measure, KernelCache::of_user());
}

}  // namespace assay::gpu_hash
