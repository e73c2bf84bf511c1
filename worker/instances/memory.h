// SPDX-License-Identifier: Apache-2.0
// The memory of one process (its owner), as this node agent reaches it: imported by the device's
// driver, mapped from memory files, or copied by the owner.
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
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

// A read-only mapping of another process's memory file.
class HostMapping {
 public:
  // Maps all `size` bytes. Before that, check_memory_file() checks the descriptor, because
  // reading another kind of file could kill this process. The caller must have made check_holes():
  // reading a hole makes a page of it, which the kernel charges to this process.
  // Errors: those of check_memory_file(); limit-exceeded when the system allows no further mapping.
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
// Checks that `fd` is shared memory without huge pages, of exactly `size` bytes, that its owner
// can neither shrink nor grow nor punch holes into, whatever the owner does later (the seals
// F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_FUTURE_WRITE). Never waits. Errors: invalid-parameter.
[[nodiscard]] Status check_memory_file(const Descriptor& fd, std::uint64_t size);
// Checks that the first `size` bytes of a file that passed check_memory_file() have no hole. None
// can come later. Waits while the owner keeps the file locked, such as in write() from memory that
// does not come: only the thread of the connection may call it (foreign.h). Takes some 8 ms for
// each GiB. Errors: invalid-parameter.
[[nodiscard]] Status check_holes(const Descriptor& fd, std::uint64_t size);

// Returns the engine that reads the memory of this registration (schemas/instance.h): that of the
// registration's device, or `engine` when the registration names no device. Errors:
// device-not-found when `engine` does not use that device.
[[nodiscard]] Result<gpu_hash::Engine*> engine_for(gpu_hash::Engine& engine,
                                                   const InstanceRegistration& registration);

// How the agent reaches bytes.
enum class Reach : std::uint8_t {
  kResident,  // the engine imports the memory and hashes it where it lies
  kMapped,    // the agent maps the memory; the engine hashes it there or copies it to the device
  kStaged,    // the owner copies the bytes
};
[[nodiscard]] Reach reach_of(const gpu_hash::Engine& engine, PieceKind kind);
// Returns how all `parts` are reached; kMapped when there are none. Errors: invalid-parameter when
// they lie in pieces that are reached in different ways.
[[nodiscard]] Result<Reach> reach_of(const gpu_hash::Engine& engine,
                                     const InstanceRegistration& registration,
                                     std::span<const InstancePart> parts);

using Now = std::function<Steady::time_point()>;

// Limits the time that all exports of one pass over an instance may take: kOfAPass for all its
// processes on one device together, plus kOfABatch for each batch. The limit exists because no
// memory is checked while the agent waits for an owner. Not thread-safe.
class ExportTime {
 public:
  static constexpr std::chrono::milliseconds kOfAPass{5'000};
  static constexpr std::chrono::milliseconds kOfABatch{50};

  explicit ExportTime(Now now = &Steady::now) : now_(std::move(now)) {}
  // Asks the owner for one batch of descriptors. Errors: those of Owner::export_pieces();
  // file-unreadable when the time is used up before or after this export.
  [[nodiscard]] Result<std::vector<Descriptor>> take(Owner& owner,
                                                     std::span<const std::uint64_t> pieces);

 private:
  Now now_;
  Steady::duration left_ = kOfAPass;
};

// Imported pieces of a registration. The destructor releases all of them. Must not outlive the
// engine.
class InstanceMemory {
 public:
  // Asks the owner for fresh descriptors of these pieces (ascending), at most kMaxFrameDescriptors
  // at a time, and imports the pieces. The device's driver keeps the descriptor of each device
  // piece open until the piece is released; descriptors of host pieces are closed. Staged pieces,
  // which have no descriptor, are left out. Errors: those of ExportTime::take(); invalid-parameter
  // for a descriptor whose kind or size differs from the registration, or that the driver refuses;
  // limit-exceeded when the system allows no further mapping, or when this process may open fewer
  // files than there are device pieces; cancelled.
  [[nodiscard]] static Result<InstanceMemory> import(Owner& owner, gpu_hash::Engine& engine,
                                                     std::span<const std::uint64_t> pieces,
                                                     const std::stop_token& stop,
                                                     ExportTime& exports);

  // Returns the bytes of these parts as one object. The caller must pass only parts of imported
  // pieces that are all reached in the same way (Reach).
  [[nodiscard]] gpu_hash::Region region(std::span<const InstancePart> parts) const;
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }
  // Return how long import() waited for the owner, and how long the imports took.
  [[nodiscard]] Steady::duration exporting() const { return exporting_; }
  [[nodiscard]] Steady::duration importing() const { return importing_; }

 private:
  using Piece = std::variant<std::shared_ptr<const gpu_hash::DeviceMemory>,
                             std::shared_ptr<const HostMapping>>;
  InstanceMemory() = default;
  [[nodiscard]] static Result<Piece> take(gpu_hash::Engine& engine, Descriptor fd,
                                          const InstancePiece& piece);

  std::map<std::uint64_t, Piece> pieces_;  // by position in the registration
  Steady::duration exporting_{};
  Steady::duration importing_{};
};

}  // namespace assay::worker
