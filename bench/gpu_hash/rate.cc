// SPDX-License-Identifier: Apache-2.0
// Hash rates of every engine on this machine, with the limits beside them, measured in one run.
//
// Usage: gpu_hash_rate_bench [MEBIBYTES]     data per figure, default 256
//
// Prints a table, then the same figures as one line of JSON. Rates are in GB/s (10^9 bytes) and the
// best of three runs. "limit" is what a figure is held against; the last column says what it is.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/device.h"
#include "gpu_hash/region.h"
#include "gpu_hash/source_file.h"
#include "gpu_hash/workers.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

constexpr double kGiga = 1e9;

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "gpu_hash_rate_bench: %s\n", to_string(error).c_str());
  std::exit(2);
}

template <typename T>
T need(Result<T> result) {
  if (!result) {
    stop(result.error());
  }
  return std::move(*result);
}

// GB/s of the best of three runs over `bytes`.
double rate(std::uint64_t bytes, const std::function<void()>& work) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(bytes) / elapsed.count() / kGiga);
  }
  return best;
}

class Report {
 public:
  explicit Report(std::uint64_t bytes) {
    json_ = {{"bytes", bytes}, {"cpu", cpu_name()}, {"cores", usable_cores()}};
    json_["figures"] = Json::array();
    std::printf("%-44s %9s %9s %7s  %s\n", "figure", "GB/s", "limit", "share", "limit is");
  }
  void add(const std::string& name, double value, double limit = 0, const char* what = "") {
    Json row = {{"name", name}, {"gbps", value}};
    if (limit > 0) {
      row["limit_gbps"] = limit;
      row["limit"] = what;
      std::printf("%-44s %9.3f %9.3f %6.1f%%  %s\n", name.c_str(), value, limit,
                  100 * value / limit, what);
    } else {
      std::printf("%-44s %9.3f\n", name.c_str(), value);
    }
    json_["figures"].push_back(std::move(row));
  }
  ~Report() { std::printf("%s\n", json_.dump().c_str()); }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

 private:
  Json json_;
};

double hash_rate(Engine& engine, HashAlgorithm algorithm, const Region& region,
                 std::uint64_t bytes) {
  const HashRequest request{TreeParameters{algorithm, kDefaultChunkSize}, 0, {}, {}};
  return rate(bytes, [&] { (void)need(engine.hash({&region, 1}, request)); });
}

void cpu_figures(Report& report, HashAlgorithm algorithm, const Bytes& memory, double copy) {
  const std::string hash(name(algorithm));
  const double stream = rate(memory.size(), [&] { (void)sha(algorithm, memory); });
  report.add("OpenSSL " + hash + ", one stream, one core", stream, copy, "memory copy, one core");
  const Region region = host_region(memory);
  const auto one = make_cpu_engine(1);
  const double single = hash_rate(*one, algorithm, region, memory.size());
  report.add("CPU engine " + hash + ", one core", single, stream, "OpenSSL, one stream");
  const auto all = make_cpu_engine();
  report.add("CPU engine " + hash + ", all cores",
             hash_rate(*all, algorithm, region, memory.size()), stream * usable_cores(),
             "OpenSSL, one stream, times cores");
}

// A file in the page cache: what reading costs on top of hashing.
void file_figures(Report& report, const Bytes& memory) {
  const fs::path path = fs::temp_directory_path() / ("assay-rate-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << as_text(memory);
  const auto source = need(SourceFile::find(path));
  const auto file = need(source->open());
  Bytes block(1U << 20);
  const double read = rate(memory.size(), [&] {
    for (std::uint64_t at = 0; at + block.size() <= memory.size(); at += block.size()) {
      if (const Status status = file->read(at, block); !status) {
        stop(status.error());
      }
    }
  });
  const auto engine = make_cpu_engine();
  const Region region = file_region(source);
  report.add("CPU engine sha256, cached file, all cores",
             hash_rate(*engine, HashAlgorithm::kSha256, region, memory.size()), read,
             "reading the file, one core");
  fs::remove(path);
}

void device_figures(Report& report, HashAlgorithm algorithm, std::uint64_t bytes) {
  for (const DeviceInfo& device : list_devices(drivers_in_this_process()).devices) {
    if (device.id == "cpu") {
      continue;
    }
    const auto result = need(
        bench_device(drivers_in_this_process(), need(parse_device(device.id)), algorithm, bytes));
    const std::string label =
        device.id + " " + device.name.substr(0, 16) + " " + std::string(name(algorithm));
    for (const BenchFigure& figure : result.figures) {
      report.add(label + ", " + figure.name, figure.rate / kGiga, figure.limit / kGiga,
                 figure.limit_is.c_str());
    }
  }
}

int run(std::uint64_t mebibytes) {
  const std::uint64_t bytes = mebibytes << 20;
  Bytes memory(bytes);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<std::uint8_t>(i % 251);
  }
  Report report(bytes);
  double copy = 0;
  {
    Bytes target(bytes);
    copy = rate(bytes, [&] { std::memcpy(target.data(), memory.data(), bytes); });
    report.add("memory copy, one core", copy);
  }
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    cpu_figures(report, algorithm, memory, copy);
  }
  file_figures(report, memory);
  memory = {};
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    device_figures(report, algorithm, bytes);
  }
  return 0;
}

}  // namespace
}  // namespace assay::gpu_hash

int main(int argc, char** argv) {
  const long mebibytes = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 256;
  if (mebibytes < 1 || mebibytes > 65536) {
    std::fprintf(stderr, "usage: gpu_hash_rate_bench [MEBIBYTES, 1 to 65536]\n");
    return 2;
  }
  return assay::gpu_hash::run(static_cast<std::uint64_t>(mebibytes));
}
