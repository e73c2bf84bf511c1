// SPDX-License-Identifier: Apache-2.0
// Reading of members after validation. Absent or mistyped members give the stated default, so that
// a codec never crashes, whatever it is handed.
#include "schemas/members.h"

namespace assay::members {

std::unexpected<Error> under(const std::string& prefix, Error error) {
  error.where = prefix + error.where;
  return std::unexpected(std::move(error));
}

std::string text(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number(const Json& object, std::string_view name, std::uint64_t fallback) {
  const auto found = object.find(name);
  const bool usable = found != object.end() && found->is_number_integer() &&
                      found->get<std::int64_t>() >= 0 &&
                      found->get<std::int64_t>() <= kMaxSafeInteger;
  return usable ? found->get<std::uint64_t>() : fallback;
}

std::vector<std::string> texts(const Json& object, std::string_view name) {
  std::vector<std::string> out;
  const auto found = object.find(name);
  if (found != object.end() && found->is_array()) {
    for (const Json& item : *found) {
      if (item.is_string()) {
        out.push_back(item.get<std::string>());
      }
    }
  }
  return out;
}

std::map<std::string, std::string> text_map(const Json& object, std::string_view name) {
  std::map<std::string, std::string> out;
  const auto found = object.find(name);
  if (found != object.end() && found->is_object()) {
    for (const auto& [key, value] : found->items()) {
      if (value.is_string()) {
        out.emplace(key, value.get<std::string>());
      }
    }
  }
  return out;
}

const Json& child(const Json& object, std::string_view name, const Json& fallback) {
  const auto found = object.find(name);
  return found != object.end() && found->type() == fallback.type() ? *found : fallback;
}

Result<std::vector<std::uint64_t>> ascending(const Json& object, std::string_view name) {
  const Json none = Json::array();
  std::vector<std::uint64_t> numbers;
  for (const Json& item : child(object, name, none)) {
    if (!item.is_number_integer() || item.get<std::int64_t>() < 0 ||
        (!numbers.empty() && numbers.back() >= item.get<std::uint64_t>())) {
      return fail(ErrorCode::kSchemaViolation, "the numbers must ascend, none twice",
                  "/" + std::string(name));
    }
    numbers.push_back(item.get<std::uint64_t>());
  }
  return numbers;
}

Result<Timestamp> time(const Json& object, std::string_view name) {
  auto parsed = parse_rfc3339(text(object, name));
  if (!parsed) {
    return under("/" + std::string(name), std::move(parsed).error());
  }
  return *parsed;
}

}  // namespace assay::members
