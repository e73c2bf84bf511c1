// SPDX-License-Identifier: Apache-2.0
// Combines outcomes by Kleene's three-valued logic: pass is true, fail is false. `error` and
// `deferred` are two kinds of undecided. A result is pass or fail only when no value of the
// undecided parts could change the result. Otherwise the result is error when a part is an error,
// else deferred.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/decision.h"

namespace assay::policy {

struct OutcomeCounts {
  std::size_t pass = 0;
  std::size_t fail = 0;
  std::size_t error = 0;
  std::size_t deferred = 0;
};

[[nodiscard]] OutcomeCounts count(std::span<const ConditionResult> parts);

// Returns pass when there are no parts.
[[nodiscard]] Outcome combine_all(const OutcomeCounts& counts);
// Returns fail when there are no parts.
[[nodiscard]] Outcome combine_any(const OutcomeCounts& counts);
[[nodiscard]] Outcome combine_at_least(std::size_t needed, const OutcomeCounts& counts);
[[nodiscard]] Outcome negate(Outcome outcome);

}  // namespace assay::policy
