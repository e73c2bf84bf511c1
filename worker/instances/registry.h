// SPDX-License-Identifier: Apache-2.0
// The live registrations of memory (docs/instances.md), and the watchers that are told when one
// comes or goes. An Owner (owner.h) is the process of a registration.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/instances/instances.h"
#include "worker/instances/owner.h"
#include "worker/instances/refusals.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

// Receives what happens to registrations. The threads of connections call these functions, in order
// for each owner. Implementations must not wait, because an owner's frames are not read during a
// call.
class InstanceWatcher {
 public:
  virtual ~InstanceWatcher() = default;
  // A registration is complete.
  virtual void came(const std::shared_ptr<Owner>& owner) = 0;
  // The owner wants all its memory checked now. The watcher must call Owner::begin_check() before
  // the check and Owner::tell() after it.
  virtual void asked(const std::shared_ptr<Owner>& owner) = 0;
  // The owner itself saw that the storage of these tensors was replaced
  // (Owner::storage_changed() is true). The registration is violated until it ends, whatever a
  // check finds. Called once for each registration.
  virtual void changed(const std::shared_ptr<Owner>& owner,
                       std::span<const std::string> tensors) = 0;
  // The owner says that this is a good moment for checks that are due, and waits. The watcher that
  // watches the instance must call Owner::yielded() before `max` has passed.
  virtual void yields(const std::shared_ptr<Owner>&, std::chrono::milliseconds) {}
  // The connection has ended, or the owner asked to release its memory. The watcher must release
  // its pointer to the owner and all of the owner's memory within 0.5 s. A stop of Owner::ended()
  // was requested for the same reason.
  virtual void gone(const Owner& owner) = 0;
  // A registration was refused. Not called for each one of a pod that is refused again and again
  // (refusals.h).
  virtual void refused(const Refusal&) {}
};

// Thread-safe.
class Registry final : public Instances {
 public:
  // Adds a watcher, which must outlive the registry. The caller must add all watchers before the
  // first connection.
  void watch(InstanceWatcher& watcher) { watchers_.push_back(&watcher); }

  // Reserves (pod, instance, rank) for one connection, from its frame `register` to its end. The
  // registry must outlive the claim.
  class Claim {
   public:
    using Key = std::tuple<std::string, std::string, std::uint64_t>;
    Claim(Registry& registry, Key key) : registry_(&registry), key_(std::move(key)) {}
    ~Claim();
    Claim(Claim&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), key_(std::move(other.key_)) {}
    Claim& operator=(Claim&&) = delete;
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    Registry* registry_;
    Key key_;
  };
  // Waits until no other connection has the same (pod, instance, rank): a process that takes the
  // place of one that ended is often faster than the news of that end. Returns nullopt at `end`.
  [[nodiscard]] std::optional<Claim> claim(const std::string& pod, const std::string& instance,
                                           std::uint64_t rank, Steady::time_point end);

  // Makes the registration visible to find() and all(). The caller must hold the owner's claim
  // until remove().
  void add(const std::shared_ptr<Owner>& owner);
  // Tells the watchers that the registration came.
  void announce(const std::shared_ptr<Owner>& owner);
  // Forgets the registration, then tells the watchers that it is gone.
  void remove(const Owner& owner);
  // Tell the watchers what the owner asked for or saw, with asked(), changed() and yields().
  void ask(const std::shared_ptr<Owner>& owner);
  void change(const std::shared_ptr<Owner>& owner, std::span<const std::string> tensors);
  void yield(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max);

  // Keeps the refusal for refused(), and tells the watchers.
  void refuse(const Refusal& refusal, Steady::time_point now = Steady::now());

  [[nodiscard]] std::vector<std::shared_ptr<Owner>> find(std::string_view pod,
                                                         std::string_view instance) override;
  [[nodiscard]] std::optional<Refusal> refused(std::string_view pod,
                                               std::string_view instance) override;
  // Returns all live registrations, sorted by pod, instance and rank.
  [[nodiscard]] std::vector<std::shared_ptr<Owner>> all() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable freed_;  // a claim has ended
  std::vector<InstanceWatcher*> watchers_;
  Refusals refusals_;
  // Null: claimed, but not yet registered.
  std::map<Claim::Key, std::shared_ptr<Owner>> owners_;
};

// Returns true when these registrations, sorted by rank, are all the ranks of one instance with the
// same artifact.
[[nodiscard]] bool is_whole(std::span<const std::shared_ptr<Owner>> owners);

}  // namespace assay::worker
