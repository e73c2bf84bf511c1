// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/combine.h"

namespace assay::policy {

OutcomeCounts count(std::span<const ConditionResult> parts) {
  OutcomeCounts counts;
  for (const ConditionResult& part : parts) {
    switch (part.outcome) {
      case Outcome::kPass:
        ++counts.pass;
        break;
      case Outcome::kFail:
        ++counts.fail;
        break;
      case Outcome::kDeferred:
        ++counts.deferred;
        break;
      case Outcome::kError:
        ++counts.error;
        break;
    }
  }
  return counts;
}

Outcome combine_all(const OutcomeCounts& counts) {
  return combine_at_least(counts.pass + counts.fail + counts.error + counts.deferred, counts);
}

Outcome combine_any(const OutcomeCounts& counts) { return combine_at_least(1, counts); }

Outcome combine_at_least(std::size_t needed, const OutcomeCounts& counts) {
  if (counts.pass >= needed) {
    return Outcome::kPass;
  }
  if (counts.pass + counts.error + counts.deferred < needed) {
    return Outcome::kFail;
  }
  return counts.error > 0 ? Outcome::kError : Outcome::kDeferred;
}

Outcome negate(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return Outcome::kFail;
    case Outcome::kFail:
      return Outcome::kPass;
    case Outcome::kDeferred:
      return Outcome::kDeferred;
    case Outcome::kError:
      break;
  }
  return Outcome::kError;
}

}  // namespace assay::policy
