// SPDX-License-Identifier: Apache-2.0
// A model instance as it lies in memory: all its processes, held against one manifest. What
// worker/model.h is for files.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/random.h"
#include "schemas/manifest.h"
#include "schemas/verification_report.h"
#include "worker/instances/check.h"
#include "worker/instances/device_bytes.h"
#include "worker/instances/match.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Thread-safe; calls wait for each other. Lets go of all memory, whatever it does at the time, as
// soon as one of the processes asks for it or is gone: every later call fails with cancelled.
//
// hash() and redraw() read processes on different devices at once, with one thread for each device
// that the engine has. Processes on one device, and those with memory of the host alone, take turns
// and share one ExportTime.
class InstanceModel {
 public:
  // `owners` by rank, as Instances::find() gives them. `driver` says how many bytes of devices the
  // processes hold; null: that is not known. `engine`, `random` and `driver` outlive this.
  InstanceModel(std::vector<std::shared_ptr<Owner>> owners, const ArtifactId& artifact,
                const Manifest& manifest, gpu_hash::Engine& engine, Random& random,
                Now now = &Steady::now, DeviceDriver* driver = nullptr);
  ~InstanceModel();
  InstanceModel(const InstanceModel&) = delete;
  InstanceModel& operator=(const InstanceModel&) = delete;

  struct Hashed {
    std::vector<Entry> entries;  // tensor entries, in the order of artifacts
    std::vector<NotCovered> not_covered;
    MemoryFacts memory;
    std::uint64_t bytes = 0;  // that were read, also those that are not covered for all that
  };
  // The full pass over fresh imports; then kRedrawnPieces of each process are drawn and compared,
  // and tensors in those that changed are not covered (file-changed). What one process keeps us
  // from reading, or not within ExportTime, leaves its tensors not covered. `slices` is for
  // recheck(). Errors: cancelled when `stop` is requested, those of the engine that are not about
  // this memory.
  [[nodiscard]] Result<Hashed> hash(unsigned slices, const std::stop_token& stop);

  // Digests at `span` of the entries at these positions, hashed again from the same imports.
  // not-found when one of them was not hashed.
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(
      const std::vector<std::uint64_t>& entries, std::uint64_t span, const std::stop_token& stop);

  // After hash(). A slice is one of one process.
  [[nodiscard]] unsigned slices();
  // What changed in a slice since hash(): kChanged, by tensor. Errors of InstanceCheck.
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
    std::unique_ptr<InstanceCheck> check{};
    Redraw redrawn{};              // the last one
    std::optional<Error> error{};  // why it was not read to the end
  };
  // The processes that one engine reads.
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

  void keep();  // body of keeper_
  void drop();  // with mutex_ held
  [[nodiscard]] std::vector<Lane> lanes();
  using Work = std::function<void(Rank& rank, ExportTime& exports)>;
  // Does `work` for each process, lanes at once. What `work` throws is the error of that process.
  static void at_once(std::vector<Lane>& lanes, const Work& work);
  static void do_lane(Lane& lane, const Work& work);
  void hash_rank(Rank& rank, unsigned slices, ExportTime& exports);
  static void redraw_rank(Rank& rank, std::uint64_t count, ExportTime& exports);
  // The facts of processes that were drawn from; the numbers in match_.tensors of tensors that
  // changed.
  [[nodiscard]] std::set<std::size_t> add_redrawn(MemoryFacts& facts) const;
  void add_registered(MemoryFacts& facts) const;
  void add_reached(MemoryFacts& facts) const;
  void add_device_bytes(MemoryFacts& facts) const;
  [[nodiscard]] Hashed gather() const;
  [[nodiscard]] Hashed nothing_covered(const Error& why) const;
  [[nodiscard]] Finding changed(const Rank& rank, std::size_t tensor) const;
  [[nodiscard]] const InstanceTensor& tensor_of(const Rank& rank, std::size_t matched) const;
  [[nodiscard]] std::optional<Place> place_of(std::uint64_t entry);

  Artifact artifact_;
  gpu_hash::Engine& engine_;
  Random& random_;
  Now now_;
  DeviceDriver* driver_;
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
