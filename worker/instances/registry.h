// SPDX-License-Identifier: Apache-2.0
// Which registrations are alive, and who wants to know.
#pragma once

#include <chrono>
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

namespace assay::worker {

// Follows registrations. Calls come from the threads of connections, in order for each owner, and
// must not wait: an owner's frames are not read meanwhile.
class InstanceWatcher {
 public:
  virtual ~InstanceWatcher() = default;
  // A registration is complete.
  virtual void came(const std::shared_ptr<Owner>& owner) = 0;
  // The owner wants everything checked now: a check that calls begin_check() and then tell().
  virtual void asked(const std::shared_ptr<Owner>& owner) = 0;
  // The owner itself saw that the storage of these tensors was replaced: the registration is
  // violated, whatever was found before.
  virtual void changed(const std::shared_ptr<Owner>& owner,
                       std::span<const std::string> tensors) = 0;
  // This is a good moment for what is due, and the owner waits: one that watches the instance calls
  // Owner::yielded() before `max` has passed.
  virtual void yields(const std::shared_ptr<Owner>&, std::chrono::milliseconds) {}
  // The connection has ended, or the owner asked to release its memory: let go of the pointer and
  // of all memory within 0.5 s. Owner::ended() says the same.
  virtual void gone(const Owner& owner) = 0;
};

// Thread-safe.
class Registry final : public Instances {
 public:
  // Adds a watcher, which outlives the registry. Before the first connection.
  void watch(InstanceWatcher& watcher) { watchers_.push_back(&watcher); }

  // (pod, instance, rank) of one connection, from its frame `register` to its end. Outlived by the
  // registry.
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
  // Returns nullopt while another connection has the same (pod, instance, rank).
  [[nodiscard]] std::optional<Claim> claim(const std::string& pod, const std::string& instance,
                                           std::uint64_t rank);

  // Makes the registration known. The owner's claim is held until remove().
  void add(const std::shared_ptr<Owner>& owner);
  // Tells the watchers of it.
  void announce(const std::shared_ptr<Owner>& owner);
  // Forgets the registration, then tells the watchers.
  void remove(const Owner& owner);
  // Pass on what the owner says.
  void ask(const std::shared_ptr<Owner>& owner);
  void change(const std::shared_ptr<Owner>& owner, std::span<const std::string> tensors);
  void yield(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max);

  [[nodiscard]] std::vector<std::shared_ptr<Owner>> find(std::string_view pod,
                                                         std::string_view instance) override;
  // All live registrations, by pod, instance and rank.
  [[nodiscard]] std::vector<std::shared_ptr<Owner>> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<InstanceWatcher*> watchers_;
  // Null: claimed, but not yet registered.
  std::map<Claim::Key, std::shared_ptr<Owner>> owners_;
};

// True when these registrations, sorted by rank, are all ranks of one world under one artifact.
[[nodiscard]] bool is_whole(std::span<const std::shared_ptr<Owner>> owners);

}  // namespace assay::worker
