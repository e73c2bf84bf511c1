// SPDX-License-Identifier: Apache-2.0
// A model instance as it lies in memory: all its processes, held against one manifest. What
// worker/model.h is for files.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/manifest.h"
#include "schemas/verification_report.h"
#include "worker/instances/checks.h"
#include "worker/instances/match.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Thread-safe; calls wait for each other. Lets go of all memory, whatever it does at the time, as
// soon as one of the processes asks for it or is gone: every later call fails with cancelled.
class InstanceModel {
 public:
  // `owners` by rank, as Instances::find() gives them. `checks` outlives this.
  InstanceModel(std::vector<std::shared_ptr<Owner>> owners, const ArtifactId& artifact,
                const Manifest& manifest, Checks& checks, Now now = &Steady::now);
  ~InstanceModel();
  InstanceModel(const InstanceModel&) = delete;
  InstanceModel& operator=(const InstanceModel&) = delete;

  struct Hashed {
    std::vector<Entry> entries;  // tensor entries, in the order of artifacts
    std::vector<NotCovered> not_covered;
    MemoryFacts memory;
    std::uint64_t bytes = 0;
  };
  // The full pass over fresh imports; then kRedrawnPieces of each process are drawn and compared,
  // and tensors in those that changed are not covered (file-changed). What one process keeps us
  // from reading, or not within ExportTime, leaves its tensors not covered. `slices` is for
  // recheck(). Errors: cancelled when `stop` is requested; device-failed and other errors that are
  // not about this memory, of which the owners are told (unknown) before their memory is let go.
  [[nodiscard]] Result<Hashed> hash(unsigned slices, const std::stop_token& stop);

  // Digests at `span` of the entries at these positions, hashed again from the same imports.
  // not-found when one of them was not hashed.
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(
      const std::vector<std::uint64_t>& entries, std::uint64_t span, const std::stop_token& stop);

  // After hash(). A slice is one of one process.
  [[nodiscard]] unsigned slices();
  // What changed in a slice since hash(): kChanged, by tensor. Errors of MemoryCheck.
  [[nodiscard]] Result<std::vector<Finding>> recheck(unsigned slice);
  // Draws pieces of each process anew: kChanged for the tensors in those that hold other bytes.
  [[nodiscard]] Result<std::vector<Finding>> redraw(std::uint64_t count);

  // How registered and expected tensors fit together: missing, extra, mismatch.
  [[nodiscard]] const std::vector<Finding>& findings() const { return match_.findings; }
  // Tells all owners that what they are told next answers what they asked before.
  void begin_check();
  // Tells all owners.
  void tell(InstanceState state, std::span<const Finding> findings);
  // Whose memory was read.
  [[nodiscard]] std::size_t processes() const { return ranks_.size(); }
  // Lets go of all memory now.
  void release();
  // Requested when the memory was let go or is about to be.
  [[nodiscard]] std::stop_token over() const { return stop_.get_token(); }

 private:
  // What is held of one process.
  struct Rank {
    InstanceRegistration registration;
    Peer peer;
    std::shared_ptr<Owner> owner;        // null: let go
    std::vector<std::size_t> matched{};  // positions in match_.tensors
    std::unique_ptr<MemoryCheck> check{};
    std::optional<Error> error{};  // why it was not read to the end
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
  // Safe to call for several ranks at once, each with an ExportTime of its own.
  void hash_rank(Rank& rank, unsigned slices, ExportTime& exports);
  // The facts of processes that were read; the numbers in match_.tensors of tensors that changed.
  [[nodiscard]] std::set<std::size_t> redraw_all(MemoryFacts& facts, ExportTime& exports);
  void add_registered(MemoryFacts& facts) const;
  void add_reached(MemoryFacts& facts) const;
  [[nodiscard]] Hashed gather(ExportTime& exports);
  [[nodiscard]] Hashed nothing_covered(const Error& why) const;
  [[nodiscard]] Finding changed(const Rank& rank, std::size_t tensor) const;
  [[nodiscard]] const InstanceTensor& tensor_of(const Rank& rank, std::size_t matched) const;
  [[nodiscard]] std::optional<Place> place_of(std::uint64_t entry);

  Artifact artifact_;
  Checks& checks_;
  Now now_;
  std::vector<Rank> ranks_;  // owners and checks in it are guarded by mutex_
  Status ranks_fit_;
  TensorMatch match_;

  std::mutex mutex_;
  std::condition_variable_any idle_;  // keeper_ waits with it, for stop_
  std::stop_source stop_;
  std::vector<std::unique_ptr<std::stop_callback<Wake>>> wakes_;  // by rank
  std::jthread keeper_;                                           // lets go when nobody else runs
};

}  // namespace assay::worker
