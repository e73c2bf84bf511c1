// SPDX-License-Identifier: Apache-2.0
// Several engines as one engine. The bytes of all objects are spread over the engines. The roots
// are those that each engine alone would compute.
//
// Host memory and files: objects are cut at whole subtrees, and the engines take these parts from
// one queue. With n engines, an engine takes 1/(2n) of the remaining bytes at a time, but at least
// one part. The first shares are therefore large, so that each engine makes few calls. The last
// shares are small, so that the wait for the last engine is short. Fixed shares by bytes would need
// no queue, but the rates of the engines would have to be known in advance. With wrong rates, all
// GPUs would wait for the slowest one. The queue needs no rates, and its code is not longer.
//
// Device memory: each engine hashes all regions in its own memory in one call. An object is cut
// only where it continues in the memory of another device.
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

// Size in bytes of the smallest part of a large object that is worth a call of its own. Copying
// such a part to a device takes some milliseconds.
inline constexpr std::uint64_t kSpreadUnit = std::uint64_t{256} << 20;

class SpreadEngine final : public Engine {
 public:
  // Takes ownership of the engines. `unit` is the size of parts in bytes, rounded down to a power
  // of two, but at least the chunk size. Errors: invalid-parameter when there are no engines.
  [[nodiscard]] static Result<std::unique_ptr<SpreadEngine>> create(
      std::vector<std::unique_ptr<Engine>> members, std::uint64_t unit = kSpreadUnit);

  // Describes all members together: "opencl:0,1" and "2 x NVIDIA H200". The kernel digest is
  // present when it is the same for all members.
  [[nodiscard]] const EngineInfo& info() const override { return info_; }

  // Hashes as Engine::hash() describes. Each member is used by one thread. The first error of a
  // member stops the others and is returned.
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override;
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash_tagged(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key,
      std::vector<std::vector<Digest>>& tags) override;
  [[nodiscard]] Result<std::vector<std::vector<Digest>>> tags(std::span<const Region> regions,
                                                              const HashRequest& request,
                                                              const TagKey& key) override;

  // The first member derives.
  [[nodiscard]] DeriveRoom derive_room() const override { return members_.front()->derive_room(); }
  [[nodiscard]] Result<Derived> derive(const DeriveRequest& derivation,
                                       const HashRequest& request) override {
    return members_.front()->derive(derivation, request);
  }

  [[nodiscard]] Engine* of_device(std::string_view uuid) override;

  [[nodiscard]] std::size_t members() const { return members_.size(); }
  // `index` must be below members().
  [[nodiscard]] Engine& member(std::size_t index) { return *members_[index]; }

  // Works only with a single member, because a file descriptor does not say which device its memory
  // is on. Errors: invalid-parameter for several members; those of the member.
  [[nodiscard]] Result<std::shared_ptr<const DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size) override;
  // Calls Engine::import_memory() of member `index`. The returned memory can be used in regions for
  // this engine. Errors: invalid-parameter for an index that does not exist; those of the member.
  [[nodiscard]] Result<std::shared_ptr<const DeviceMemory>> import_memory(std::size_t index,
                                                                          Descriptor fd,
                                                                          std::uint64_t size);
  // Wraps memory that member `index` itself allocated or imported, so that it can be used in
  // regions for this engine. Without this wrapper this engine refuses such memory. `index` must be
  // below members(), and `memory` must belong to that member.
  [[nodiscard]] std::shared_ptr<const DeviceMemory> memory_of(
      std::size_t index, std::shared_ptr<const DeviceMemory> memory) const;

 private:
  struct Answer {
    std::vector<ObjectDigests> digests;     // by region
    std::vector<std::vector<Digest>> tags;  // by region; empty without a key
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
