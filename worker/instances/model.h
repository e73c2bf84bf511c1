// SPDX-License-Identifier: Apache-2.0
// Compares a model instance, in the memory of all its processes, with one manifest. worker/model.h
// does the same for files. docs/instances.md explains the words instance, owner, piece and staged.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "schemas/manifest.h"
#include "schemas/verification_report.h"
#include "worker/instances/checks.h"
#include "worker/instances/device_bytes.h"
#include "worker/instances/match.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Thread-safe; calls wait for each other. As soon as one of the processes ends or asks for its
// memory, running work is stopped and all memory is released. After that recheck() and redraw()
// fail with cancelled, outline() fails with not-found, and hash() covers no tensor.
//
// hash() and redraw() read the memory of processes on different devices at the same time, with one
// thread for each device. Processes on the same device take turns and share one ExportTime; so do
// the processes that registered only memory of the host.
class InstanceModel {
 public:
  // The caller must pass `owners` sorted by rank, as Instances::find() returns them. `driver` is
  // asked how many bytes of devices the processes hold; when it is null, MemoryFacts::device_bytes
  // is absent. `checks` and `driver` must outlive this object. `by_rank` says that `manifest` has
  // the tensors of a layout (match_tensors()).
  InstanceModel(std::vector<std::shared_ptr<Owner>> owners, const ArtifactId& artifact,
                const Manifest& manifest, Checks& checks, Now now = &Steady::now,
                DeviceDriver* driver = nullptr, bool by_rank = false);
  ~InstanceModel();
  InstanceModel(const InstanceModel&) = delete;
  InstanceModel& operator=(const InstanceModel&) = delete;

  struct Hashed {
    std::vector<Entry> entries;  // tensor entries, in the order of artifacts
    std::vector<NotCovered> not_covered;
    MemoryFacts memory;
    std::uint64_t bytes = 0;  // that were read, including tensors in `not_covered`
  };
  // Makes a full pass: imports and hashes all pieces afresh. Then draws kRedrawnPieces random
  // pieces of each process and compares them with fresh exports; tensors in pieces that differ
  // become not covered (file-changed). When the memory of one process cannot be read, or not within
  // ExportTime, the tensors of this process become not covered; so do those of a process that said
  // that its storage was replaced (file-changed). `slices` and `tags` set how
  // recheck() works: the number of its slices, and whether it compares keyed tags (true) or SHA-256
  // digests (false).
  // Errors: cancelled when `stop` is requested; device-failed and other errors of this machine
  // rather than of this memory, of which the owners are told with the state unknown. Before an
  // error is returned, all memory is released.
  [[nodiscard]] Result<Hashed> hash(unsigned slices, const std::stop_token& stop, bool tags = true);

  // Returns what hash() does when nothing can be hashed, for this reason.
  [[nodiscard]] Hashed nothing_covered(const Error& why) const;

  // Hashes the entries at these positions again, from the imports of hash(), and returns their
  // outlines (one digest for each `span` bytes). Errors: not-found when hash() did not hash one of
  // the entries.
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(
      const std::vector<std::uint64_t>& entries, std::uint64_t span, const std::stop_token& stop);

  // Returns the number of slices of all processes together; 0 before hash(). Each slice belongs to
  // one process.
  [[nodiscard]] unsigned slices();
  struct Look {
    std::vector<Finding> findings;  // kChanged, for each tensor that changed since hash()
    bool replaced = false;          // true: they are of pieces that differ from fresh exports
  };
  // Looks at these slices, those of each process in one call (MemoryCheck::look()), and with a
  // `count` also does redraw() of so many pieces of each process. What is found changed is returned
  // even when the memory of another process could not be read. Errors: invalid-parameter for a
  // slice that there is not; those of MemoryCheck::look().
  [[nodiscard]] Result<Look> look(std::span<const unsigned> slices, std::uint64_t count);
  // Returns a finding kChanged for each tensor of a slice that changed since hash(). Errors: those
  // of MemoryCheck::recheck().
  [[nodiscard]] Result<std::vector<Finding>> recheck(unsigned slice);
  // Draws `count` random pieces of each process for the next redraw(). Errors: those of
  // MemoryCheck::draw().
  [[nodiscard]] Status draw(std::uint64_t count);
  // Compares `count` random pieces of each process with fresh exports: those of draw(), if it was
  // called before. Returns a finding kChanged for each tensor in a piece that differs. Errors:
  // those of MemoryCheck::redraw().
  [[nodiscard]] Result<std::vector<Finding>> redraw(std::uint64_t count);

