// SPDX-License-Identifier: Apache-2.0
// Time is passed as a parameter. Only main functions own a SystemClock. All other code is given
// `now` or a Clock, and reads a Clock once for each request.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

// UTC in milliseconds: the resolution of every time that is stored or signed.
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;

// Returns RFC 3339 text, always "YYYY-MM-DDTHH:MM:SS.mmmZ". `time` must lie in the years 1970 to
// 9999.
[[nodiscard]] std::string to_rfc3339(Timestamp time);
// Parses RFC 3339 in UTC ("Z" only). An optional fraction is cut to milliseconds. Refuses leap
// seconds, and years outside of 1970 to 9999. Errors: invalid-time.
[[nodiscard]] Result<Timestamp> parse_rfc3339(std::string_view text);

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Timestamp now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override;
};

}  // namespace assay
