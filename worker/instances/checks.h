// SPDX-License-Identifier: Apache-2.0
// Checks of the memory of one process, as an instance sees them: wherever that memory is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/artifact.h"
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
// Of these tensors (positions in the registration).
[[nodiscard]] Reached reached_of(const InstanceRegistration& registration,
                                 std::span<const std::size_t> tensors);

// What drawing pieces anew came to.
struct Redraw {
  std::uint64_t drawn = 0;
  std::uint64_t pieces = 0;          // that tensors lie in and that can be exported
  std::vector<std::size_t> changed;  // tensors (as below) whose fresh pieces hold other bytes
};

// The chance that one replaced piece of `pieces` is among `drawn` different ones.
[[nodiscard]] double detection_probability(std::uint64_t drawn, std::uint64_t pieces);

struct CheckOptions {
  TreeParameters parameters{};
  unsigned slices = 1;  // parts of about equal bytes that recheck() can look at one by one
  std::stop_token stop{};
  ExportTime* exports = nullptr;  // of the pass that this is a part of; null: of its own
  bool tags = true;               // false: recheck() computes SHA-256 of everything
};

// Memory of one process after its full pass. Not thread-safe. Tensors are numbered as they were
// given to Checks::start(). Every call stops with cancelled when the owner wants its memory back or
// CheckOptions::stop is requested; then this object must go at once, because it holds that memory.
// Nobody reads or holds the memory any more when the destructor has returned.
class MemoryCheck {
 public:
  virtual ~MemoryCheck() = default;

  // Roots that the full pass found, by tensor.
  [[nodiscard]] virtual const std::vector<Digest>& roots() const = 0;
  [[nodiscard]] virtual const Reached& reached() const = 0;

  // Slices differ in how their bytes are reached, so there may be some more or fewer than asked
  // for.
  [[nodiscard]] virtual unsigned slices() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes_of(unsigned slice) const = 0;
  // Tensors of a slice whose bytes are not what the full pass read: by keyed tags where they are
  // wanted and the engine has them, else hashed again. After a change that tags found, this slice
  // cannot be looked at again (invalid-parameter): the next step is a full pass.
  [[nodiscard]] virtual Result<std::vector<std::size_t>> recheck(unsigned slice) = 0;

  // Draws min(count, pieces) pieces at random, imports fresh exports of them and compares the bytes
  // of tensors in them with those of the imports that are held: by tags under a new key where the
  // engine has them, else by digests. `exports` as in CheckOptions.
  [[nodiscard]] virtual Result<Redraw> redraw(std::uint64_t count, ExportTime* exports) = 0;
  [[nodiscard]] Result<Redraw> redraw(std::uint64_t count) { return redraw(count, nullptr); }

  // Digests of tensors at this span, hashed again from the memory that is held. Errors of hash().
  [[nodiscard]] virtual Result<std::vector<gpu_hash::ObjectDigests>> outline(
      std::span<const std::size_t> tensors, std::uint64_t span) = 0;

  // True when this object has to go: see above.
  [[nodiscard]] virtual bool is_over() const = 0;
};

// What makes checks. Thread-safe.
class Checks {
 public:
  virtual ~Checks() = default;

  // The full pass: has all pieces that these tensors (positions in the registration) lie in
  // imported, afresh, and hashed. Errors: device-not-found (the memory lies on a device that is not
  // used here), those of InstanceMemory::import(), hash_staged() and Engine::hash(); device-failed
  // too when what reads the memory has failed, whatever the reason.
  [[nodiscard]] virtual Result<std::unique_ptr<MemoryCheck>> start(std::shared_ptr<Owner> owner,
                                                                   std::vector<std::size_t> tensors,
                                                                   const CheckOptions& options) = 0;
};

}  // namespace assay::worker
