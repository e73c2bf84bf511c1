// SPDX-License-Identifier: Apache-2.0
// Finds the policies that match a workload among thousands, without looking at each of them. Every
// policy is filed under one thing that it demands of every workload: an exact namespace, a label,
// the beginning of its namespaces, or an exact resource. A lookup reads only what is filed under
// the workload's own properties, and what demands none of them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/evaluate.h"

namespace assay::policy {

// From this number of policies on, an index is worth its cost: evaluation looks at each of fewer.
inline constexpr std::size_t kIndexPoliciesFrom = 64;

class MatchIndex {
 public:
  // `policies` must not be null.
  explicit MatchIndex(std::shared_ptr<const std::vector<ActivePolicy>> policies);

  // Returns, ascending, the positions of policies that may match the workload at some point. Each
  // policy for which matches() is true is among them.
  [[nodiscard]] std::vector<std::size_t> candidates(const Workload& workload) const;
  // Returns copies of the policies that match the workload at `point`, in order. evaluate() gives
  // the same verdict about these as about all policies: a policy that does not match contributes
  // nothing, at this point or at an earlier one.
  [[nodiscard]] std::vector<ActivePolicy> matching(const Workload& workload,
                                                   DecisionPoint point) const;

 private:
  using Positions = std::vector<std::size_t>;
  using ByText = std::map<std::string, Positions, std::less<>>;

  void file(std::size_t position, const WorkloadMatch& match);

  std::shared_ptr<const std::vector<ActivePolicy>> policies_;
  ByText by_namespace_;
  ByText by_label_;  // "key=value"; no key of a label contains '='
  ByText by_prefix_;
  std::set<std::size_t> prefix_lengths_;
  ByText by_resource_;
  Positions others_;
};

}  // namespace assay::policy
