// SPDX-License-Identifier: Apache-2.0
// Is the memory of one process what it was, and still the same memory? A full pass over fresh
// imports, then keyed tags of the same bytes, and random pieces that are exported anew.
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
#include "worker/instances/memory.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Pieces that are drawn at a time, at least, where there are so many.
inline constexpr std::uint64_t kRedrawnPieces = 16;

// How the bytes of a full pass were reached.
struct Reached {
  std::uint64_t in_place = 0;                // bytes
  std::uint64_t staged = 0;                  // bytes
  std::vector<std::string> staged_causes{};  // ascending, each once
};

// What drawing pieces anew came to.
struct Redraw {
  std::uint64_t drawn = 0;
  std::uint64_t pieces = 0;          // that tensors lie in and that can be exported
  std::vector<std::size_t> changed;  // tensors (as below) whose fresh pieces hold other bytes
};
// The chance that one replaced piece of `pieces` is among `drawn` different ones.
[[nodiscard]] double detection_probability(std::uint64_t drawn, std::uint64_t pieces);

// Not thread-safe. Tensors are numbered as they were given to start(). Every call stops with
// cancelled when the owner wants its memory back or `stop` of start() is requested; then this
// object must go at once, because it holds that memory.
class InstanceCheck {
 public:
  struct Options {
    TreeParameters parameters{};
    unsigned slices = 1;  // parts of about equal bytes that recheck() can look at one by one
    std::stop_token stop{};
    ExportTime* exports = nullptr;  // of the pass that this is a part of; null: of its own
    bool tags = true;               // false: recheck() computes SHA-256 of everything
  };

  // The full pass: imports all pieces that these tensors (positions in the registration) lie in,
  // afresh, and hashes them. `engine` is the one of engine_for() and outlives this. Errors: of
  // InstanceMemory::import(), hash_staged() and Engine::hash().
  [[nodiscard]] static Result<std::unique_ptr<InstanceCheck>> start(
      std::shared_ptr<Owner> owner, gpu_hash::Engine& engine, std::vector<std::size_t> tensors,
      const Options& options, Random& random);

  // Roots that the full pass found, by tensor.
  [[nodiscard]] const std::vector<Digest>& roots() const { return roots_; }
  [[nodiscard]] const Reached& reached() const { return reached_; }

  // Slices differ in how their bytes are reached, so there may be some more or fewer than asked
  // for.
  [[nodiscard]] unsigned slices() const { return static_cast<unsigned>(slices_.size()); }
  [[nodiscard]] std::uint64_t bytes_of(unsigned slice) const { return slices_.at(slice).bytes; }
  // Tensors of a slice whose bytes are not what the full pass read: by keyed tags where they are
  // wanted and the engine has them, else hashed again. After a change that tags found, this slice
  // cannot be looked at again (invalid-parameter): the next step is a full pass.
  [[nodiscard]] Result<std::vector<std::size_t>> recheck(unsigned slice);

  // Draws min(count, pieces) pieces at random, imports fresh exports of them and compares the bytes
  // of tensors in them with those of the imports that are held: by tags under a new key where the
  // engine has them, else by digests. `exports` as in Options.
  [[nodiscard]] Result<Redraw> redraw(std::uint64_t count, ExportTime* exports = nullptr);

  // Digests of tensors at this span, hashed again from the memory that is held. Errors of hash().
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> outline(
      std::span<const std::size_t> tensors, std::uint64_t span);

  // True when this object has to go: see above.
  [[nodiscard]] bool is_over() const { return stop_.stop_requested(); }

 private:
  struct Slice {
    Reach reach;
    std::uint64_t bytes = 0;
    std::vector<std::size_t> tensors{};
    std::optional<gpu_hash::KeyedCheck> keyed{};  // of resident tensors, when their places allow
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
  // Requested by either of the two below it.
  std::stop_source stop_;
  struct Forward {
    std::stop_source& to;
    void operator()() const { to.request_stop(); }
  };
  std::stop_callback<Forward> on_stop_;
  std::stop_callback<Forward> on_ended_;
  std::map<std::uint64_t, PieceUse> uses_;  // by piece; staged ones are left out
  std::optional<InstanceMemory> memory_;
  std::vector<Slice> slices_;  // before memory_ goes, these go
  std::vector<Digest> roots_;
  Reached reached_;
};

}  // namespace assay::worker
