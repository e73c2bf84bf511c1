// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/json_values.h"

#include <algorithm>

#include "schemas/core/json_object.h"
#include "schemas/core/json_one_of.h"

namespace assay::json {
namespace {

std::unexpected<Error> violation(std::string detail, std::string where = {}) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

}  // namespace

std::unexpected<Error> below(std::string_view step, Error error) {
  error.where = std::string("/").append(step) + error.where;
  return std::unexpected(std::move(error));
}

Result<std::string> text(const Json& json) {
  return json.is_string() ? Result<std::string>(json.get_ref<const std::string&>())
                          : violation("this must be a string");
}

Result<bool> flag(const Json& json) {
  return json.is_boolean() ? Result<bool>(json.get<bool>())
                           : violation("this must be true or false");
}

Result<std::uint64_t> number(const Json& json, std::uint64_t most) {
  const bool usable =
      json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
  if (!usable || json.get<std::uint64_t>() > most) {
    return violation("this must be a number from 0");
  }
  return json.get<std::uint64_t>();
}

Result<double> real(const Json& json) {
  return json.is_number() ? Result<double>(json.get<double>()) : violation("this must be a number");
}

Status check_object(const Json& json) {
  return json.is_object() ? Status() : violation("this must be an object");
}

Status check_array(const Json& json) {
  return json.is_array() ? Status() : violation("this must be an array");
}

Status check_order(bool in_order) {
  return in_order ? Status() : violation("these stand in order, none twice");
}

std::unexpected<Error> none_of_them() {
  return violation("this has none of the members, one of which it needs");
}

std::unexpected<Error> missing(std::string_view member) {
  return violation("this member is missing", std::string("/").append(member));
}

Status check_constant(const Json* found, std::string_view member, const Json& value) {
  return found != nullptr && *found == value
             ? Status()
             : violation("this must be " + value.dump(), std::string("/").append(member));
}

Status check_known(const Json& json, const std::vector<std::string_view>& known) {
  for (const auto& member : json.items()) {
    if (std::ranges::find(known, member.key()) == known.end()) {
      return fail(ErrorCode::kUnknownMember, "there is no such member here", "/" + member.key());
    }
  }
  return {};
}

}  // namespace assay::json
