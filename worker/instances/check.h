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
  [[nodiscard]] const gpu_hash::EngineInfo& engine() const override { return engine_.info(); }
  [[nodiscard]] const PassTimes& times() const override { return times_; }
  [[nodiscard]] unsigned slices() const override { return static_cast<unsigned>(slices_.size()); }
  [[nodiscard]] std::uint64_t bytes_of(unsigned slice) const override {
    return slices_.at(slice).bytes;
  }
  using MemoryCheck::look;
  [[nodiscard]] Result<Looked> look(std::span<const unsigned> slices, std::uint64_t count,
                                    ExportTime* exports) override;
  [[nodiscard]] Status draw(std::uint64_t count, ExportTime* exports) override;
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
    // For kResident, unless a piece begins unaligned. The slice has the regions from `first` on.
    gpu_hash::KeyedCheck* keyed = nullptr;
    std::size_t first = 0;
  };
  // Drawn pieces that are reached in one way, imported again.
  struct Drawn {
    Reach reach;
    std::vector<std::uint64_t> pieces;
    InstanceMemory memory;
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
  [[nodiscard]] Status hash_slices();
  // In one call where that is possible, so that the device never waits for the next one.
  [[nodiscard]] Status hash_resident(std::span<Slice> slices);
  // Hash these slices, which are of one reach, in one call. hash_tagged() is for resident ones, and
  // returns false when tags cannot begin where one of the tensors begins.
  [[nodiscard]] Result<bool> hash_tagged(std::span<Slice> slices);
  [[nodiscard]] Status hash_plain(std::span<const Slice> slices);
  [[nodiscard]] gpu_hash::HashRequest request(std::uint64_t span = 0) const;
  [[nodiscard]] const InstanceTensor& tensor(std::size_t number) const;
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> digests(
      Reach reach, std::span<const std::size_t> tensors, std::uint64_t span);
  [[nodiscard]] Result<std::vector<std::uint64_t>> choose(std::uint64_t count);
  // What is compared of drawn pieces: regions of the full pass and fresh ones in turn, and the
  // tensor of each pair.
  struct Pairs {
    std::vector<gpu_hash::Region> regions{};
    std::vector<std::size_t> tensors{};
  };
  [[nodiscard]] Pairs pairs_of(const Drawn& drawn) const;
  // The tensors of slices that follow each other under one key, by region from `first` on. Without
  // a key where it is not so.
  struct Row {
    gpu_hash::KeyedCheck* keyed = nullptr;
    std::size_t first = 0;
    std::vector<std::size_t> tensors{};
  };
  [[nodiscard]] Row row_of(std::span<const unsigned> slices) const;
  // Looks at slices and drawn pieces in one piece of work. Returns nullopt when that is not
  // possible; nothing has happened then.
  [[nodiscard]] Result<std::optional<Looked>> look_at_once(std::span<const unsigned> slices,
                                                           std::uint64_t count);
  [[nodiscard]] Result<std::vector<std::size_t>> look_at(const Slice& slice);
  [[nodiscard]] Status compare(const Drawn& drawn, Redraw& result);

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
  std::vector<std::unique_ptr<gpu_hash::KeyedCheck>> keyed_;  // destroyed before memory_
  std::vector<Slice> slices_;
  std::optional<std::uint64_t> drawn_count_;  // of the last draw(), until redraw()
  std::vector<Drawn> drawn_;
  std::vector<Digest> roots_;
  Reached reached_;
  PassTimes times_;
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
