// SPDX-License-Identifier: Apache-2.0
// Members of untrusted JSON. A member that is absent or of another type reads as empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/core/json.h"

namespace assay {

// Returns the member `name`; a null JSON value when it is absent.
[[nodiscard]] inline const Json& member_at(const Json& json, std::string_view name) {
  static const Json null;
  if (!json.is_object()) {
    return null;
  }
  const auto found = json.find(name);
  return found != json.end() ? *found : null;
}

// Returns the member if it is an object, else an empty object.
[[nodiscard]] inline const Json& object_at(const Json& json, std::string_view name) {
  static const Json empty = Json::object();
  const Json& member = member_at(json, name);
  return member.is_object() ? member : empty;
}

// Returns the member if it is an array, else an empty array.
[[nodiscard]] inline const Json& array_at(const Json& json, std::string_view name) {
  static const Json empty = Json::array();
  const Json& member = member_at(json, name);
  return member.is_array() ? member : empty;
}

// Returns the member if it is a string, else an empty string.
[[nodiscard]] inline std::string text_at(const Json& json, std::string_view name) {
  const Json& member = member_at(json, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

// Returns the member if it is an integer of 0 to 2^64 - 1, else 0.
[[nodiscard]] inline std::uint64_t number_at(const Json& json, std::string_view name) {
  const Json& member = member_at(json, name);
  return member.is_number_unsigned() ? member.get<std::uint64_t>() : 0;
}

// Returns true only if the member is the boolean true.
[[nodiscard]] inline bool flag_at(const Json& json, std::string_view name) {
  const Json& member = member_at(json, name);
  return member.is_boolean() && member.get<bool>();
}

}  // namespace assay
