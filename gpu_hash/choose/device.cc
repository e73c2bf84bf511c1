// SPDX-License-Identifier: Apache-2.0
// Listing devices and testing them.
#include "gpu_hash/device.h"

#include <unistd.h>
#include <utility>

#include "gpu_hash/choose/choose.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/tree/known_answers.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

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

}  // namespace

DeviceListing list_devices(Drivers& drivers) {
  DeviceListing listing = drivers.list();
  listing.devices.insert(listing.devices.begin(), cpu_device());
  return listing;
}

std::vector<SelfTest> self_test_devices(Drivers& drivers) {
  std::vector<SelfTest> results;
  DeviceInfo cpu = cpu_device();
  results.push_back({cpu, test_cpu(cpu.name)});
  const std::vector<DeviceInfo> devices = drivers.list().devices;
  for (unsigned i = 0; i < devices.size(); ++i) {
    auto engine = drivers.make_engine(i, {});
    Status result =
        engine ? test_engine(devices[i].name, **engine) : Status(std::unexpected(engine.error()));
    results.push_back({devices[i], std::move(result)});
  }
  return results;
}

std::uint64_t integer_operations(HashAlgorithm hash, std::uint32_t chunk_size) {
  const bool sha256 = hash == HashAlgorithm::kSha256;
  const std::uint64_t block = sha256 ? 64 : 128;
  const std::uint64_t length = sha256 ? 8 : 16;
  constexpr std::uint64_t kRound = 10;    // of one round
  constexpr std::uint64_t kSchedule = 8;  // of one word of the message schedule
  const std::uint64_t operations =
      sha256 ? 64 * kRound + 48 * kSchedule + 16 : 2 * (80 * kRound + 64 * kSchedule + 16);
  const std::uint64_t message = 1 + std::uint64_t{chunk_size} + 1 + length;
  return (message + block - 1) / block * operations;
}

Result<BenchResult> bench_device(Drivers& drivers, const DeviceChoice& choice, HashAlgorithm hash,
                                 std::uint64_t bytes, const EngineOptions& options) {
  ASSAY_ASSIGN(const std::optional<unsigned> index, resolve_device(drivers, choice, options));
  return index ? drivers.bench(*index, hash, bytes, options) : bench_cpu(hash, bytes, options);
}

}  // namespace assay::gpu_hash
