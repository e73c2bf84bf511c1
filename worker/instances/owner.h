// SPDX-License-Identifier: Apache-2.0
// The process at the other end of a registration, as those see it who read its memory.
// Protocol: docs/instances.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
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

// What checking a registration came to. kVerified and kViolated are findings about the bytes;
// kUnknown says that they could not be read.
enum class InstanceState : std::uint8_t { kPending, kVerified, kViolated, kUnknown };
[[nodiscard]] std::string_view name(InstanceState state);  // "pending", "verified", ...

struct Finding {
  enum class Kind : std::uint8_t { kMissing, kExtra, kMismatch, kChanged, kError };
  Kind kind;
  std::string tensor;  // name; empty when no single tensor is meant
  std::string detail;  // for people
  bool operator==(const Finding&) const = default;
};
[[nodiscard]] std::string_view name(Finding::Kind kind);  // "missing", "extra", ...

// A live registration. Thread-safe. Every call fails with cancelled once the connection has ended
// or the owner asked to release its memory.
class Owner {
 public:
  virtual ~Owner() = default;

  [[nodiscard]] virtual const std::string& id() const = 0;  // UUIDv7 of the registration
  [[nodiscard]] virtual const Peer& peer() const = 0;
  [[nodiscard]] virtual const InstanceRegistration& registration() const = 0;

  // Stop is requested when the memory has to be let go: its owner asked for that, registered other
  // weights, or the connection ended.
  [[nodiscard]] virtual std::stop_token release_token() const = 0;
  // Says that descriptors or imports of the registration are held, as long as the result lives:
  // the owner is told "released" only when no hold is left. Errors: cancelled.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> hold() = 0;

  // Fresh descriptors of these pieces (ascending, at most kMaxFrameDescriptors, none staged), in
  // order; the caller owns them. Errors: cancelled, file-unreadable (the owner answers wrongly, not
  // in time, or says that it cannot).
  [[nodiscard]] virtual Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) = 0;

  // Copies bytes of a staged piece through the window, at most kStagingWindow at once.
  // Errors: as export_pieces().
  [[nodiscard]] virtual Status read_staged(std::uint64_t piece, std::uint64_t offset,
                                           std::span<std::uint8_t> out) = 0;

  // Tells the owner what was found. Never waits.
  virtual void tell(InstanceState state, std::span<const Finding> findings) = 0;
};

}  // namespace assay::worker
