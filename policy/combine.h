// SPDX-License-Identifier: Apache-2.0
// How outcomes combine: Kleene's three-valued logic, with `deferred` as a second kind of undecided.
// Pass is true, fail is false; a result is pass or fail only when it is that whatever the undecided
// parts would turn out to be, otherwise error if there is an error, else deferred.
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

// Of no parts: pass.
[[nodiscard]] Outcome combine_all(const OutcomeCounts& counts);
// Of no parts: fail.
[[nodiscard]] Outcome combine_any(const OutcomeCounts& counts);
[[nodiscard]] Outcome combine_at_least(std::size_t needed, const OutcomeCounts& counts);
[[nodiscard]] Outcome negate(Outcome outcome);

}  // namespace assay::policy
