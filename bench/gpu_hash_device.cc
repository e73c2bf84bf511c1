// SPDX-License-Identifier: Apache-2.0
// long-file: one program, so that all figures share a run and its limits
// Figures of one or more GPUs, with the limits beside them, measured in one run.
//
// Usage: gpu_hash_device_bench [NAME=VALUE...]
//   gib=112       data resident on each device for the main figures (less when memory is smaller)
//   stream=16     GiB of host memory and files for streaming; 0 leaves it out
//   hashlib=FILE  bench/hashlib_rate.py, to be run beside streaming
//   sweep=1       rate against chunk size, object size and number of objects
//   devices=1     GPUs, or "all"; several of them are one engine (gpu_hash/spread_engine.h)
//   owner=SOCKET  also hash what another process shares there (gpu_hash/fd_channel.h)
//   check=FILE    bytes of that process's first object, hashed on the CPU for comparison
//   pattern=1     its object is what tests/gpu_hash/cuda_owner.cc writes: compare with the CPU
//   only=import   nothing but that
//   only=spread   several GPUs: data resident on each (gib=64), host memory through all
//   (stream=32),
//                 each beside one of them alone; devices=all is implied
//   mib=N         for trying out: N MiB instead of gib and stream
//   json=FILE     the figures as JSON
//
// Rates are in GB/s (10^9 bytes), wall clock from the call to the root on the host, best of the
// repeats. "limit" is what a figure is held against; the last column says what it is.
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

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cl_device_engine.h"
#include "gpu_hash/cl_limits.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/fd_channel.h"
#include "gpu_hash/source_file.h"
#include "gpu_hash/spread_engine.h"
#include "gpu_hash/tags.h"
#include "gpu_hash/workers.h"
#include "schemas/core/json.h"
#include "schemas/core/merkle.h"
#include "schemas/core/random.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/owner_pattern.h"

namespace assay::gpu_hash {
namespace {

constexpr double kGiga = 1e9;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "gpu_hash_device_bench: %s\n", to_string(error).c_str());
  std::exit(2);
}
void need(const Status& status) {
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

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// GB/s of the best of some runs over `bytes`.
double rate(std::uint64_t bytes, int repeats, const std::function<void()>& work) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    best = std::max(best, static_cast<double>(bytes) / seconds_of(work) / kGiga);
  }
  return best;
}

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::strtoull(line.c_str() + 6, nullptr, 10);
    }
  }
  return 0;
}

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

using Options = std::map<std::string, std::string>;

