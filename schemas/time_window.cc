// SPDX-License-Identifier: Apache-2.0
#include "schemas/time_window.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "schemas/members.h"

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
std::uint32_t minute_of(const std::string& text) {
  const auto digit = [&](std::size_t i) { return static_cast<std::uint32_t>(text.at(i) - '0'); };
  return (digit(0) * 10 + digit(1)) * 60 + digit(3) * 10 + digit(4);
}

std::string text_of(std::uint32_t minute) {
  const auto two = [](std::uint32_t value) {
    return std::string(value < 10 ? "0" : "") + std::to_string(value);
  };
  return two(minute / 60) + ":" + two(minute % 60);
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

Result<TimeWindow> time_window_from_json(const Json& json, const std::string& place) {
  TimeWindow window;
  for (const std::string& day : members::texts(json, "days")) {
    const auto found = std::find(kDays.begin(), kDays.end(), day);
    window.days.at(static_cast<std::size_t>(found - kDays.begin())) = true;
  }
  if (json.contains("from")) {
    window.from_minute = minute_of(members::text(json, "from"));
  }
  if (json.contains("to")) {
    window.to_minute = minute_of(members::text(json, "to"));
  }
  for (const auto& [member, bound] :
       {std::pair{"not_before", &window.not_before}, std::pair{"not_after", &window.not_after}}) {
    if (json.contains(member)) {
      auto time = members::time(json, member);
      if (!time) {
        return members::under(place, std::move(time).error());
      }
      *bound = *time;
    }
  }
  if (window.to_minute > kMinutesOfDay || window.from_minute >= window.to_minute) {
    return fail(ErrorCode::kPolicyInvalid, "a window opens before it closes, from 00:00 to 24:00",
                place + "/to");
  }
  if (window.not_before && window.not_after && *window.not_before >= *window.not_after) {
    return fail(ErrorCode::kPolicyInvalid, "a window opens before it closes", place + "/not_after");
  }
  return window;
}

Json to_json(const TimeWindow& window) {
  Json json = {{"from", text_of(window.from_minute)}, {"to", text_of(window.to_minute)}};
  for (std::size_t i = 0; i < kDays.size(); ++i) {
    if (window.days.at(i)) {
      json["days"].push_back(kDays.at(i));
    }
  }
  if (window.not_before) {
    json["not_before"] = to_rfc3339(*window.not_before);
  }
  if (window.not_after) {
    json["not_after"] = to_rfc3339(*window.not_after);
  }
  return json;
}

}  // namespace assay
