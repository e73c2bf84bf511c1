// SPDX-License-Identifier: Apache-2.0
// What the lineage conditions of policies came to on one lineage (policy/lineage_results.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "policy/lineage_results.h"

namespace assay::server {

// Keeps results for one lineage, and forgets those first that were not used for the longest time.
// Thread-safe.
class KeptResults final : public policy::LineageResults {
 public:
  // Limit on the bytes of all results with their conditions, as bytes() counts them. A result that
  // alone has more is not kept.
  static constexpr std::size_t kMaxBytes = 1 << 20;

  explicit KeptResults(std::shared_ptr<const policy::Lineage> lineage)
      : lineage_(std::move(lineage)) {}

  [[nodiscard]] std::shared_ptr<const ConditionResult> find(const policy::LineageQuestion& question,
                                                            Timestamp now) const override;
  void keep(const policy::LineageQuestion& question, const policy::Horizon& horizon,
            const ConditionResult& result) const override;

  // Returns about how much memory the results take: twice their text.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Kept {
    std::uint64_t hash;  // equal for equal questions
    LineageCondition condition;
    std::vector<std::string> names;  // ascending
    std::vector<SignerRequirement> demands;
    policy::Horizon horizon;
    std::shared_ptr<const ConditionResult> result;
    std::size_t bytes;
  };
  [[nodiscard]] static bool is_about(const Kept& kept, const policy::LineageQuestion& question,
                                     std::uint64_t hash);
  void drop(std::list<Kept>::iterator kept) const;

  std::shared_ptr<const policy::Lineage> lineage_;
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  // newest use first
  mutable std::size_t bytes_ = 0;
};

}  // namespace assay::server
