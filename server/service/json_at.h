// SPDX-License-Identifier: Apache-2.0
// Members of JSON from outside, whatever it is: what is absent or of another type reads as empty.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/json.h"

namespace assay::server {

// Null when absent.
[[nodiscard]] inline const Json& member_at(const Json& json, std::string_view name) {
  static const Json null;
  if (!json.is_object()) {
    return null;
  }
  const auto found = json.find(name);
  return found != json.end() ? *found : null;
}

[[nodiscard]] inline const Json& object_at(const Json& json, std::string_view name) {
  static const Json empty = Json::object();
  const Json& member = member_at(json, name);
  return member.is_object() ? member : empty;
}

[[nodiscard]] inline const Json& array_at(const Json& json, std::string_view name) {
  static const Json empty = Json::array();
  const Json& member = member_at(json, name);
  return member.is_array() ? member : empty;
}

[[nodiscard]] inline std::string text_at(const Json& json, std::string_view name) {
  const Json& member = member_at(json, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

// False unless it is there and true.
[[nodiscard]] inline bool flag_at(const Json& json, std::string_view name) {
  const Json& member = member_at(json, name);
  return member.is_boolean() && member.get<bool>();
}

}  // namespace assay::server
