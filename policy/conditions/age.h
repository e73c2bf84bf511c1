// SPDX-License-Identifier: Apache-2.0
// Computes how old a fact (policy/facts.h) is, and whether the fact is too old. Internal to policy.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/core/clock.h"

namespace assay::policy {

// Returns the whole seconds from `then` to `now`; 0 when `then` is later.
[[nodiscard]] std::uint64_t age_seconds(Timestamp then, Timestamp now);
// Returns true when more than `max_age_seconds` lie between `then` and `now`, compared in
// milliseconds. Returns false when `then` is later than `now`; the caller must detect such a time
// separately.
[[nodiscard]] bool is_older(Timestamp then, std::uint64_t max_age_seconds, Timestamp now);
// Returns false from `until` on. Returns true without `until`: nothing ends.
[[nodiscard]] bool is_valid(const std::optional<Timestamp>& until, Timestamp now);

}  // namespace assay::policy
