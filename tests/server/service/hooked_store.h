// SPDX-License-Identifier: Apache-2.0
// A store to which something happens between reading and writing.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "storage/store.h"

namespace assay::server::test {

// Passes everything on, and runs `before_write` in front of each write.
class StoreWithHook final : public storage::Store {
 public:
  StoreWithHook(storage::Store& store, std::function<void()> before_write)
      : store_(store), before_write_(std::move(before_write)) {}
  Result<std::unique_ptr<storage::Snapshot>> snapshot() override { return store_.snapshot(); }
  Result<storage::LogState> write(
      const std::function<Status(storage::Transaction&)>& work) override {
    before_write_();
    return store_.write(work);
  }
  [[nodiscard]] bool healthy() const override { return store_.healthy(); }

 private:
  storage::Store& store_;
  std::function<void()> before_write_;
};

}  // namespace assay::server::test
