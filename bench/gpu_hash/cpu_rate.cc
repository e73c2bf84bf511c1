// SPDX-License-Identifier: Apache-2.0
// The CPU engine against OpenSSL, in one run on one machine.
//
// Usage: cpu_hash_rate_bench [MEBIBYTES [REPEATS]]     data per figure, default 64, and 7 repeats
//
// Every figure is the median of repeats that take turns, so that what else the machine does falls
// on all of them alike. Prints a table, then one line of JSON. Wall clock: GB/s (10^9 bytes) with
// minimum and maximum. Processor time: GB for each second that a core worked, which other programs
// on the machine disturb less, and its ratio to one OpenSSL stream. The last line is the time that
// choosing a variant takes at the start of a process.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/region.h"
#include "gpu_hash/source_file.h"
#include "gpu_hash/workers.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

struct Figure {
  std::string name;
  unsigned cores;
  std::function<void()> work;
  std::vector<double> rates{};   // GB/s
  std::vector<double> worked{};  // GB for each second of processor time

  [[nodiscard]] double median() const { return rates[rates.size() / 2]; }
  [[nodiscard]] double per_core() const { return worked[worked.size() / 2]; }
};

// Seconds of processor time of all threads of this process.
double processor_seconds() {
  timespec time{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "cpu_hash_rate_bench: %s\n", to_string(result.error()).c_str());
    std::exit(2);
  }
  return std::move(*result);
}

void measure(std::vector<Figure>& figures, std::uint64_t bytes, int repeats) {
  for (int i = 0; i < repeats; ++i) {
    for (Figure& figure : figures) {
      const auto start = std::chrono::steady_clock::now();
      const double worked = processor_seconds();
      figure.work();
      const double gigabytes = static_cast<double>(bytes) / 1e9;
      figure.worked.push_back(gigabytes / (processor_seconds() - worked));
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      figure.rates.push_back(gigabytes / elapsed.count());
    }
  }
  for (Figure& figure : figures) {
    std::ranges::sort(figure.rates);
    std::ranges::sort(figure.worked);
  }
}

// Leaves and nodes of the same tree, one EVP computation at a time, on `threads` threads: what a
// careful program without a multi-buffer library does.
void openssl_tree(HashAlgorithm algorithm, const Bytes& memory, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  run_on_threads(threads, [&] {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    const std::uint8_t prefix = 0;
    for (std::size_t at = next.fetch_add(kBlock); at < memory.size(); at = next.fetch_add(kBlock)) {
      const std::size_t end = std::min(at + kBlock, memory.size());
      for (std::size_t chunk = at; chunk < end; chunk += kDefaultChunkSize) {
        (void)sha(algorithm,
                  {ByteView(&prefix, 1), ByteView(memory).subspan(chunk, kDefaultChunkSize)});
      }
    }
  });
}

// Files each hashed as one stream, as many at a time as there are cores.
void openssl_streams(HashAlgorithm algorithm, const Bytes& memory, unsigned threads) {
  const std::size_t share = memory.size() / threads;
  std::atomic<std::size_t> next = 0;
  run_on_threads(threads, [&] {
    for (std::size_t i = next++; i < threads; i = next++) {
      (void)sha(algorithm, ByteView(memory).subspan(i * share, share));
    }
  });
}

std::function<void()> engine_run(const std::shared_ptr<Engine>& engine, HashAlgorithm algorithm,
                                 Region region) {
  return [engine, algorithm, region = std::move(region)] {
    const HashRequest request{TreeParameters{algorithm, kDefaultChunkSize}, 0, {}, {}};
    (void)need(engine->hash({&region, 1}, request));
  };
}

// Chunks that lie in memory with their prefixes already: what the library can do, and the limit of
// the engine's figures.
std::function<void()> hasher_run(LeafVariant variant, HashAlgorithm algorithm, Bytes& memory) {
  const std::shared_ptr<LeafHasher> hasher = make_leaf_hasher(variant, algorithm);
  const auto digests = std::make_shared<Bytes>(hasher->lanes() * digest_size(algorithm));
  return [hasher, digests, algorithm, &memory] {
    std::vector<Message> messages;
    // The first chunk has no byte in front of it.
    for (std::size_t at = kDefaultChunkSize; at < memory.size(); at += kDefaultChunkSize) {
      messages.push_back({memory[at - 1], &memory[at], kDefaultChunkSize,
                          digests->data() + messages.size() * digest_size(algorithm)});
      if (messages.size() == hasher->lanes()) {
        (void)hasher->hash(messages);
        messages.clear();
      }
    }
  };
}

