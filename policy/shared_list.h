// SPDX-License-Identifier: Apache-2.0
// A list whose copies share the same items until one copy is changed. Facts of thousands of
// statements are collected once and judged by many decisions without a copy. Every non-const access
// copies a shared list first, so callers should read through a const list.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace assay::policy {

template <typename T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = typename std::vector<T>::iterator;

  SharedList() = default;
  SharedList(std::vector<T> items)  // NOLINT(google-explicit-constructor): it stands for a vector
      : items_(std::make_shared<std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}
  SharedList& operator=(std::initializer_list<T> items) {
    *this = SharedList(std::vector<T>(items));
    return *this;
  }

  [[nodiscard]] const std::vector<T>& read() const {
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }
  // Returns the items for changing. Copies the items first when the list is shared.
  [[nodiscard]] std::vector<T>& change() {
    if (!items_) {
      items_ = std::make_shared<std::vector<T>>();
    } else if (items_.use_count() > 1) {
      items_ = std::make_shared<std::vector<T>>(*items_);
    }
    return *items_;
  }

  // Returns a pointer to the items. Unchanged copies of one list return the same pointer; other
  // lists never do. Null for a list that never had items or was cleared. While the caller holds the
  // pointer, changes to the list are made in a copy of the items.
  [[nodiscard]] std::shared_ptr<const std::vector<T>> shared() const { return items_; }

  [[nodiscard]] std::size_t size() const { return read().size(); }
  [[nodiscard]] bool empty() const { return read().empty(); }
  [[nodiscard]] const_iterator begin() const { return read().begin(); }
  [[nodiscard]] const_iterator end() const { return read().end(); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return read()[i]; }
  [[nodiscard]] const T& front() const { return read().front(); }
  [[nodiscard]] const T& back() const { return read().back(); }

  [[nodiscard]] iterator begin() { return change().begin(); }
  [[nodiscard]] iterator end() { return change().end(); }
  [[nodiscard]] T& operator[](std::size_t i) { return change()[i]; }
  [[nodiscard]] T& front() { return change().front(); }
  [[nodiscard]] T& back() { return change().back(); }
  void push_back(T item) { change().push_back(std::move(item)); }
  void pop_back() { change().pop_back(); }
  void clear() { items_.reset(); }
  void resize(std::size_t size) { change().resize(size); }
  iterator erase(const_iterator at) { return change().erase(at); }
  iterator erase(const_iterator from, const_iterator to) { return change().erase(from, to); }

 private:
  std::shared_ptr<std::vector<T>> items_;
};

}  // namespace assay::policy
