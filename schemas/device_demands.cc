// SPDX-License-Identifier: Apache-2.0
#include "schemas/device_demands.h"

#include <algorithm>
#include <charconv>

#include "schemas/document.h"

namespace assay {
namespace {

constexpr int kDecimal = 10;
constexpr int kHex = 16;
constexpr std::size_t kMaxVersionParts = 8;

std::optional<std::vector<std::uint32_t>> parts_of_version(std::string_view text, int base) {
  std::vector<std::uint32_t> parts;
  while (parts.size() < kMaxVersionParts) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    const std::string_view part = text.substr(0, dot);
    const auto read = std::from_chars(part.begin(), part.end(), parts.emplace_back(), base);
    if (part.empty() || read.ec != std::errc() || read.ptr != part.end()) {
      return std::nullopt;
    }
    if (dot == text.size()) {
      return parts;
    }
    text.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

template <int base>
Status check_version(const std::optional<std::string>& version) {
  return parts_of_version(*version, base)
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "a version is numbers between dots");
}

}  // namespace

static auto members_of(json::As<DeviceDemands>) {
  using T = DeviceDemands;
  const auto waived = json::by([](const Json& at) -> Result<bool> { return at == "waived"; },
                               [](bool) { return Json("waived"); });
  return std::tuple(
      json::if_set("vendor", &T::vendor), json::if_set("architecture", &T::architecture),
      json::if_set("mode", &T::mode), json::if_set("measurements", &T::allow_waived, waived),
      json::if_set("min_driver", &T::min_driver, json::checked(check_version<kDecimal>)),
      json::if_set("min_vbios", &T::min_vbios, json::checked(check_version<kHex>)),
      json::if_set("max_age_seconds", &T::max_age_seconds), json::or_default("all", &T::all));
}
Json to_json(const DeviceDemands& demands) { return json::write(demands); }
Result<DeviceDemands> read_json(json::As<DeviceDemands> /*type*/, const Json& json) {
  return json::read<DeviceDemands>(json);
}

std::optional<bool> is_older_version(const std::string& version, const std::string& least,
                                     int base) {
  auto own = parts_of_version(version, base);
  auto other = parts_of_version(least, base);
  if (!own || !other) {
    return std::nullopt;
  }
  own->resize(kMaxVersionParts);
  other->resize(kMaxVersionParts);
  return *own < *other;
}

}  // namespace assay