std::uint64_t number(const Options& options, const std::string& name, std::uint64_t otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

HashRequest request(HashAlgorithm algorithm, std::uint32_t chunk_size) {
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

Bytes random_memory(std::uint64_t bytes) {
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
  const UniqueFd peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
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
  const std::string label = options.contains("label") ? options.at("label") : "imported memory";
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
    const std::vector<std::uint64_t> block = test::owner_pattern(shared.pieces.at(0).size);
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

// Several devices as one engine, and one of them alone in the same run.
class SpreadBench {
 public:
  SpreadBench(std::vector<std::unique_ptr<ClEngine>> engines, Report& report) : report_(report) {
    std::vector<std::unique_ptr<Engine>> members;
    for (std::unique_ptr<ClEngine>& engine : engines) {
      engines_.push_back(engine.get());
      members.push_back(std::move(engine));
    }
    spread_ = need(SpreadEngine::create(std::move(members)));
    std::printf("%s: %s\n", spread_->info().id.c_str(), spread_->info().device.c_str());
  }

  // `bytes` of random data on each device: first an object for each, then one over all of them.
  void resident(std::uint64_t bytes) {
    std::vector<std::unique_ptr<ResidentData>> data(engines_.size());
    each([&](std::size_t i) { data[i] = std::make_unique<ResidentData>(*engines_[i], bytes); });
    std::vector<Region> regions;
    Region whole;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      regions.push_back(placed(i, data[i]->all(bytes)));
      whole.pieces.insert(whole.pieces.end(), regions[i].pieces.begin(), regions[i].pieces.end());
    }
    for (std::size_t count = 1; count <= engines_.size(); ++count) {
      row("resident on " + gpus(count), std::span(regions).first(count), count, bytes * count,
          {{"sweep", "devices"}, {"x", count}});
    }
    row("one object over " + gpus(engines_.size()), {&whole, 1}, engines_.size(),
        bytes * engines_.size());
    compare_roots(data, std::bit_floor(bytes));
    tags(regions, bytes * engines_.size());
  }

  // Host memory to its root through one device and through all.
  void streaming(std::uint64_t bytes) {
    const Bytes memory = random_memory(bytes);
    const Region host = host_region(memory);
    const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
    const std::uint64_t share = bytes / engines_.size();
    const double copy = rate(bytes, 3, [&] { need(engines_[0]->copy_alone(bytes)); });
    const double copies = rate(share * engines_.size(), 3, [&] {
      each([&](std::size_t i) { need(engines_[i]->copy_alone(share)); });
    });
    Digest root = need(engines_[0]->hash({&host, 1}, wanted)).at(0).root;
    const double one = rate(bytes, 3, [&] { (void)need(engines_[0]->hash({&host, 1}, wanted)); });
    report_.add("SHA-256 tree, host memory through 1 GPU", one, copy, "pinned copies to it",
                {{"bytes", bytes}});
    (void)need(spread_->hash({&host, 1}, wanted));
    const double all = rate(bytes, 3, [&] {
      if (need(spread_->hash({&host, 1}, wanted)).at(0).root != root) {
        wrong("of host memory");
      }
    });
    report_.add("SHA-256 tree, host memory through " + gpus(engines_.size()), all, copies,
                "pinned copies to all at once", {{"bytes", bytes}, {"factor", all / one}});
    std::printf("%s: %.2f times one\n", gpus(engines_.size()).c_str(), all / one);
    const auto cpu = make_cpu_engine();
    if (need(cpu->hash({&host, 1}, wanted)).at(0).root != root) {
      wrong("of host memory, beside the CPU's");
    }
    std::printf("roots equal to the CPU's\n");
  }

 private:
  [[noreturn]] static void wrong(const char* what) {
    std::fprintf(stderr, "WRONG root %s\n", what);
    std::exit(1);
  }
  static std::string gpus(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
  }
  void each(const std::function<void(std::size_t)>& work) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      threads.emplace_back([&work, i] { work(i); });
    }
  }
  Region placed(std::size_t member, Region region) const {
    for (Piece& piece : region.pieces) {
      auto& device = std::get<DevicePiece>(piece);
      device.memory = spread_->memory_of(member, device.memory);
    }
    return region;
  }

  // Objects on the first `count` devices; the first row is one device.
  void row(const std::string& name, std::span<const Region> regions, std::size_t count,
           std::uint64_t bytes, Json details = Json::object()) {
    const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
    (void)need(spread_->hash(regions, wanted));
    const double value = rate(bytes, 5, [&] { (void)need(spread_->hash(regions, wanted)); });
    one_ = one_ == 0 ? value : one_;
    details["bytes"] = bytes;
    details["factor"] = value / one_;
    report_.add("SHA-256 tree, " + name, value, one_ * static_cast<double>(count),
                "one GPU, times GPUs", details);
    std::printf("%s: %.3f times one\n", name.c_str(), value / one_);
  }

  // The root of an object over all devices is the tree over the roots that the devices give alone.
  void compare_roots(const std::vector<std::unique_ptr<ResidentData>>& data, std::uint64_t bytes) {
    const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
    std::vector<Digest> roots;
    Region whole;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      const Region own = data[i]->all(bytes);
      roots.push_back(need(engines_[i]->hash({&own, 1}, wanted)).at(0).root);
      const Region region = placed(i, own);
      whole.pieces.insert(whole.pieces.end(), region.pieces.begin(), region.pieces.end());
    }
    if (need(spread_->hash({&whole, 1}, wanted)).at(0).root !=
        merkle_root(HashAlgorithm::kSha256, roots)) {
      wrong("of an object over all devices");
    }
    std::printf("root of one object over all devices: equal to the tree over theirs\n");
  }

  void tags(std::span<const Region> regions, std::uint64_t bytes) {
    SystemRandom random;
    const TagKey key = need(TagKey::draw(random));
    const HashRequest wanted = request(HashAlgorithm::kSha256, kDefaultChunkSize);
    const auto value = [&](std::span<const Region> of, std::uint64_t size) {
      (void)need(spread_->tags(of, wanted, key));
      return rate(size, 5, [&] { (void)need(spread_->tags(of, wanted, key)); });
    };
    const double one = value(regions.first(1), bytes / regions.size());
    const double all = value(regions, bytes);
    report_.add("keyed tags alone, resident on " + gpus(regions.size()), all,
                one * static_cast<double>(regions.size()), "one GPU, times GPUs",
                {{"bytes", bytes}, {"factor", all / one}});
  }

  Report& report_;
  std::vector<ClEngine*> engines_;
  std::unique_ptr<SpreadEngine> spread_;
  double one_ = 0;  // GB/s of one device
};

