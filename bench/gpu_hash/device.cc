// SPDX-License-Identifier: Apache-2.0
// Figures of one or more GPUs, with the limits beside them, measured in one run.
//
// Usage: gpu_hash_device_bench [NAME=VALUE...]
//   gib=112       data resident on each device for the main figures (less when memory is smaller)
//   stream=16     GiB of host memory and files for streaming; 0 leaves it out
//   hashlib=FILE  bench/hashlib_rate.py, to be run beside streaming
//   sweep=1       rate against chunk size, object size and number of objects
//   devices=1     GPUs, or "all"; several of them are one engine (gpu_hash/spread/engine.h)
//   owner=SOCKET  also hash what another process shares there (bench/gpu_hash/owner_channel.h)
//   check=FILE    bytes of that process's first object, hashed on the CPU for comparison
//   pattern=1     its object is what cuda_owner.cc writes: compare with the CPU
//   only=import   nothing but that
//   only=spread   several GPUs: data resident on each (gib=64), host memory through all
//                 (stream=32), each beside one of them alone; devices=all is implied
//   mib=N         for trying out: N MiB instead of gib and stream
//   json=FILE     the figures as JSON
//
// Rates are in GB/s (10^9 bytes), wall clock from the call to the root on the host, best of the
// repeats. "limit" is what a figure is held against; the last column says what it is.
#include "bench/gpu_hash/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "bench/gpu_hash/owner_channel.h"
#include "bench/gpu_hash/owner_pattern.h"
#include "bench/gpu_hash/spread.h"
#include "bench/options.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/opencl/limits.h"
#include "gpu_hash/region.h"
#include "gpu_hash/source_file.h"
#include "gpu_hash/spread/engine.h"
#include "gpu_hash/tags.h"
#include "gpu_hash/workers.h"
#include "schemas/core/json.h"
#include "schemas/core/merkle.h"
#include "schemas/core/random.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

using bench::number;
using bench::Options;
using bench::text;

class Bench {
 public:
  Bench(ClEngine& engine, Report& report) : engine_(engine), report_(report) {}

  double hash_rate(std::span<const Region> regions, std::uint64_t bytes, HashAlgorithm algorithm,
                   std::uint32_t chunk_size, int repeats) {
    const HashRequest wanted = request(algorithm, chunk_size);
    (void)need(engine_.hash(regions, wanted));
    return rate(bytes, repeats, [&] { (void)need(engine_.hash(regions, wanted)); });
  }

  // What the device's integer pipes leave of hashing chunks of this size; they are measured once,
  // when the device is warm.
  double pipe_limit(HashAlgorithm algorithm, std::uint32_t chunk_size) {
    if (operations_ == 0) {
      operations_ = need(integer_rate(engine_.session(), KernelCache::of_user()));
      report_.set("integer_operations_per_second", operations_);
    }
    return operations_ / static_cast<double>(integer_operations(algorithm, chunk_size)) *
           chunk_size / kGiga;
  }

  void resident(std::uint64_t bytes, bool sweep) {
    const ResidentData data(engine_, bytes);
    const Region all = data.all(bytes);
    const auto sha256 = HashAlgorithm::kSha256;
    const double main = hash_rate({&all, 1}, bytes, sha256, kDefaultChunkSize, 5);
    const Json details = {{"bytes", bytes}, {"variant", engine_.last_path().variant}};
    report_.add("SHA-256 tree, resident, " + std::to_string(bytes / kGib) + " GiB", main,
                pipe_limit(sha256, kDefaultChunkSize), "integer pipe", details);
    const double other = hash_rate({&all, 1}, bytes, HashAlgorithm::kSha384, kDefaultChunkSize, 3);
    report_.add("SHA-384 tree, resident, " + std::to_string(bytes / kGib) + " GiB", other,
                pipe_limit(HashAlgorithm::kSha384, kDefaultChunkSize), "integer pipe",
                {{"bytes", bytes}, {"variant", engine_.last_path().variant}});
    const double reading =
        need(memory_read_rate(engine_.session(), KernelCache::of_user(), data.first())) / kGiga;
    tags(all, bytes, main, reading);
    if (sweep) {
      sweeps(data, bytes, main);
    }
  }

