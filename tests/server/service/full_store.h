// SPDX-License-Identifier: Apache-2.0
// A store whose disk may be full.
#pragma once

#include <functional>
#include <memory>

#include "storage/store.h"

namespace assay::server::test {

class FullStore final : public storage::Store {
 public:
  explicit FullStore(storage::Store& inner) : inner_(inner) {}
  Result<std::unique_ptr<storage::Snapshot>> snapshot() override { return inner_.snapshot(); }
  Result<storage::LogState> write(
      const std::function<Status(storage::Transaction&)>& work) override {
    ++writes;
    if (full && writes > spared) {
      return fail(ErrorCode::kStorage, "the disk is full");
    }
    return inner_.write(work);
  }
  [[nodiscard]] bool healthy() const override { return !full; }

  bool full = false;
  std::size_t spared = 0;  // while full, this many of all writes pass first
  std::size_t writes = 0;

 private:
  storage::Store& inner_;
};

}  // namespace assay::server::test
