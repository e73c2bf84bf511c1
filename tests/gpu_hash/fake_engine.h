// SPDX-License-Identifier: Apache-2.0
// Engines for tests of several engines as one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/spread/engine.h"
#include "gpu_hash/tags.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {

inline constexpr HashAlgorithm kAlgorithms[] = {HashAlgorithm::kSha256, HashAlgorithm::kSha384};

// An engine with memory of its own that computes on the CPU. `on_call` sees every call that brings
// regions, and its error is the call's.
class FakeEngine final : public Engine {
 public:
  using OnCall = std::function<Status(std::span<const Region>, const HashRequest&)>;

  explicit FakeEngine(const std::string& number, OnCall on_call = {}, std::string driver = "1")
      : info_{"opencl:" + number, "Fake GPU", std::move(driver), sha256(as_bytes("kernel"))},
        on_call_(std::move(on_call)),
        cpu_(make_cpu_engine(1)) {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] int calls() const { return calls_; }

  [[nodiscard]] std::shared_ptr<const DeviceMemory> upload(ByteView bytes) const {
    return std::make_shared<Memory>(this, Bytes(bytes.begin(), bytes.end()));
  }

  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override {
    if (!regions.empty() && on_call_) {
      ASSAY_TRY(on_call_(regions, request));
    }
    calls_ += regions.empty() ? 0 : 1;
    for (const Region& region : regions) {
      bytes_ += region_size(region).value();
    }
    ASSAY_ASSIGN(const std::vector<Region> host, on_host(regions));
    return cpu_->hash(host, request);
  }

  [[nodiscard]] Result<std::shared_ptr<const DeviceMemory>> import_memory(
      Descriptor, std::uint64_t size) override {
    return upload(Bytes(size));
  }

  // Stands in for tags: the hash of the bytes.
  [[nodiscard]] Result<std::vector<std::vector<Digest>>> tags(std::span<const Region> regions,
                                                              const HashRequest&,
                                                              const TagKey&) override {
    ASSAY_ASSIGN(const std::vector<Region> host, on_host(regions));
    std::vector<std::vector<Digest>> result;
    for (const Region& region : host) {
      Bytes bytes;
      for (const Piece& piece : region.pieces) {
        const ByteView view = std::get<HostPiece>(piece).bytes;
        bytes.insert(bytes.end(), view.begin(), view.end());
      }
      result.push_back({sha256(bytes)});
    }
    return result;
  }
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash_tagged(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key,
      std::vector<std::vector<Digest>>& tags) override {
    ASSAY_ASSIGN(tags, this->tags(regions, request, key));
    return hash(regions, request);
  }

 private:
  struct Memory final : DeviceMemory {
    Memory(const FakeEngine* of, Bytes content) : engine(of), bytes(std::move(content)) {}
    [[nodiscard]] std::uint64_t size() const override { return bytes.size(); }
    const FakeEngine* engine;
    Bytes bytes;
  };

  Result<std::vector<Region>> on_host(std::span<const Region> regions) const {
    std::vector<Region> host(regions.begin(), regions.end());
    for (Region& region : host) {
      for (Piece& piece : region.pieces) {
        if (const auto* device = std::get_if<DevicePiece>(&piece)) {
          const auto* memory = dynamic_cast<const Memory*>(device->memory.get());
          if (memory == nullptr || memory->engine != this) {
            return fail(ErrorCode::kInvalidParameter, "memory of another device");
          }
          piece = HostPiece{ByteView(memory->bytes).subspan(device->offset, device->size)};
        }
      }
    }
    return host;
  }

  EngineInfo info_;
  OnCall on_call_;
  std::unique_ptr<Engine> cpu_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<int> calls_ = 0;
};

// Some engines as one, and a look at each.
struct Spread {
  std::vector<FakeEngine*> fakes;
  std::unique_ptr<SpreadEngine> engine;
};

inline Spread spread_over(std::vector<std::unique_ptr<FakeEngine>> fakes, std::uint64_t unit) {
  Spread result;
  std::vector<std::unique_ptr<Engine>> members;
  for (auto& fake : fakes) {
    result.fakes.push_back(fake.get());
    members.push_back(std::move(fake));
  }
  result.engine = SpreadEngine::create(std::move(members), unit).value();
  return result;
}

inline Spread spread_over(std::size_t count, std::uint64_t unit,
                          const FakeEngine::OnCall& on_call = {}) {
  std::vector<std::unique_ptr<FakeEngine>> fakes;
  for (std::size_t i = 0; i < count; ++i) {
    fakes.push_back(std::make_unique<FakeEngine>(std::to_string(i), on_call));
  }
  return spread_over(std::move(fakes), unit);
}

// Roots and outlines of both, which must be equal.
inline void expect_same(const std::vector<ObjectDigests>& got,
                        const std::vector<ObjectDigests>& expected, const std::string& where) {
  ASSERT_EQ(got.size(), expected.size()) << where;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].root, expected[i].root) << where << ", region " << i;
    ASSERT_EQ(got[i].outline, expected[i].outline) << where << ", region " << i;
  }
}

}  // namespace assay::gpu_hash::test