  void tags(const Region& all, std::uint64_t bytes, double main, double reading) {
    SystemRandom random;
    const TagKey key = need(TagKey::draw(random));
    const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
    std::vector<std::vector<Digest>> first;
    (void)need(engine_.hash_tagged({&all, 1}, wanted, key, first));
    report_.add(
        "SHA-256 tree with keyed tags in the same pass",
        rate(bytes, 3, [&] { (void)need(engine_.hash_tagged({&all, 1}, wanted, key, first)); }),
        main, "without tags");
    std::vector<std::vector<Digest>> again;
    report_.add("keyed tags alone",
                rate(bytes, 5, [&] { again = need(engine_.tags({&all, 1}, wanted, key)); }),
                reading, "reading the memory alone");
    if (again != first) {
      std::fprintf(stderr, "tags differ\n");
      std::exit(1);
    }
  }

  void sweeps(const ResidentData& data, std::uint64_t bytes, double main) {
    const auto sha256 = HashAlgorithm::kSha256;
    const std::uint64_t part = std::min(bytes, 32 * kGib);
    const Region region = data.all(part);
    for (std::uint32_t chunk = kMinChunkSize; chunk <= kMaxChunkSize; chunk *= 4) {
      report_.add("chunks of " + std::to_string(chunk),
                  hash_rate({&region, 1}, part, sha256, chunk, 3), pipe_limit(sha256, chunk),
                  "integer pipe", {{"sweep", "chunk_size"}, {"x", chunk}, {"bytes", part}});
    }
    for (const std::uint64_t count : {10U, 100U, 1000U, 10000U, 100000U}) {
      const std::uint64_t size = 1000000000 / count;
      const std::vector<Region> objects = data.objects(count, size);
      report_.add("1 GB in " + std::to_string(count) + " objects",
                  hash_rate(objects, count * size, sha256, kDefaultChunkSize, 5), main,
                  "one large object", {{"sweep", "objects"}, {"x", count}});
    }
    for (std::uint64_t size = 1 << 20; size <= 16 * kGib && size <= bytes; size *= 4) {
      const Region one = data.all(size);
      report_.add("one object of " + std::to_string(size >> 20) + " MiB",
                  hash_rate({&one, 1}, size, sha256, kDefaultChunkSize, 5), main,
                  "one large object", {{"sweep", "object_size"}, {"x", size}});
    }
    // What hashing one file per work-item gives: 1,000 files of 1 MiB, each a single chunk.
    const std::vector<Region> files = data.objects(1000, kMaxChunkSize);
    report_.add("one work-item for each of 1,000 files of 1 MiB",
                hash_rate(files, 1000ULL * kMaxChunkSize, sha256, kMaxChunkSize, 2), main,
                "one large object", {{"peer", true}});
  }

  // `hashlib`: path of bench/hashlib_rate.py; empty leaves that peer out.
  void streaming(std::uint64_t bytes, const std::string& hashlib) {
    const Bytes memory = random_memory(bytes);
    const Region host = host_region(memory);
    const std::uint64_t before = resident_kib();
    const double copy = copy_rate(bytes);
    const double first = hash_rate({&host, 1}, bytes, HashAlgorithm::kSha256, kDefaultChunkSize, 3);
    const double again = copy_rate(bytes);
    report_.add("SHA-256 tree, host memory to root", first, std::max(copy, again),
                "pinned copy of the same slices",
                {{"bytes", bytes}, {"worker_kib", resident_kib() - before}});
    file(memory, std::max(copy, again));
    cpu_peers(memory, first);
    if (!hashlib.empty()) {
      hashlib_peer(hashlib, first);
    }
  }

  // The copies of streaming alone.
  double copy_rate(std::uint64_t bytes) {
    return rate(bytes, 3, [&] { need(engine_.copy_alone(bytes)); });
  }

  void file(const Bytes& memory, double copy) {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("assay-bench-" + std::to_string(::getpid()));
    const std::size_t size = std::min<std::size_t>(memory.size(), 8 * kGib);
    std::ofstream(path, std::ios::binary) << as_text(ByteView(memory).first(size));
    const Region region = file_region(need(SourceFile::find(path)));
    const double value =
        hash_rate({&region, 1}, size, HashAlgorithm::kSha256, kDefaultChunkSize, 3);
    report_.add("SHA-256 tree, file in the page cache to root", value, copy,
                "pinned copy of the same slices", {{"bytes", size}});
    std::filesystem::remove(path);
  }

