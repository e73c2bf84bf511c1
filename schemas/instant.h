// SPDX-License-Identifier: Apache-2.0
// Points in time as foreign documents write them: RFC 3339 with any offset and up to nine digits of
// a second. What Assay writes itself is read by parse_rfc3339() (schemas/core/clock.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "schemas/core/clock.h"

namespace assay {

// A point in time in UTC. Members compare in order, so instants do.
struct Instant {
  std::int64_t seconds = 0;      // since 1970-01-01T00:00:00Z
  std::int32_t nanoseconds = 0;  // 0 to 999,999,999
  auto operator<=>(const Instant&) const = default;
};

// Parses RFC 3339 section 5.6: offsets "Z" and "+hh:mm", 'T' and 'Z' in either case, a fraction of
// one to nine digits. Refuses leap seconds, a longer fraction, and years outside of 1970 to 9999.
// Errors: invalid-time.
[[nodiscard]] Result<Instant> parse_instant(std::string_view text);

[[nodiscard]] Instant instant_of(Timestamp time);

// Returns the last millisecond that is not after `instant`.
[[nodiscard]] Timestamp floor_of(const Instant& instant);

}  // namespace assay
