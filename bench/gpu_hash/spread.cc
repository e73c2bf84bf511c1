// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_hash/spread.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/spread/engine.h"
#include "gpu_hash/tags.h"
#include "schemas/core/merkle.h"

namespace assay::gpu_hash {
namespace {

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

}  // namespace

void measure_spread(std::vector<std::unique_ptr<ClEngine>> engines, const bench::Options& options,
                    Report& report) {
  std::uint64_t most = ~std::uint64_t{0};
  for (const auto& engine : engines) {
    most = std::min(most, engine->session().device().info.memory_bytes / 100 * 85);
  }
  const std::uint64_t small = bench::number(options, "mib", 0) << 20;
  const std::uint64_t bytes =
      small != 0 ? small : std::min(bench::number(options, "gib", 64) * kGib, most / kGib * kGib);
  const std::uint64_t stream = small != 0 ? small : bench::number(options, "stream", 32) * kGib;
  SpreadBench spread(std::move(engines), report);
  spread.resident(bytes);
  if (stream > 0) {
    spread.streaming(stream);
  }
}

}  // namespace assay::gpu_hash