// GPUs and the like; CPUs only where there is nothing else.
std::vector<ClDevice> wanted_devices(const Options& options) {
  std::vector<ClDevice> devices = find_cl_devices();
  const auto named = options.find("devices");
  const bool all = named == options.end()
                       ? options.contains("only") && options.at("only") == "spread"
                       : named->second == "all";
  const auto is_cpu = [](const ClDevice& device) { return device.info.type == "cpu"; };
  if (all && !std::ranges::all_of(devices, is_cpu)) {
    std::erase_if(devices, is_cpu);
  } else if (!all) {
    devices.resize(std::min<std::size_t>(devices.size(), number(options, "devices", 1)));
  }
  return devices;
}

void spread(std::vector<std::unique_ptr<ClEngine>> engines, const Options& options,
            Report& report) {
  std::uint64_t most = ~std::uint64_t{0};
  for (const auto& engine : engines) {
    most = std::min(most, engine->session().device().info.memory_bytes / 100 * 85);
  }
  const std::uint64_t small = number(options, "mib", 0) << 20;
  const std::uint64_t bytes =
      small != 0 ? small : std::min(number(options, "gib", 64) * kGib, most / kGib * kGib);
  const std::uint64_t stream = small != 0 ? small : number(options, "stream", 32) * kGib;
  SpreadBench bench(std::move(engines), report);
  bench.resident(bytes);
  if (stream > 0) {
    bench.streaming(stream);
  }
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
  Report report(options.contains("json") ? options.at("json") : "");
  report.set("machine", (engines.size() > 1 ? std::to_string(engines.size()) + " x " : "") +
                            info.name + ", " + std::to_string(usable_cores()) + " cores");
  report.set("driver", info.driver);
  report.set("commit", options.contains("commit") ? options.at("commit") : "unknown");
  report.set("command", options.contains("command") ? options.at("command") : "");
  const double tuning = seconds_of([&] { (void)need(engine.kernels(HashAlgorithm::kSha256)); });
  std::printf("first use: %.1f s, variant %s\n", tuning,
              std::string(need(engine.kernels(HashAlgorithm::kSha256))->variant().name).c_str());
  const std::uint64_t most = info.memory_bytes / 100 * 85;
  const std::uint64_t bytes = std::min(number(options, "gib", 112) * kGib, most) / kGib * kGib;
  if (engines.size() > 1 || (options.contains("only") && options.at("only") == "spread")) {
    spread(std::move(engines), options, report);
    return 0;
  }
  Bench bench(engine, report);
  if (!options.contains("only")) {
    bench.resident(std::max(bytes, kGib), number(options, "sweep", 1) != 0);
    if (const std::uint64_t stream = number(options, "stream", 16); stream > 0) {
      bench.streaming(stream * kGib, options.contains("hashlib") ? options.at("hashlib") : "");
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
  assay::gpu_hash::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t at = text.find('=');
    if (at == std::string::npos) {
      std::fprintf(stderr, "usage: gpu_hash_device_bench [NAME=VALUE...]\n");
      return 2;
    }
    options[text.substr(0, at)] = text.substr(at + 1);
  }
  return assay::gpu_hash::run(options);
}
