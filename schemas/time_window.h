// SPDX-License-Identifier: Apache-2.0
// A window of time, in UTC: the condition `window` of policies. Schema: policy.schema.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay {

// Open when all parts are. Each part includes its begin and excludes its end.
struct TimeWindow {
  std::array<bool, 7> days{};      // from Monday; none: every day
  std::uint32_t from_minute = 0;   // of the day
  std::uint32_t to_minute = 1440;  // of the day; above from_minute
  std::optional<Timestamp> not_before{};
  std::optional<Timestamp> not_after{};

  bool operator==(const TimeWindow&) const = default;
};

[[nodiscard]] bool is_open(const TimeWindow& window, Timestamp now);
// Returns the first instant after `now` at which is_open() changes; nullopt when it never does.
[[nodiscard]] std::optional<Timestamp> next_change(const TimeWindow& window, Timestamp now);

[[nodiscard]] Json to_json(const TimeWindow& window);
// Parses a window whose shape the schema has checked. Errors: policy-invalid for a window that is
// never open; invalid-time.
[[nodiscard]] Result<TimeWindow> read_json(json::As<TimeWindow> type, const Json& json);

}  // namespace assay
