// SPDX-License-Identifier: Apache-2.0
// What a caller of evaluate() lends to the judgement of lineage conditions: results from earlier
// evaluations, and how long it waits. Judging a lineage of 10,000 nodes takes tens of milliseconds,
// and the lineage is the same for every workload with the model.
#pragma once

#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "policy/horizon.h"
#include "policy/lineage.h"
#include "schemas/decision.h"
#include "schemas/lineage_condition.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// What a result depends on, beside the time. Borrows.
struct LineageQuestion {
  const Lineage& lineage;  // the object: two lineages with equal statements are two
  const LineageCondition& condition;
  const std::set<std::string_view>& names;   // of the artifact, that the policy believes
  std::vector<SignerRequirement> demands{};  // of the policy's manifest conditions, in their order
};

// Implementations may be called by several threads.
class LineageResults {
 public:
  LineageResults() = default;
  LineageResults(const LineageResults&) = delete;
  LineageResults& operator=(const LineageResults&) = delete;
  virtual ~LineageResults() = default;

  // Returns a result that was kept for the same lineage and an equal condition and names, and that
  // holds at `now`; null when there is none.
  [[nodiscard]] virtual std::shared_ptr<const ConditionResult> find(const LineageQuestion& question,
                                                                    Timestamp now) const = 0;
  // Keeps a result, or does not. It holds from horizon.now until before horizon.until.
  virtual void keep(const LineageQuestion& question, const Horizon& horizon,
                    const ConditionResult& result) const = 0;
  // Returns whether somebody still waits for the result. Looked at again and again while a lineage
  // is judged. Once it was false, the result is an error, condition-undecided, that is not kept;
  // and the caller must not use the verdict, which says nothing of the case.
  [[nodiscard]] virtual bool in_time() const { return true; }
};

}  // namespace assay::policy
