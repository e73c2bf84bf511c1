// SPDX-License-Identifier: Apache-2.0
// The owner of a registration, which is the process that registered its memory, as seen by code
// that reads the memory. Protocol: docs/instances.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/instance.h"
#include "schemas/posix/descriptor.h"
#include "schemas/posix/frames.h"

namespace assay::worker {

// The process that registered, as the kernel identifies it.
struct Peer {
  std::int64_t pid = 0;
  std::uint32_t uid = 0;  // user id
  std::string pod;        // uid of the pod; empty: the process runs in none
  std::string container;  // id; empty: none
  bool operator==(const Peer&) const = default;
};

using Finding = InstanceFinding;
class HintsPage;

// A live registration. Thread-safe. Every call fails with cancelled once the connection has ended
// or the owner asked to release its memory.
//
// Code that holds a shared_ptr to an Owner may hold its memory. Therefore the frame `released` is
// sent only when no such pointer is left. Holders must release descriptors, imports and the pointer
// within 0.5 s of the stop of ended().
class Owner {
 public:
  virtual ~Owner() = default;

  [[nodiscard]] virtual const std::string& id() const = 0;  // UUIDv7 of the registration
  [[nodiscard]] virtual const Peer& peer() const = 0;
  [[nodiscard]] virtual const InstanceRegistration& registration() const = 0;
  // Returns the registration for code that needs it longer than the owner; it holds no memory of
  // the process.
  [[nodiscard]] virtual std::shared_ptr<const InstanceRegistration> keep_registration() const {
    return std::make_shared<const InstanceRegistration>(registration());
  }
  // A stop is requested when the connection has ended or the owner asked to release its memory.
  [[nodiscard]] virtual std::stop_token ended() const = 0;

  // Returns a fresh descriptor of each of `pieces`, in their order. The caller must pass 1 to
  // kMaxFrameDescriptors pieces, ascending, none of them staged; it owns the descriptors, which are
  // of the kind of their piece (foreign.h), and must check the rest. One call at a time reaches the
  // owner; other calls wait.
  // Errors: cancelled; file-unreadable when the owner answers wrongly, not in time, or says that it
  // cannot; invalid-parameter for other `pieces` than these, and when it sends another kind.
  [[nodiscard]] virtual Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) = 0;

  // Asks the owner to copy `size` bytes (at most kStagingWindow) of a staged piece to the start of
  // the window (memory shared with the owner), and then calls `use`. Nobody else uses the window
  // until `use` returns. Errors: those of export_pieces(); those of `use`.
  [[nodiscard]] virtual Status stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                                     const std::function<Status()>& use) = 0;
  // Returns the descriptor of the window's memory file, which this object owns. Returns -1 when no
  // piece is staged.
  [[nodiscard]] virtual int window() const = 0;
  // Copies bytes of a staged piece through the window into `out`. Errors: those of stage().
  [[nodiscard]] Status read_staged(std::uint64_t piece, std::uint64_t offset,
                                   std::span<std::uint8_t> out);

  // Returns true once the owner said that the storage of a tensor was replaced. It stays true: only
  // a new registration can be verified again.
  [[nodiscard]] virtual bool storage_changed() const { return false; }

  // The caller must call this before a check of all memory begins. The next tell() answers the
  // `verify` that the owner asked for before this call.
  virtual void begin_check() = 0;
  // Tells the owner what was found. Sends at most kMaxFrameFindings findings, and nothing when
  // neither state nor findings changed and no `verify` is open. Never waits for the owner.
  virtual void tell(InstanceState state, std::span<const Finding> findings) = 0;

  // Returns the page in which the owner says when it computes (hints.h); null when it shares none.
  // A caller that keeps this pointer must release it together with the pointer to the owner.
  [[nodiscard]] virtual std::shared_ptr<const HintsPage> hints() const { return nullptr; }
  // Answers the open `yield` (the owner pauses so that its memory can be checked), if there is one.
  // Says how many slices were checked since, and that another `yield` is useful only after the
  // given time. Never waits.
  virtual void yielded(std::uint64_t, std::chrono::milliseconds) {}
};

}  // namespace assay::worker