  // Returns the differences between registered and expected tensors: missing, extra, mismatch.
  [[nodiscard]] const std::vector<Finding>& findings() const { return match_.findings; }
  // Calls Owner::begin_check() of all owners: the next tell() answers the `verify` that they asked
  // for before.
  void begin_check();
  // Tells all owners this result (Owner::tell()).
  void tell(InstanceState state, std::span<const Finding> findings);
  // Returns the artifact of the manifest with which the memory is compared.
  [[nodiscard]] const Artifact& artifact() const { return artifact_; }
  // Returns true when one of its processes said that its storage was replaced
  // (Owner::storage_changed()).
  [[nodiscard]] bool storage_changed() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(ranks_, has_changed_storage);
  }
  // Returns the number of processes of the instance.
  [[nodiscard]] std::size_t processes() const { return ranks_.size(); }
  // Releases all memory now.
  void release();
  // Returns a token whose stop is requested when the memory was released or is about to be.
  [[nodiscard]] std::stop_token over() const { return stop_.get_token(); }

 private:
  // One process, and the check that holds its memory.
  struct Rank {
    std::shared_ptr<const InstanceRegistration> registration;
    Peer peer;
    std::shared_ptr<Owner> owner;        // null: released
    std::vector<std::size_t> matched{};  // positions in match_.tensors
    std::unique_ptr<MemoryCheck> check{};
    Redraw redrawn{};              // result of the last redraw()
    std::optional<Error> error{};  // why its memory was not read completely
  };
  // The processes whose memory lies on one device, or in the host alone.
  struct Lane {
    ExportTime exports;
    std::vector<Rank*> ranks{};
  };
  struct Wake {
    InstanceModel& model;
    void operator()() const { model.stop_.request_stop(); }
  };
  struct Place {
    Rank* rank;
    std::size_t tensor;  // number in the rank's check
  };

  void keep();                                                            // body of keeper_
  void drop();                                                            // with mutex_ held
  void tell_all(InstanceState state, std::span<const Finding> findings);  // with mutex_ held
  [[nodiscard]] std::vector<Lane> lanes();
  using Work = std::function<void(Rank& rank, ExportTime& exports)>;
  // Does `work` for each process; different lanes run at the same time. An exception of `work`
  // becomes the error of its process (Rank::error).
  static void at_once(std::vector<Lane>& lanes, const Work& work);
  static void do_lane(Lane& lane, const Work& work);
  // Threads may call this for different ranks at the same time, each with an ExportTime of its own.
  void hash_rank(Rank& rank, unsigned slices, ExportTime& exports);
  static void redraw_rank(Rank& rank, std::uint64_t count, ExportTime& exports);
  // Adds the figures of the last redraw() of each process to `facts`. Returns the positions in
  // match_.tensors of the tensors that changed.
  [[nodiscard]] std::set<std::size_t> add_redrawn(MemoryFacts& facts) const;
  [[nodiscard]] static bool has_changed_storage(const Rank& rank) {
    return rank.owner != nullptr && rank.owner->storage_changed();
  }
  void add_registered(MemoryFacts& facts) const;
  void add_reached(MemoryFacts& facts) const;
  static void add_reader(const Rank& rank, MemoryFacts& facts);
  void add_device_bytes(MemoryFacts& facts) const;
  [[nodiscard]] Hashed gather() const;
  [[nodiscard]] Finding changed(const Rank& rank, std::size_t tensor) const;
  [[nodiscard]] const InstanceTensor& tensor_of(const Rank& rank, std::size_t matched) const;
  [[nodiscard]] std::optional<Place> place_of(std::uint64_t entry);
  [[nodiscard]] Status outline_some(const std::vector<std::uint64_t>& entries, std::uint64_t span,
                                    std::size_t& at, std::vector<OutlineSubmission::Item>& items);
  // The slices of each process by its own numbers, for those that these slices are of. Errors:
  // invalid-parameter.
  using Shares = std::map<const Rank*, std::vector<unsigned>>;
  [[nodiscard]] Result<Shares> shares_of(std::span<const unsigned> slices) const;
  // Returns the tensors of the slices that changed; sets Rank::redrawn and Rank::error.
  [[nodiscard]] static std::vector<std::size_t> look_rank(Rank& rank,
                                                          std::span<const unsigned> slices,
                                                          std::uint64_t count, ExportTime& exports);
  [[nodiscard]] Result<std::vector<Finding>> redrawn_findings() const;
  // Errors: cancelled when the memory of a process was let go, or is about to be.
  [[nodiscard]] Status check_held() const;

  Artifact artifact_;
  bool tags_ = true;  // of the last hash()
  Checks& checks_;
  Now now_;
  DeviceDriver* driver_;
  std::vector<Rank> ranks_;  // owners and checks in it are guarded by mutex_
  Status ranks_fit_;
  TensorMatch match_;

  std::mutex mutex_;
  std::condition_variable_any idle_;  // keeper_ waits on it until stop_ is requested
  std::stop_source stop_;
  std::vector<std::unique_ptr<std::stop_callback<Wake>>> wakes_;  // by rank
  std::jthread keeper_;                                           // releases memory when idle
};

}  // namespace assay::worker
