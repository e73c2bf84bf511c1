// SPDX-License-Identifier: Apache-2.0
// Checks whether the bytes in the memory of one process (an Owner, owner.h) change, and whether the
// process replaces this memory by other memory. A full pass imports and hashes all pieces
// (allocations, schemas/instance.h). Later checks compare keyed tags (gpu_hash/tags.h) of the same
// bytes, and have the process export randomly chosen pieces a second time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/tags.h"
#include "schemas/core/random.h"
#include "worker/instances/checks.h"
#include "worker/instances/memory.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// A check that runs in this process: this process imports the memory and keeps the tags' key.
class InstanceCheck final : public MemoryCheck {
 public:
  using Options = CheckOptions;

  // Does what Checks::start() does. `engine` is the one that engine_for() (memory.h) returns, and
  // must outlive the check.
  [[nodiscard]] static Result<std::unique_ptr<InstanceCheck>> start(
      std::shared_ptr<Owner> owner, gpu_hash::Engine& engine, std::vector<std::size_t> tensors,
      const Options& options, Random& random);

  [[nodiscard]] const std::vector<Digest>& roots() const override { return roots_; }
  [[nodiscard]] const Reached& reached() const override { return reached_; }
  [[nodiscard]] unsigned slices() const override { return static_cast<unsigned>(slices_.size()); }
  [[nodiscard]] std::uint64_t bytes_of(unsigned slice) const override {
    return slices_.at(slice).bytes;
  }
  [[nodiscard]] Result<std::vector<std::size_t>> recheck(unsigned slice) override;
  using MemoryCheck::redraw;
  [[nodiscard]] Result<Redraw> redraw(std::uint64_t count, ExportTime* exports) override;
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> outline(
      std::span<const std::size_t> tensors, std::uint64_t span) override;
  [[nodiscard]] bool is_over() const override { return stop_.stop_requested(); }

 private:
  struct Slice {
    Reach reach;
    std::uint64_t bytes = 0;
    std::vector<std::size_t> tensors{};
    std::optional<gpu_hash::KeyedCheck> keyed{};  // for kResident, unless a piece begins unaligned
  };
  // Bytes of tensors that lie in one piece.
  struct PieceUse {
    std::vector<InstancePart> parts{};
    std::vector<std::size_t> tensors{};  // of parts, by position
  };

  InstanceCheck(std::shared_ptr<Owner> owner, gpu_hash::Engine& engine,
                std::vector<std::size_t> tensors, const Options& options, Random& random);
  [[nodiscard]] Status plan(unsigned slices);
  [[nodiscard]] Status full_pass(ExportTime* exports);
  [[nodiscard]] Status hash_slice(Slice& slice);
  [[nodiscard]] gpu_hash::HashRequest request(std::uint64_t span = 0) const;
  [[nodiscard]] const InstanceTensor& tensor(std::size_t number) const;
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> digests(
      Reach reach, std::span<const std::size_t> tensors, std::uint64_t span);
  [[nodiscard]] Result<std::vector<std::uint64_t>> draw(std::uint64_t count);
  [[nodiscard]] Status compare(const InstanceMemory& fresh, std::span<const std::uint64_t> pieces,
                               std::vector<std::size_t>& changed);

  std::shared_ptr<Owner> owner_;
  gpu_hash::Engine& engine_;
  std::vector<std::size_t> tensors_;  // positions in the registration
  TreeParameters parameters_;
  bool tags_;
  Random& random_;
  // A stop is requested by on_stop_ or by on_ended_.
  std::stop_source stop_;
  struct Forward {
    std::stop_source& to;
    void operator()() const { to.request_stop(); }
  };
  std::stop_callback<Forward> on_stop_;
  std::stop_callback<Forward> on_ended_;
  std::map<std::uint64_t, PieceUse> uses_;  // by piece; without staged pieces
  std::optional<InstanceMemory> memory_;
  std::vector<Slice> slices_;  // destroyed before memory_
  std::vector<Digest> roots_;
  Reached reached_;
};

// Starts checks that run in this process.
class LocalChecks final : public Checks {
 public:
  // Both arguments must outlive this object and all checks that it starts.
  LocalChecks(gpu_hash::Engine& engine, Random& random) : engine_(engine), random_(random) {}
  [[nodiscard]] Result<std::unique_ptr<MemoryCheck>> start(std::shared_ptr<Owner> owner,
                                                           std::vector<std::size_t> tensors,
                                                           const CheckOptions& options) override;

 private:
  gpu_hash::Engine& engine_;
  Random& random_;
};

}  // namespace assay::worker
