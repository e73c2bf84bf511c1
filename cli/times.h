// SPDX-License-Identifier: Apache-2.0
// Times as people type them.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::cli {

// The direction of a span such as "7d".
enum class Span : std::uint8_t { kAhead, kAgo };

// Parses RFC 3339, a date ("2027-01-31" means its start, UTC), or a span: minutes ("30m"), hours
// ("12h"), days ("90d"). Errors: usage.
[[nodiscard]] Result<Timestamp> read_time(const std::string& text, Timestamp now, Span span);

// Does the same for --since and --until, as the RFC 3339 time that the service takes. A text that
// is such a time, or empty, stays as it is.
[[nodiscard]] Result<std::string> past_time(const std::string& text, Timestamp now);

}  // namespace assay::cli
