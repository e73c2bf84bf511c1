// SPDX-License-Identifier: Apache-2.0
// The process at the other end of a registration, as those see it who read its memory.
// Protocol: docs/instances.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/instance.h"
#include "schemas/posix/descriptor.h"

namespace assay::worker {

// Who presents the memory, as the kernel says.
struct Peer {
  std::int64_t pid = 0;
  std::uint32_t uid = 0;  // user id
  std::string pod;        // uid of the pod; empty: the process runs in none
  std::string container;  // id; empty: none
  bool operator==(const Peer&) const = default;
};

using Finding = InstanceFinding;

// A live registration. Thread-safe. Every call fails with cancelled once the connection has ended
// or the owner asked to release its memory.
//
// Whoever holds a shared_ptr to an Owner may hold its memory. Therefore `released` is sent only
// when no such pointer is left: let go of descriptors, imports and the pointer within 0.5 s of
// ended().
class Owner {
 public:
  virtual ~Owner() = default;

  [[nodiscard]] virtual const std::string& id() const = 0;  // UUIDv7 of the registration
  [[nodiscard]] virtual const Peer& peer() const = 0;
  [[nodiscard]] virtual const InstanceRegistration& registration() const = 0;
  // Stop is requested when the connection has ended, or the owner asked to release its memory.
  [[nodiscard]] virtual std::stop_token ended() const = 0;

  // Returns fresh descriptors of these pieces (ascending, at most kMaxFrameDescriptors, none
  // staged), in their order; the caller owns them, and checks what they are. One call at a time
  // reaches the owner; others wait.
  // Errors: cancelled; file-unreadable (the owner answers wrongly, not in time, or says that it
  // cannot); invalid-parameter for pieces that are not of this kind.
  [[nodiscard]] virtual Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) = 0;

  // Has the owner copy bytes of a staged piece to the begin of the window, at most kStagingWindow
  // at once, and calls `use` while they are there: nobody else uses the window meanwhile. Errors:
  // as export_pieces(); those of `use`.
  [[nodiscard]] virtual Status stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                                     const std::function<Status()>& use) = 0;
  // The memory file of the window; the number stays this object's. -1 when no piece is staged.
  [[nodiscard]] virtual int window() const = 0;
  // Copies bytes of a staged piece through the window. Errors: of stage().
  [[nodiscard]] Status read_staged(std::uint64_t piece, std::uint64_t offset,
                                   std::span<std::uint8_t> out);

  // Says that a check of everything begins: what is told next answers a `verify` that the owner
  // asked for before this call.
  virtual void begin_check() = 0;
  // Tells the owner what was found; the first 16 findings travel. Never waits.
  virtual void tell(InstanceState state, std::span<const Finding> findings) = 0;
};

}  // namespace assay::worker
