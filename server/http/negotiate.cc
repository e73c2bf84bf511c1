// SPDX-License-Identifier: Apache-2.0
#include "server/http/negotiate.h"

#include <algorithm>

#include "server/http/optional_space.h"

namespace assay::server {
namespace {

// The text before the next `separator`; takes both off the front.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view piece = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), piece.size() + 1));
  return without_ows(piece);
}

// Quality in thousandths; malformed values count as 0.
int quality(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = take(parameters, ';');
    if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) {
      continue;
    }
    const std::string_view value = parameter.substr(2);
    if (value.empty() || value.size() > 5 || (value[0] != '0' && value[0] != '1') ||
        (value.size() > 1 && value[1] != '.')) {
      return 0;
    }
    int result = value[0] == '1' ? 1000 : 0;
    int weight = 100;
    for (const char digit : value.substr(std::min<std::size_t>(2, value.size()))) {
      if (digit < '0' || digit > '9') {
        return 0;
      }
      result += (digit - '0') * weight;
      weight /= 10;
    }
    return std::min(result, 1000);
  }
  return 1000;
}

// How closely `range` names `type`: 3 exact, 2 same main type, 1 anything, 0 not at all.
int closeness(std::string_view range, std::string_view type) {
  if (range == type) {
    return 3;
  }
  if (range == "*/*") {
    return 1;
  }
  const bool main_type =
      range.ends_with("/*") && type.starts_with(range.substr(0, range.size() - 1));
  return main_type ? 2 : 0;
}

// The quality that the closest range of `accept` gives to `type`.
int quality_of(std::string_view accept, std::string_view type) {
  int closest = 0;
  int result = 0;
  while (!accept.empty()) {
    std::string_view rest = take(accept, ',');
    const std::string range = media_type(take(rest, ';'));
    const int close = closeness(range, type);
    if (close > closest) {
      closest = close;
      result = quality(rest);
    }
  }
  return result;
}

}  // namespace

std::string media_type(std::string_view content_type) {
  std::string type(take(content_type, ';'));
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return type.contains('/') ? type : std::string();
}

std::optional<std::string_view> negotiate(std::string_view accept,
                                          std::span<const std::string_view> available) {
  if (without_ows(accept).empty()) {
    return available.front();
  }
  std::optional<std::string_view> best;
  int best_quality = 0;
  for (const std::string_view type : available) {
    const int own = quality_of(accept, type);
    if (own > best_quality) {
      best_quality = own;
      best = type;
    }
  }
  return best;
}

}  // namespace assay::server
