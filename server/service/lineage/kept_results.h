// SPDX-License-Identifier: Apache-2.0
// What the lineage conditions of policies came to on one lineage (policy/lineage_results.h).
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "policy/lineage_results.h"

namespace assay::server {

// Keeps the newest kMaxKept results for one lineage. Thread-safe.
class KeptResults final : public policy::LineageResults {
 public:
  static constexpr std::size_t kMaxKept = 4;
  // Limit on the bytes of a condition. A result of a longer condition is not kept.
  static constexpr std::size_t kMaxBytes = 4096;

  explicit KeptResults(std::shared_ptr<const policy::Lineage> lineage)
      : lineage_(std::move(lineage)) {}

  [[nodiscard]] std::shared_ptr<const ConditionResult> find(const policy::LineageQuestion& question,
                                                            Timestamp now) const override;
  void keep(const policy::LineageQuestion& question, const policy::Horizon& horizon,
            const ConditionResult& result) const override;

 private:
  struct Kept {
    LineageCondition condition;
    std::vector<std::string> names;  // ascending
    std::vector<SignerRequirement> demands;
    policy::Horizon horizon;
    std::shared_ptr<const ConditionResult> result;
  };
  [[nodiscard]] static bool is_about(const Kept& kept, const policy::LineageQuestion& question);

  std::shared_ptr<const policy::Lineage> lineage_;
  mutable std::mutex mutex_;
  mutable std::deque<Kept> kept_;  // oldest first
};

}  // namespace assay::server
