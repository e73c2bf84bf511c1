// SPDX-License-Identifier: Apache-2.0
#include "schemas/time_window.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "schemas/core/json_object.h"

namespace assay {
namespace {

using std::chrono::days;
using std::chrono::minutes;

constexpr std::uint32_t kMinutesOfDay = 1440;
constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

std::chrono::sys_days day_of(Timestamp time) { return std::chrono::floor<days>(time); }

bool is_day(const TimeWindow& window, std::chrono::sys_days day) {
  const bool all =
      std::none_of(window.days.begin(), window.days.end(), [](bool one) { return one; });
  return all || window.days.at(std::chrono::weekday(day).iso_encoding() - 1);
}

// "HH:MM", as the schema has checked.
std::uint32_t minute_of(std::string_view text) {
  const auto digit = [&](std::size_t i) { return static_cast<std::uint32_t>(text.at(i) - '0'); };
  return (digit(0) * 10 + digit(1)) * 60 + digit(3) * 10 + digit(4);
}

std::string text_of(std::uint32_t minute) {
  const auto two = [](std::uint32_t value) {
    return std::string(value < 10 ? "0" : "") + std::to_string(value);
  };
  return two(minute / 60) + ":" + two(minute % 60);
}

// "HH:MM", whose form the schema says.
constexpr auto kMinute = json::spelled(
    text_of, [](std::string_view text) -> Result<std::uint32_t> { return minute_of(text); });

Result<std::array<bool, kDays.size()>> days_from(const Json& json) {
  ASSAY_ASSIGN(const auto names, json::get<std::vector<std::string>>(json));
  std::array<bool, kDays.size()> listed{};
  for (const std::string& name : names) {
    const auto* const found = std::ranges::find(kDays, name);
    if (found == kDays.end()) {
      return fail(ErrorCode::kSchemaViolation, "days are mon, tue, wed, thu, fri, sat and sun");
    }
    listed.at(static_cast<std::size_t>(found - kDays.begin())) = true;
  }
  return listed;
}

Json days_json(const std::array<bool, kDays.size()>& listed) {
  Json json = Json::array();
  for (std::size_t i = 0; i < kDays.size(); ++i) {
    if (listed.at(i)) {
      json.push_back(kDays.at(i));
    }
  }
  return json;
}

}  // namespace

bool is_open(const TimeWindow& window, Timestamp now) {
  const auto day = day_of(now);
  const auto into_day = now - Timestamp(day);
  return is_day(window, day) && into_day >= minutes(window.from_minute) &&
         into_day < minutes(window.to_minute) &&
         (!window.not_before || now >= *window.not_before) &&
         (!window.not_after || now < *window.not_after);
}

std::optional<Timestamp> next_change(const TimeWindow& window, Timestamp now) {
  std::vector<Timestamp> changes;
  for (const auto& bound : {window.not_before, window.not_after}) {
    if (bound) {
      changes.push_back(*bound);
    }
  }
  // Until not_before nothing changes, and from then on a week has all changes that there are.
  const Timestamp start = std::max(now, window.not_before.value_or(now));
  constexpr int kDaysToLookAt = 8;
  for (int i = 0; i <= kDaysToLookAt; ++i) {
    const Timestamp day(day_of(start) + days(i));
    changes.push_back(day);
    changes.push_back(day + minutes(window.from_minute));
    changes.push_back(day + minutes(window.to_minute));
  }
  std::sort(changes.begin(), changes.end());
  const bool open = is_open(window, now);
  const auto found = std::find_if(changes.begin(), changes.end(), [&](Timestamp time) {
    return time > now && is_open(window, time) != open;
  });
  return found == changes.end() ? std::nullopt : std::optional(*found);
}

static auto members_of(json::As<TimeWindow>) {
  using T = TimeWindow;
  return std::tuple(json::if_set("days", &T::days, json::by(days_from, days_json)),
                    json::or_default("from", &T::from_minute, kMinute),
                    json::or_default("to", &T::to_minute, kMinute),
                    json::if_set("not_before", &T::not_before),
                    json::if_set("not_after", &T::not_after));
}
static Status together(const TimeWindow& window) {
  if (window.to_minute > kMinutesOfDay || window.from_minute >= window.to_minute) {
    return fail(ErrorCode::kPolicyInvalid, "a window opens before it closes, from 00:00 to 24:00",
                "/to");
  }
  if (window.not_before && window.not_after && *window.not_before >= *window.not_after) {
    return fail(ErrorCode::kPolicyInvalid, "a window opens before it closes", "/not_after");
  }
  return {};
}
Json to_json(const TimeWindow& window) { return json::write(window); }
Result<TimeWindow> read_json(json::As<TimeWindow> /*type*/, const Json& json) {
  return json::read<TimeWindow>(json);
}

}  // namespace assay
