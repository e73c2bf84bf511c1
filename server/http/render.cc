// SPDX-License-Identifier: Apache-2.0
#include "server/http/render.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace assay::server {
namespace {

bool is_safe(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

void add(std::string& out, std::string_view name, std::string_view value) {
  if (name.empty() || !is_safe(name) || !is_safe(value)) {
    return;
  }
  out.append(name).append(": ").append(value).append("\r\n");
}

bool has_field(const Response& response, std::string_view name) {
  return std::ranges::any_of(response.headers,
                             [name](const auto& field) { return field.first == name; });
}

}  // namespace

std::string_view reason_phrase(int status) {
  using Row = std::pair<int, std::string_view>;
  static constexpr std::array kPhrases = {
      Row{200, "OK"},
      Row{201, "Created"},
      Row{204, "No Content"},
      Row{304, "Not Modified"},
      Row{400, "Bad Request"},
      Row{401, "Unauthorized"},
      Row{403, "Forbidden"},
      Row{404, "Not Found"},
      Row{405, "Method Not Allowed"},
      Row{406, "Not Acceptable"},
      Row{408, "Request Timeout"},
      Row{409, "Conflict"},
      Row{411, "Length Required"},
      Row{412, "Precondition Failed"},
      Row{413, "Content Too Large"},
      Row{414, "URI Too Long"},
      Row{415, "Unsupported Media Type"},
      Row{422, "Unprocessable Content"},
      Row{429, "Too Many Requests"},
      Row{431, "Request Header Fields Too Large"},
      Row{500, "Internal Server Error"},
      Row{503, "Service Unavailable"},
  };
  const auto* const found = std::ranges::find(kPhrases, status, &Row::first);
  return found == kPhrases.end() ? std::string_view() : found->second;
}

std::string http_date(Timestamp time) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      kDays.at(std::chrono::weekday(day).c_encoding()), static_cast<unsigned>(date.day()),
      kMonths.at(static_cast<unsigned>(date.month()) - 1), static_cast<int>(date.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(std::max(size, 0))};
}

std::string render(const Response& response, const RenderOptions& options) {
  const bool bodiless = response.status == 204 || response.status == 304;
  const bool with_body = !bodiless && !options.without_body;
  std::string out;
  out.reserve(512 + (with_body ? response.body.size() : 0));
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  add(out, "Date", http_date(options.now));
  if (!bodiless) {
    add(out, "Content-Type", response.content_type);
    add(out, "Content-Length", std::to_string(response.body.size()));
  }
  if (!has_field(response, "Cache-Control")) {
    add(out, "Cache-Control", "no-store");
  }
  add(out, "X-Content-Type-Options", "nosniff");
  if (!options.keep_alive) {
    add(out, "Connection", "close");
  }
  for (const auto& [name, value] : response.headers) {
    add(out, name, value);
  }
  out.append("\r\n");
  if (with_body) {
    out.append(response.body);
  }
  return out;
}

}  // namespace assay::server
