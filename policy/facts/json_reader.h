// SPDX-License-Identifier: Apache-2.0
// Helpers that parse the documents of facts and workloads. Every member is checked, and each error
// names the place of the member in the document. Internal to policy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/measured_boot.h"

namespace assay::policy::reading {

inline std::unexpected<Error> violation(std::string why, const std::string& where) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), where);
}

// Returns `error`, which another parser made, with `where` put before the place that `error` names.
inline std::unexpected<Error> at(const std::string& where, Error error) {
  error.where = where + error.where;
  return std::unexpected(std::move(error));
}

using Names = std::initializer_list<std::string_view>;

// Checks that `json` is an object with all of `required`, possibly some of `optional`, and no other
// member.
inline Status check_members(const Json& json, const std::string& where, Names required,
                            Names optional = {}) {
  if (!json.is_object()) {
    return violation("this must be an object", where);
  }
  const auto has = [](Names names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& member : json.items()) {
    if (!has(required, member.key()) && !has(optional, member.key())) {
      return fail(ErrorCode::kUnknownMember, "facts do not have this member",
                  where + "/" + member.key());
    }
  }
  for (const std::string_view name : required) {
    if (!json.contains(name)) {
      return violation("facts need this member", where + "/" + std::string(name));
    }
  }
  return {};
}

// One object of a document, and the place of the object in the document. Borrows `json` and
// `where`. The caller must have checked that the members that it reads exist, except for
// parsed_if_there().
struct Reader {
  const Json& json;
  const std::string& where;

  [[nodiscard]] std::string place(const char* member) const { return where + "/" + member; }

  [[nodiscard]] Result<std::string> text(const char* member) const {
    const Json& value = json[member];
    if (!value.is_string()) {
      return violation("this must be a string", place(member));
    }
    return value.get<std::string>();
  }

  // Reads a string member and converts it with `parse`.
  template <typename Parse>
  [[nodiscard]] auto parsed(const char* member, Parse parse) const
      -> decltype(parse(std::string_view())) {
    ASSAY_ASSIGN(const std::string value, text(member));
    auto result = parse(value);
    if (!result) {
      return at(place(member), std::move(result).error());
    }
    return result;
  }

  [[nodiscard]] Result<Timestamp> time(const char* member) const {
    return parsed(member, parse_rfc3339);
  }

  [[nodiscard]] Result<bool> flag(const char* member) const {
    const Json& value = json[member];
    if (!value.is_boolean()) {
      return violation("this must be true or false", place(member));
    }
    return value.get<bool>();
  }

  [[nodiscard]] Result<std::uint64_t> number(const char* member) const {
    const Json& value = json[member];
    if (!value.is_number_unsigned()) {
      return violation("this must be a number from 0", place(member));
    }
    return value.get<std::uint64_t>();
  }

  // Reads an optional string member and converts it with `parse`. Returns nullopt when the member
  // is absent.
  template <typename Parse>
  [[nodiscard]] auto parsed_if_there(const char* member, Parse parse) const
      -> Result<std::optional<typename decltype(parse(std::string_view()))::value_type>> {
    if (!json.contains(member)) {
      return std::nullopt;
    }
    return parsed(member, parse);
  }

  // Reads an array member. Calls `read(item, place)` for each item.
  template <typename Value, typename Read>
  [[nodiscard]] Result<std::vector<Value>> list(const char* member, Read read) const {
    const Json& items = json[member];
    if (!items.is_array()) {
      return violation("this must be an array", place(member));
    }
    std::vector<Value> values;
    values.reserve(items.size());
    for (const Json& item : items) {
      Result<Value> value = read(item, place(member) + "/" + std::to_string(values.size()));
      if (!value) {
        return std::unexpected(std::move(value).error());
      }
      values.push_back(std::move(*value));
    }
    return values;
  }
};

inline Result<std::string> text_of(const Json& item, const std::string& place) {
  if (!item.is_string()) {
    return violation("this must be a string", place);
  }
  return item.get<std::string>();
}

// Reads the member "boot" of the object at `where`; nullopt when there is none.
inline Result<std::optional<MeasuredBoot>> boot_if_there(const Json& json,
                                                         const std::string& where) {
  if (!json.contains("boot")) {
    return std::nullopt;
  }
  auto boot = measured_boot_from_json(json["boot"]);
  if (!boot) {
    return at(where + "/boot", std::move(boot).error());
  }
  return *std::move(boot);
}

}  // namespace assay::policy::reading
