// SPDX-License-Identifier: Apache-2.0
// The interface for checks of the memory of one process of a model instance. The memory may be read
// by this process or by another one (worker/reader). Pieces are allocations (schemas/instance.h).
#pragma once

#include <chrono>
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

// Least number of pieces that one random draw chooses; all pieces when there are fewer.
inline constexpr std::uint64_t kRedrawnPieces = 16;

// How many bytes a full pass read where they lie (`in_place`), and how many from a copy that their
// process made (`staged`). `staged_causes` says why they had to be copied.
struct Reached {
  std::uint64_t in_place = 0;                // bytes
  std::uint64_t staged = 0;                  // bytes
  std::vector<std::string> staged_causes{};  // ascending, each once
};
// Returns how the bytes of these tensors (positions in the registration) are reached.
[[nodiscard]] Reached reached_of(const InstanceRegistration& registration,
                                 std::span<const std::size_t> tensors);

// Where the time of a full pass went, by the clock of the process that made it.
struct PassTimes {
  std::chrono::microseconds exports{};  // waiting for descriptors of the owner
  std::chrono::microseconds imports{};  // importing or mapping these
  std::chrono::microseconds hashing{};  // of all bytes, with tags where there are any
  bool operator==(const PassTimes&) const = default;
};

// The result of MemoryCheck::redraw(), which compares randomly drawn pieces with fresh exports.
struct Redraw {
  std::uint64_t drawn = 0;
  std::uint64_t pieces = 0;          // from which were drawn: exportable, with checked tensors
  std::vector<std::size_t> changed;  // tensors (numbers as in MemoryCheck) with other bytes
};

// The result of MemoryCheck::look().
struct Looked {
  std::vector<std::size_t> changed;  // tensors of the slices, ascending
  Redraw redraw{};
};

// Returns the probability (0 to 1) that a draw of `drawn` different pieces out of `pieces` contains
// one particular piece, such as the only one that was replaced.
[[nodiscard]] double detection_probability(std::uint64_t drawn, std::uint64_t pieces);

struct CheckOptions {
  TreeParameters parameters{};
  unsigned slices = 1;  // parts of about equal size that recheck() can check one by one
  std::stop_token stop{};
  ExportTime* exports = nullptr;  // shared time limit (memory.h); null: a limit of its own
  bool tags = true;               // false: recheck() hashes with SHA-256 instead
};

// Memory of one process after its full pass. Not thread-safe. Tensors are numbered by their
// positions in the list that Checks::start() received. Every call fails with cancelled when the
// owner wants its memory back or CheckOptions::stop is requested. The caller must then destroy this
// object at once, because it holds that memory. After the destructor has returned, nobody reads or
// holds the memory on behalf of this check.
class MemoryCheck {
 public:
  virtual ~MemoryCheck() = default;

  // Returns the Merkle roots that the full pass found, by tensor.
  [[nodiscard]] virtual const std::vector<Digest>& roots() const = 0;
  [[nodiscard]] virtual const Reached& reached() const = 0;
  // Returns the engine that hashed.
  [[nodiscard]] virtual const gpu_hash::EngineInfo& engine() const = 0;
  [[nodiscard]] virtual const PassTimes& times() const = 0;

  // Returns the number of slices (parts that recheck() checks one by one). It may differ somewhat
  // from CheckOptions::slices, because all bytes of one slice are reached in the same way (Reach in
  // memory.h).
  [[nodiscard]] virtual unsigned slices() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes_of(unsigned slice) const = 0;
  // Finds the tensors of these slices (each named once) whose bytes differ from what the full pass
  // read, and with a `count` also does redraw() of so many pieces. Compares keyed tags when
  // CheckOptions::tags is true and the engine supports them; else hashes again. All of it is one
  // piece of work for the device where it compares tags of slices that follow each other: each time
  // that the device turns to this process costs its other users time beyond the work itself. When
  // tensors of the slices changed, nothing may have been redrawn. After tags have found a change,
  // further calls fail with invalid-parameter, and the caller must make a new full pass.
  [[nodiscard]] virtual Result<Looked> look(std::span<const unsigned> slices, std::uint64_t count,
                                            ExportTime* exports) = 0;
  [[nodiscard]] Result<Looked> look(unsigned slice, std::uint64_t count, ExportTime* exports) {
    return look({&slice, 1}, count, exports);
  }
  // Returns the tensors of a slice that changed, as look() finds them.
  [[nodiscard]] Result<std::vector<std::size_t>> recheck(unsigned slice) {
    ASSAY_ASSIGN(Looked looked, look(slice, 0, nullptr));
    return std::move(looked.changed);
  }

  // Draws min(count, Redraw::pieces) pieces at random and imports fresh exports of them. They are
  // held until the next redraw(), which the device is then needed for the shortest time.
  // `exports` is as in CheckOptions.
  [[nodiscard]] virtual Status draw(std::uint64_t count, ExportTime* exports) = 0;
  // Compares the tensor bytes in the pieces that draw() imported, or, without a draw() of `count`
  // before it, draws now, with the bytes in the imports of the full pass. Compares tags under a new
  // key when the engine supports them, else digests. Lets go of the drawn pieces.
  [[nodiscard]] virtual Result<Redraw> redraw(std::uint64_t count, ExportTime* exports) = 0;
  [[nodiscard]] Result<Redraw> redraw(std::uint64_t count) { return redraw(count, nullptr); }

  // Hashes these tensors again, from the memory that is held. Returns for each of them its root and
  // one digest for every `span` bytes (its outline). Errors: those of Engine::hash().
  [[nodiscard]] virtual Result<std::vector<gpu_hash::ObjectDigests>> outline(
      std::span<const std::size_t> tensors, std::uint64_t span) = 0;

  // Returns true when the caller must destroy this object (see the comment of the class).
  [[nodiscard]] virtual bool is_over() const = 0;
};

// Starts checks. Thread-safe.
class Checks {
 public:
  virtual ~Checks() = default;

  // Makes the full pass: asks `owner` for fresh exports of all pieces that contain these tensors
  // (positions in the registration), imports them, and hashes the tensors. Errors: device-not-found
  // when the memory lies on a device that is not used here; device-failed also when the process
  // that reads the memory has failed for any reason; those of InstanceMemory::import(),
  // hash_staged() and Engine::hash().
  [[nodiscard]] virtual Result<std::unique_ptr<MemoryCheck>> start(std::shared_ptr<Owner> owner,
                                                                   std::vector<std::size_t> tensors,
                                                                   const CheckOptions& options) = 0;
};

}  // namespace assay::worker
