// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unistd.h>
#include <utility>

#include "gpu_hash/bench_clock.h"
#include "gpu_hash/choose.h"
#include "gpu_hash/cl_engine.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/self_test.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

constexpr int kRepeats = 3;
constexpr std::uint64_t kCopyBlock = std::uint64_t{1} << 20;  // bytes

DeviceInfo cpu_device() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t memory =
      pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                            : 0;
  return {"cpu", cpu_name(), "CPU engine", cpu_driver(), "cpu", memory, 0, usable_cores()};
}

Status test_engine(const std::string& device, Engine& engine) {
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    ASSAY_TRY(self_test(device, algorithm,
                        [&](std::span<const Region> regions, const HashRequest& request) {
                          return engine.hash(regions, request);
                        }));
  }
  return {};
}

// Every way to compute that this processor has, not only the one in use.
Status test_cpu(const std::string& device) {
  for (const LeafVariant variant : leaf_variants()) {
    const std::unique_ptr<Engine> engine = make_cpu_engine(0, variant);
    ASSAY_TRY(test_engine(device + ", " + engine->info().driver, *engine));
  }
  return {};
}

// Copies the first half of `memory` onto the second with all threads.
Status copy_halves(std::span<std::uint8_t> memory, unsigned threads) {
  const std::size_t half = memory.size() / 2;
  std::atomic<std::size_t> next = 0;
  run_on_threads(threads, [&] {
    for (std::size_t at = next.fetch_add(kCopyBlock); at < half; at = next.fetch_add(kCopyBlock)) {
      std::memcpy(memory.data() + half + at, memory.data() + at,
                  std::min<std::size_t>(kCopyBlock, half - at));
    }
  });
  return {};
}

Result<BenchResult> bench_cpu(HashAlgorithm hash, std::uint64_t bytes,
                              const EngineOptions& options) {
  const std::unique_ptr<Engine> engine = make_cpu_engine(options.threads);
  const unsigned threads = options.threads == 0 ? usable_cores() : options.threads;
  Bytes memory(std::max<std::uint64_t>(bytes / (2 * kCopyBlock), 1) * 2 * kCopyBlock, 0x5A);
  BenchResult result{engine->info(), memory.size()};
  const Region region = host_region(memory);
  const HashRequest request{TreeParameters{hash, kDefaultChunkSize}, 0, {}, {}};
  ASSAY_ASSIGN(result.resident, best_rate(memory.size(), kRepeats, [&]() -> Status {
                 ASSAY_TRY(engine->hash({&region, 1}, request));
                 return {};
               }));
  ASSAY_ASSIGN(result.resident_copy, best_rate(memory.size() / 2, kRepeats,
                                               [&] { return copy_halves(memory, threads); }));
  // Host memory is where the CPU engine computes.
  result.streamed = result.resident;
  result.streamed_copy = result.resident_copy;
  return result;
}

}  // namespace

Result<std::vector<DeviceInfo>> list_devices() {
  std::vector<DeviceInfo> devices = {cpu_device()};
  for (DeviceInfo& device : list_opencl_devices()) {
    devices.push_back(std::move(device));
  }
  return devices;
}

Result<std::vector<SelfTest>> self_test_devices() {
  std::vector<SelfTest> results;
  DeviceInfo cpu = cpu_device();
  results.push_back({cpu, test_cpu(cpu.name)});
  const std::vector<DeviceInfo> devices = list_opencl_devices();
  for (unsigned i = 0; i < devices.size(); ++i) {
    auto engine = make_opencl_engine(i, {});
    Status result =
        engine ? test_engine(devices[i].name, **engine) : Status(std::unexpected(engine.error()));
    results.push_back({devices[i], std::move(result)});
  }
  return results;
}

Result<BenchResult> bench_device(const DeviceChoice& choice, HashAlgorithm hash,
                                 std::uint64_t bytes, const EngineOptions& options) {
  ASSAY_ASSIGN(const std::optional<unsigned> index, resolve_device(choice, options));
  return index ? bench_opencl(*index, hash, bytes, options) : bench_cpu(hash, bytes, options);
}

}  // namespace assay::gpu_hash
