// SPDX-License-Identifier: Apache-2.0
// What the parts of gpu_hash_device_bench share: figures and their report, data on devices.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/workers.h"
#include "schemas/core/json.h"
#include "schemas/core/random.h"

namespace assay::gpu_hash {

constexpr double kGiga = 1e9;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

[[noreturn]] inline void stop(const Error& error) {
  std::fprintf(stderr, "gpu_hash_device_bench: %s\n", to_string(error).c_str());
  std::exit(2);
}
inline void need(const Status& status) {
  if (!status) {
    stop(status.error());
  }
}
template <typename T>
T need(Result<T> result) {
  if (!result) {
    stop(result.error());
  }
  return std::move(*result);
}

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// GB/s of the best of some runs over `bytes`.
inline double rate(std::uint64_t bytes, int repeats, const std::function<void()>& work) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    best = std::max(best, static_cast<double>(bytes) / seconds_of(work) / kGiga);
  }
  return best;
}

inline std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::strtoull(line.c_str() + 6, nullptr, 10);
    }
  }
  return 0;
}

// The figures of a run, as a table while it goes on and as JSON.
class Report {
 public:
  explicit Report(std::string file) : file_(std::move(file)) {
    json_["figures"] = Json::array();
    std::printf("%-52s %9s %9s %7s  %s\n", "figure", "GB/s", "limit", "share", "limit is");
  }
  void set(const std::string& name, Json value) { json_[name] = std::move(value); }
  void add(const std::string& name, double value, double limit, const std::string& what,
           Json details = Json::object()) {
    Json row = {{"name", name}, {"gbps", value}};
    row.update(details);
    if (limit > 0) {
      row["limit_gbps"] = limit;
      row["limit"] = what;
      std::printf("%-52s %9.2f %9.2f %6.1f%%  %s\n", name.c_str(), value, limit,
                  100 * value / limit, what.c_str());
    } else {
      std::printf("%-52s %9.2f %s\n", name.c_str(), value, what.c_str());
    }
    std::fflush(stdout);
    json_["figures"].push_back(std::move(row));
    if (!file_.empty()) {  // after every figure: a run that is cut short leaves what it has
      std::ofstream(file_) << json_.dump(1) << "\n";
    }
  }

 private:
  std::string file_;
  Json json_;
};

inline HashRequest request(HashAlgorithm algorithm, std::uint32_t chunk_size) {
  return {TreeParameters{algorithm, chunk_size}, 0, {}, {}};
}

// Random data on one device.
class ResidentData {
 public:
  ResidentData(ClEngine& engine, std::uint64_t bytes) {
    const std::uint64_t most = engine.session().device().info.max_allocation_bytes / kGib * kGib;
    const ClQueue queue = need(engine.session().make_queue());
    Bytes block(std::min<std::uint64_t>(bytes, 256U << 20));
    SystemRandom random;
    need(random.fill(block));
    for (std::uint64_t at = 0; at < bytes;) {
      const std::uint64_t size = std::min(bytes - at, most == 0 ? bytes : most);
      const auto memory = need(engine.allocate(size));
      need(engine.write(*memory, 0,
                        ByteView(block).first(std::min<std::uint64_t>(block.size(), size))));
      for (std::uint64_t done = block.size(); done < size; done *= 2) {
        need(engine.session().check(
            "clEnqueueCopyBuffer",
            clEnqueueCopyBuffer(queue.get(), memory->get(), memory->get(), 0, done,
                                std::min(done, size - done), 0, nullptr, nullptr)));
      }
      clFinish(queue.get());
      memory_.push_back(memory);
      at += size;
    }
  }

  [[nodiscard]] const ClMemory& first() const { return *memory_.front(); }
  // The first `bytes` as one object.
  [[nodiscard]] Region all(std::uint64_t bytes) const {
    Region region;
    for (const auto& memory : memory_) {
      const std::uint64_t take = std::min(bytes, memory->size());
      if (take > 0) {
        region.pieces.emplace_back(DevicePiece{memory, 0, take});
      }
      bytes -= take;
    }
    return region;
  }

  // Objects of one size, side by side in the first buffer.
  [[nodiscard]] std::vector<Region> objects(std::uint64_t count, std::uint64_t size) const {
    std::vector<Region> regions(count);
    const std::uint64_t stride = (size + 511) / 512 * 512;  // as allocators place tensors
    for (std::uint64_t i = 0; i < count; ++i) {
      regions[i].pieces.emplace_back(DevicePiece{memory_.front(), i * stride, size});
    }
    return regions;
  }

 private:
  std::vector<std::shared_ptr<ClMemory>> memory_;
};

inline Bytes random_memory(std::uint64_t bytes) {
  Bytes memory(bytes);
  SystemRandom random;
  const std::size_t unit = std::min<std::size_t>(bytes, 256U << 20);
  need(random.fill(std::span(memory).first(unit)));
  std::atomic<std::size_t> next = unit;
  run_on_threads(usable_cores(), [&] {
    for (std::size_t at = next.fetch_add(unit); at < bytes; at = next.fetch_add(unit)) {
      std::memcpy(memory.data() + at, memory.data(), std::min(unit, bytes - at));
    }
  });
  return memory;
}

}  // namespace assay::gpu_hash