  // What is in use today, on the same host and data. `ours`: host memory to root in this run.
  void cpu_peers(const Bytes& memory, double ours) {
    const std::uint64_t size = std::min<std::uint64_t>(memory.size(), 4 * kGib);
    const ByteView bytes = ByteView(memory).first(size);
    const Region region = host_region(bytes);
    const auto cpu = make_cpu_engine();
    const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
    const unsigned cores = usable_cores();
    report_.add("CPU engine on " + std::to_string(cores) + " cores",
                rate(size, 2, [&] { (void)need(cpu->hash({&region, 1}, wanted)); }), ours, kOurs,
                {{"peer", true}});
    const std::uint64_t share = size / cores;
    const auto streams = [&] {
      std::atomic<unsigned> next = 0;
      run_on_threads(cores, [&] {
        for (unsigned i = next++; i < cores; i = next++) {
          (void)sha(HashAlgorithm::kSha256, bytes.subspan(i * share, share));
        }
      });
    };
    report_.add("OpenSSL, a stream on each of " + std::to_string(cores) + " cores",
                rate(share * cores, 2, streams), ours, kOurs, {{"peer", true}});
  }

  void hashlib_peer(const std::string& script, double ours) {
    const std::string command = "python3 '" + script + "' --mebibytes 4096 --files 16 --repeats 3";
    const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
    std::string text;
    std::array<char, 4096> block{};
    while (output != nullptr && std::fgets(block.data(), block.size(), output.get()) != nullptr) {
      text += block.data();
    }
    const auto answer = parse_json(text);
    if (!answer || !answer->contains("gbps")) {
      std::fprintf(stderr, "no answer from %s\n", script.c_str());
      return;
    }
    for (const auto& [name, value] : (*answer)["gbps"].items()) {
      report_.add("Python, " + name + ", files in the page cache", value.get<double>(), ours, kOurs,
                  {{"peer", true}, {"bytes", (*answer)["bytes"]}, {"files", (*answer)["files"]}});
    }
  }

 private:
  static constexpr const char* kOurs = "ours, host memory to root";

  ClEngine& engine_;
  Report& report_;
  double operations_ = 0;  // a second
};

// Memory that another process shares: imported, hashed in place, let go.
// long-function: one measurement from the socket to the comparison
void import(ClEngine& engine, Report& report, const Options& options) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const Descriptor peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, options.at("owner").c_str(), sizeof(address.sun_path) - 1);
  if (::connect(peer.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    std::perror("owner");
    std::exit(2);
  }
  SharedMemory shared = need(receive_memory(peer.get()));
  const auto open_fds = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto fds_before = open_fds();
  const std::uint64_t before = resident_kib();
  std::vector<std::shared_ptr<const DeviceMemory>> pieces;
  std::uint64_t piece_bytes = 0;
  const double seconds = seconds_of([&] {
    for (SharedPiece& piece : shared.pieces) {
      piece_bytes += piece.size;
      pieces.push_back(need(engine.import_memory(std::move(piece.fd), piece.size)));
    }
  });
  std::vector<Region> regions;
  std::uint64_t bytes = 0;
  for (const std::vector<SharedPart>& object : shared.objects) {
    Region& region = regions.emplace_back();
    for (const SharedPart& part : object) {
      region.pieces.emplace_back(DevicePiece{pieces[part.piece], part.offset, part.size});
      bytes += part.size;
    }
  }
  std::printf(
      "%zu pieces, %.1f GB, %zu objects of %.1f GB imported in %.3f s; descriptors %ld, "
      "then %ld\n",
      pieces.size(), static_cast<double>(piece_bytes) / kGiga, regions.size(),
      static_cast<double>(bytes) / kGiga, seconds, static_cast<long>(fds_before),
      static_cast<long>(open_fds()));
  const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
  const auto digests = need(engine.hash(regions, wanted));
  const double value = rate(bytes, 3, [&] { (void)need(engine.hash(regions, wanted)); });
  const std::string label = text(options, "label", "imported memory");
  report.add(label + ", in place", value, 0, "",
             {{"bytes", bytes},
              {"pieces", pieces.size()},
              {"objects", regions.size()},
              {"import_seconds", seconds},
              {"worker_kib", resident_kib() - before}});
  const auto cpu = make_cpu_engine();
  const auto compare = [&](const Digest& expected) {
    const bool equal = digests.at(0).root == expected;
    std::printf("root of the first object: %s\n", equal ? "equal to the CPU's" : "WRONG");
    if (!equal) {
      std::exit(1);
    }
  };
  if (options.contains("check")) {
    const Region region = file_region(need(SourceFile::find(options.at("check"))));
    compare(need(cpu->hash({&region, 1}, wanted)).at(0).root);
  } else if (options.contains("pattern")) {
    // One block stands for all pieces: only its first word differs.
    const std::vector<std::uint64_t> block = owner_pattern(shared.pieces.at(0).size);
    const ByteView tail = {reinterpret_cast<const std::uint8_t*>(block.data()) + 8,
                           shared.pieces.at(0).size - 8};
    std::vector<std::uint64_t> numbers(pieces.size());
    Region region;
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = i;
      region.pieces.emplace_back(
          HostPiece{{reinterpret_cast<const std::uint8_t*>(&numbers[i]), 8}});
      region.pieces.emplace_back(HostPiece{tail});
    }
    compare(need(cpu->hash({&region, 1}, wanted)).at(0).root);
  }
}

