// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/registry.h"

namespace assay::worker {
namespace {

Registry::Claim::Key key_of(const Owner& owner) {
  return {owner.peer().pod, owner.registration().instance, owner.registration().rank};
}

}  // namespace

Registry::Claim::~Claim() {
  if (registry_ != nullptr) {
    const std::lock_guard lock(registry_->mutex_);
    registry_->owners_.erase(key_);
    registry_->freed_.notify_all();
  }
}

std::optional<Registry::Claim> Registry::claim(const std::string& pod, const std::string& instance,
                                               std::uint64_t rank, Steady::time_point end) {
  Claim::Key key{pod, instance, rank};
  std::unique_lock lock(mutex_);
  if (!freed_.wait_until(lock, end, [&] { return owners_.try_emplace(key).second; })) {
    return std::nullopt;
  }
  return std::optional<Claim>(std::in_place, *this, std::move(key));
}

void Registry::add(const std::shared_ptr<Owner>& owner) {
  refusals_.forget(owner->peer().pod, owner->registration().instance);
  const std::lock_guard lock(mutex_);
  owners_[key_of(*owner)] = owner;
}

void Registry::announce(const std::shared_ptr<Owner>& owner) {
  for (InstanceWatcher* const watcher : watchers_) {
    watcher->came(owner);
  }
}

void Registry::remove(const Owner& owner) {
  std::shared_ptr<Owner> last;  // goes outside of the lock
  {
    const std::lock_guard lock(mutex_);
    const auto found = owners_.find(key_of(owner));
    if (found != owners_.end()) {
      last.swap(found->second);
    }
  }
  for (InstanceWatcher* const watcher : watchers_) {
    watcher->gone(owner);
  }
}

void Registry::ask(const std::shared_ptr<Owner>& owner) {
  for (InstanceWatcher* const watcher : watchers_) {
    watcher->asked(owner);
  }
}

void Registry::change(const std::shared_ptr<Owner>& owner, std::span<const std::string> tensors) {
  for (InstanceWatcher* const watcher : watchers_) {
    watcher->changed(owner, tensors);
  }
}

void Registry::yield(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max) {
  for (InstanceWatcher* const watcher : watchers_) {
    watcher->yields(owner, max);
  }
}

void Registry::refuse(const Refusal& refusal, Steady::time_point now) {
  if (!refusals_.note(refusal, now)) {
    return;
  }
  for (InstanceWatcher* const watcher : watchers_) {
    watcher->refused(refusal);
  }
}

std::optional<Refusal> Registry::refused(std::string_view pod, std::string_view instance) {
  return refusals_.last(pod, instance);
}

std::vector<std::shared_ptr<Owner>> Registry::find(std::string_view pod,
                                                   std::string_view instance) {
  std::vector<std::shared_ptr<Owner>> found;
  const std::lock_guard lock(mutex_);
  for (auto at = owners_.lower_bound({std::string(pod), std::string(instance), 0});
       at != owners_.end() && std::get<0>(at->first) == pod && std::get<1>(at->first) == instance;
       ++at) {
    if (at->second != nullptr) {
      found.push_back(at->second);
    }
  }
  return found;
}

std::vector<std::shared_ptr<Owner>> Registry::all() const {
  std::vector<std::shared_ptr<Owner>> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, owner] : owners_) {
    if (owner != nullptr) {
      found.push_back(owner);
    }
  }
  return found;
}

bool is_whole(std::span<const std::shared_ptr<Owner>> owners) {
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const InstanceRegistration& own = owners[i]->registration();
    if (own.rank != i || own.world != owners.size() ||
        own.artifact != owners.front()->registration().artifact) {
      return false;
    }
  }
  return !owners.empty();
}

}  // namespace assay::worker
