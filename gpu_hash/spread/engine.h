// SPDX-License-Identifier: Apache-2.0
// Several engines as one: objects are spread by bytes over all of them and come out with one root,
// the same that each of the engines alone would give.
//
// Host memory and files. Objects are cut at whole subtrees, and the engines take from one queue of
// these parts: each takes its share of half of what is left, so shares begin large, where the cost
// of beginning and ending a call does not count, and end small, where engines wait for the last
// one. Fixed shares by bytes would need no queue but rates that are known beforehand: GPUs of
// different kinds, or equal ones behind one crowded bus, would wait for the slowest. The queue
// needs to know nothing and is no more code.
//
// Device memory is hashed by the engine whose memory it is, all of it in one call, and cut only
// where an object goes from one device to another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/spread/plan.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

// Bytes of the smallest part of a large object that is worth a call of its own: some milliseconds
// of copying.
inline constexpr std::uint64_t kSpreadUnit = std::uint64_t{256} << 20;

class SpreadEngine final : public Engine {
 public:
  // Takes the engines over. `unit` is the size of parts, rounded down to a power of two and up to
  // the chunk size. invalid-parameter when there are no engines.
  [[nodiscard]] static Result<std::unique_ptr<SpreadEngine>> create(
      std::vector<std::unique_ptr<Engine>> members, std::uint64_t unit = kSpreadUnit);

  // All members: "opencl:0,1" and "2 x NVIDIA H200". The kernel digest is there when it is the same
  // for all.
  [[nodiscard]] const EngineInfo& info() const override { return info_; }

  // As every engine. Each member is used by one thread; the first error of one stops the others and
  // is the result.
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override;
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash_tagged(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key,
      std::vector<std::vector<Digest>>& tags) override;
  [[nodiscard]] Result<std::vector<std::vector<Digest>>> tags(std::span<const Region> regions,
                                                              const HashRequest& request,
                                                              const TagKey& key) override;

  [[nodiscard]] Engine* of_device(std::string_view uuid) override;

  [[nodiscard]] std::size_t members() const { return members_.size(); }
  // `index` must be below members().
  [[nodiscard]] Engine& member(std::size_t index) { return *members_[index]; }

  // Memory has a device, and a file descriptor does not say which: invalid-parameter, unless there
  // is one member only.
  [[nodiscard]] Result<std::shared_ptr<const DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size) override;
  // Engine::import_memory() of one member, for pieces of this engine. invalid-parameter for an
  // index that is not there, errors of the member.
  [[nodiscard]] Result<std::shared_ptr<const DeviceMemory>> import_memory(std::size_t index,
                                                                          Descriptor fd,
                                                                          std::uint64_t size);
  // Memory that members()[index] made or imported itself, for pieces of this engine: it takes no
  // other. `index` must be below members(); `memory` must be that member's.
  [[nodiscard]] std::shared_ptr<const DeviceMemory> memory_of(
      std::size_t index, std::shared_ptr<const DeviceMemory> memory) const;

 private:
  struct Answer {
    std::vector<ObjectDigests> digests;     // by region
    std::vector<std::vector<Digest>> tags;  // by region, when there was a key
  };
  enum class Work : std::uint8_t { kHash, kHashAndTags, kTags };
  class Call;

  SpreadEngine(std::vector<std::unique_ptr<Engine>> members, std::uint64_t unit);
  [[nodiscard]] Status prepare(HashAlgorithm algorithm);
  [[nodiscard]] Result<MemoryHome> home_of(const std::shared_ptr<const DeviceMemory>& memory) const;
  [[nodiscard]] Result<Answer> run(std::span<const Region> regions, const HashRequest& request,
                                   Work work, const TagKey* key);

  std::vector<std::unique_ptr<Engine>> members_;
  std::uint64_t unit_;
  EngineInfo info_;
  std::mutex prepare_mutex_;
  std::array<bool, 2> prepared_{};  // by algorithm; guarded by prepare_mutex_
};

}  // namespace assay::gpu_hash
