// SPDX-License-Identifier: Apache-2.0
// A map with a limit on the total weight of its values. The least recently used values go first.
// Thread-safe.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace assay {

template <typename Key, typename Value>
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}

  // Returns the value of `key` and marks it as used. Returns nullopt when `key` has no value.
  [[nodiscard]] std::optional<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) {
      return std::nullopt;
    }
    items_.splice(items_.begin(), items_, it->second);
    return it->second->value;
  }

  // Stores `value`, replacing the value of `key`. A value heavier than the whole capacity is not
  // stored.
  void put(const Key& key, Value value, std::size_t weight = 1) {
    const std::lock_guard lock(mutex_);
    if (const auto it = by_key_.find(key); it != by_key_.end()) {
      drop(it->second);
    }
    if (weight > capacity_) {
      return;
    }
    while (weight_ + weight > capacity_) {
      drop(std::prev(items_.end()));
    }
    items_.push_front({key, std::move(value), weight});
    by_key_.emplace(key, items_.begin());
    weight_ += weight;
  }

  // Weighs the value of `key` again, if it has one: `weight_of` returns its weight. Values
  // beyond the capacity then go as in put(), this one last.
  template <typename WeightOf>
  void weigh(const Key& key, const WeightOf& weight_of) {
    const std::lock_guard lock(mutex_);
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) {
      return;
    }
    items_.splice(items_.begin(), items_, it->second);
    Item& item = items_.front();
    weight_ -= item.weight;
    item.weight = weight_of(std::as_const(item.value));
    weight_ += item.weight;
    while (weight_ > capacity_) {
      drop(std::prev(items_.end()));
    }
  }

  [[nodiscard]] std::size_t weight() const {
    const std::lock_guard lock(mutex_);
    return weight_;
  }

 private:
  struct Item {
    Key key;
    Value value;
    std::size_t weight;
  };

  void drop(typename std::list<Item>::iterator item) {
    weight_ -= item->weight;
    by_key_.erase(item->key);
    items_.erase(item);
  }

  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Item> items_;  // newest use first
  std::unordered_map<Key, typename std::list<Item>::iterator> by_key_;
  std::size_t weight_ = 0;
};

}  // namespace assay