std::vector<Figure> figures_of(HashAlgorithm algorithm, Bytes& memory,
                               const std::shared_ptr<const SourceFile>& file) {
  const unsigned cores = usable_cores();
  std::vector<Figure> figures;
  figures.push_back({"OpenSSL, one stream", 1, [&, algorithm] { (void)sha(algorithm, memory); }});
  figures.push_back({"OpenSSL, a stream on each core", cores,
                     [&, algorithm, cores] { openssl_streams(algorithm, memory, cores); }});
  figures.push_back({"OpenSSL, the leaves alone, all cores", cores,
                     [&, algorithm, cores] { openssl_tree(algorithm, memory, cores); }});
  for (const LeafVariant variant : leaf_variants()) {
    figures.push_back({"leaves in place, one core, " + std::string(name(variant)), 1,
                       hasher_run(variant, algorithm, memory)});
    const std::shared_ptr<Engine> engine = make_cpu_engine(1, variant);
    figures.push_back({"engine, memory, one core, " + std::string(name(variant)), 1,
                       engine_run(engine, algorithm, host_region(memory))});
    figures.push_back({"engine, file, one core, " + std::string(name(variant)), 1,
                       engine_run(engine, algorithm, file_region(file))});
  }
  const std::shared_ptr<Engine> one = make_cpu_engine(1);
  const std::shared_ptr<Engine> all = make_cpu_engine();
  figures.push_back(
      {"engine, memory, one core, as chosen", 1, engine_run(one, algorithm, host_region(memory))});
  figures.push_back({"engine, memory, all cores, as chosen", cores,
                     engine_run(all, algorithm, host_region(memory))});
  figures.push_back(
      {"engine, file, one core, as chosen", 1, engine_run(one, algorithm, file_region(file))});
  figures.push_back(
      {"engine, file, all cores, as chosen", cores, engine_run(all, algorithm, file_region(file))});
  return figures;
}

Json report(const std::vector<Figure>& figures) {
  Json list = Json::array();
  const double stream = figures.front().per_core();
  for (const Figure& figure : figures) {
    const double ratio = figure.per_core() / stream;
    std::printf("%-52s %8.3f %8.3f %8.3f %10.3f %7.2f\n", figure.name.c_str(), figure.median(),
                figure.rates.front(), figure.rates.back(), figure.per_core(), ratio);
    list.push_back({{"name", figure.name},
                    {"cores", figure.cores},
                    {"gbps", figure.median()},
                    {"gbps_min", figure.rates.front()},
                    {"gbps_max", figure.rates.back()},
                    {"gb_per_core_second", figure.per_core()},
                    {"ratio_to_openssl_stream", ratio}});
  }
  return list;
}

int run(std::uint64_t mebibytes, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  const std::string driver = make_cpu_engine()->info().driver;
  const std::chrono::duration<double> choosing = std::chrono::steady_clock::now() - start;

  Bytes memory(mebibytes << 20);
  std::uint64_t word = 1;
  for (std::uint8_t& byte : memory) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::uint8_t>(word >> 56);
  }
  const fs::path path = fs::temp_directory_path() / ("assay-rate-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << as_text(memory);
  const auto file = need(SourceFile::find(path));

  Json json = {{"cpu", cpu_name()},
               {"cores", usable_cores()},
               {"driver", driver},
               {"bytes", memory.size()},
               {"repeats", repeats}};
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    std::vector<Figure> figures = figures_of(algorithm, memory, file);
    measure(figures, memory.size(), repeats);
    std::printf("%-52s %8s %8s %8s %10s %7s\n", std::string(name(algorithm)).c_str(), "GB/s", "min",
                "max", "GB/core-s", "ratio");
    json[std::string(name(algorithm))] = report(figures);
  }
  fs::remove(path);
  json["seconds_to_choose"] = choosing.count();
  std::printf("%s; chosen in %.1f ms\n%s\n", driver.c_str(), 1e3 * choosing.count(),
              json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace assay::gpu_hash

int main(int argc, char** argv) {
  const long mebibytes = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 64;
  const long repeats = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 7;
  if (mebibytes < 1 || mebibytes > 65536 || repeats < 1 || repeats > 1000) {
    std::fprintf(stderr, "usage: cpu_hash_rate_bench [MEBIBYTES, 1 to 65536 [REPEATS]]\n");
    return 2;
  }
  return assay::gpu_hash::run(static_cast<std::uint64_t>(mebibytes), static_cast<int>(repeats));
}