// GPUs and the like; CPUs only where there is nothing else.
std::vector<ClDevice> wanted_devices(const Options& options) {
  std::vector<ClDevice> devices = find_cl_devices();
  const auto named = options.find("devices");
  const bool all =
      named == options.end() ? text(options, "only", "") == "spread" : named->second == "all";
  const auto is_cpu = [](const ClDevice& device) { return device.info.type == "cpu"; };
  if (all && !std::ranges::all_of(devices, is_cpu)) {
    std::erase_if(devices, is_cpu);
  } else if (!all) {
    devices.resize(std::min<std::size_t>(devices.size(), number(options, "devices", 1)));
  }
  return devices;
}

int run(const Options& options) {
  std::vector<ClDevice> devices = wanted_devices(options);
  EngineOptions engine_options;
  if (devices.size() > 1) {  // as --device opencl:all has it
    engine_options.threads =
        std::clamp(usable_cores() / static_cast<unsigned>(devices.size()), 1U, 16U);
  }
  std::vector<std::unique_ptr<ClEngine>> engines;
  for (ClDevice& device : devices) {
    engines.push_back(
        need(ClEngine::open(std::move(device), engine_options, KernelCache::of_user())));
  }
  if (engines.empty()) {
    std::fprintf(stderr, "gpu_hash_device_bench: no OpenCL device\n");
    return 2;
  }
  ClEngine& engine = *engines.front();
  const DeviceInfo& info = engine.session().device().info;
  std::printf("%s, driver %s, %s; %u cores\n", info.name.c_str(), info.driver.c_str(),
              cpu_name().c_str(), usable_cores());
  Report report(text(options, "json", ""));
  report.set("machine", (engines.size() > 1 ? std::to_string(engines.size()) + " x " : "") +
                            info.name + ", " + std::to_string(usable_cores()) + " cores");
  report.set("driver", info.driver);
  report.set("commit", text(options, "commit", "unknown"));
  report.set("command", text(options, "command", ""));
  const double tuning = seconds_of([&] { (void)need(engine.kernels(HashAlgorithm::kSha256)); });
  std::printf("first use: %.1f s, variant %s\n", tuning,
              std::string(need(engine.kernels(HashAlgorithm::kSha256))->variant().name).c_str());
  const std::uint64_t most = info.memory_bytes / 100 * 85;
  const std::uint64_t bytes = std::min(number(options, "gib", 112) * kGib, most) / kGib * kGib;
  if (engines.size() > 1 || (text(options, "only", "") == "spread")) {
    measure_spread(std::move(engines), options, report);
    return 0;
  }
  Bench one(engine, report);
  if (!options.contains("only")) {
    one.resident(std::max(bytes, kGib), number(options, "sweep", 1) != 0);
    if (const std::uint64_t stream = number(options, "stream", 16); stream > 0) {
      one.streaming(stream * kGib, text(options, "hashlib", ""));
    }
  }
  if (options.contains("owner")) {
    import(engine, report, options);
  }
  return 0;
}

}  // namespace
}  // namespace assay::gpu_hash

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return assay::gpu_hash::run(assay::bench::parse_options(argc, argv, "gpu_hash_device_bench"));
}
