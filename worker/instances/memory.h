// SPDX-License-Identifier: Apache-2.0
// The memory of one process, as this node agent reaches it: imported by the device's driver, mapped
// from memory files, or copied by its owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/instance.h"
#include "schemas/posix/descriptor.h"
#include "worker/instances/owner.h"
#include "worker/pace.h"

namespace assay::worker {

// A read-only mapping of another process's memory file.
class HostMapping {
 public:
  // Checks what kind of descriptor it is before it touches the memory: shared memory without huge
  // pages, sealed against shrinking and growing, of at least `size` bytes, none of them a hole.
  // Reading anything else could end this process or let it pay for the pages. invalid-parameter;
  // limit-exceeded when the system maps no more.
  [[nodiscard]] static Result<std::shared_ptr<const HostMapping>> map(const Descriptor& fd,
                                                                      std::uint64_t size);
  ~HostMapping();
  HostMapping(const HostMapping&) = delete;
  HostMapping& operator=(const HostMapping&) = delete;
  [[nodiscard]] ByteView bytes() const { return bytes_; }

 private:
  explicit HostMapping(ByteView bytes) : bytes_(bytes) {}
  ByteView bytes_;
};
// The check alone.
[[nodiscard]] Status check_memory_file(const Descriptor& fd, std::uint64_t size);

// The engine that reads the memory of this registration: the one of its device, else `engine`.
// device-not-found when that device is none of `engine`'s.
[[nodiscard]] Result<gpu_hash::Engine*> engine_for(gpu_hash::Engine& engine,
                                                   const InstanceRegistration& registration);

// How bytes are reached.
enum class Reach : std::uint8_t {
  kResident,  // imported into the engine's device, and hashed where they lie
  kMapped,    // mapped, and hashed where they lie or streamed to the device
  kStaged,    // copied by their owner
};
[[nodiscard]] Reach reach_of(const gpu_hash::Engine& engine, PieceKind kind);
// Of all parts. invalid-parameter when they lie in pieces of several kinds. A tensor without bytes
// counts as mapped.
[[nodiscard]] Result<Reach> reach_of(const gpu_hash::Engine& engine,
                                     const InstanceRegistration& registration,
                                     std::span<const InstancePart> parts);

using Now = std::function<Steady::time_point()>;

// The time that the exports of one pass over an instance may take, those of all its processes on
// one device together: while an owner is waited for, nobody looks at its memory. Not thread-safe.
class ExportTime {
 public:
  static constexpr std::chrono::milliseconds kOfAPass{5'000};
  static constexpr std::chrono::milliseconds kOfABatch{50};

  explicit ExportTime(Now now = &Steady::now) : now_(std::move(now)) {}
  // Asks the owner for one batch. Errors: of Owner::export_pieces(); file-unreadable when the time
  // was used up before, or is now.
  [[nodiscard]] Result<std::vector<Descriptor>> take(Owner& owner,
                                                     std::span<const std::uint64_t> pieces);

 private:
  Now now_;
  Steady::duration left_ = kOfAPass;
};

// Pieces of a registration while they are imported. Lets go of all of them when it is destroyed;
// must not outlive the engine.
class InstanceMemory {
 public:
  // Asks the owner for fresh descriptors of these pieces (ascending), some at a time, imports them
  // and closes the descriptors; never are more than kMaxFrameDescriptors open. Staged pieces are
  // left out. Errors: of ExportTime::take(); invalid-parameter (a descriptor of another kind or a
  // size that is a lie), device-failed, cancelled.
  [[nodiscard]] static Result<InstanceMemory> import(Owner& owner, gpu_hash::Engine& engine,
                                                     std::span<const std::uint64_t> pieces,
                                                     const std::stop_token& stop,
                                                     ExportTime& exports);

  // The bytes of these parts as one object. Their pieces must have been imported, and must be
  // reached in one way.
  [[nodiscard]] gpu_hash::Region region(std::span<const InstancePart> parts) const;
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }

 private:
  using Piece = std::variant<std::shared_ptr<const gpu_hash::DeviceMemory>,
                             std::shared_ptr<const HostMapping>>;
  InstanceMemory() = default;
  [[nodiscard]] static Result<Piece> take(gpu_hash::Engine& engine, Descriptor fd,
                                          const InstancePiece& piece);

  std::map<std::uint64_t, Piece> pieces_;  // by position in the registration
};

}  // namespace assay::worker
