// SPDX-License-Identifier: Apache-2.0
// Helpers of the codecs in this folder. They read members of JSON objects. The caller must have
// checked the shape of an object with validate() (schemas/validate.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::members {

// Returns `error` with the JSON pointer `prefix` put before its `where`.
[[nodiscard]] std::unexpected<Error> under(const std::string& prefix, Error error);

// Returns a string member; empty when absent.
[[nodiscard]] std::string text(const Json& object, std::string_view name);
// Returns an integer member of 0 to 2^53 - 1; `fallback` when absent.
[[nodiscard]] std::uint64_t number(const Json& object, std::string_view name,
                                   std::uint64_t fallback = 0);
// Returns an array of strings; empty when absent.
[[nodiscard]] std::vector<std::string> texts(const Json& object, std::string_view name);
// Returns an object of strings; empty when absent.
[[nodiscard]] std::map<std::string, std::string> text_map(const Json& object,
                                                          std::string_view name);
// Returns a member that is an object or array, borrowed; `fallback` when absent.
[[nodiscard]] const Json& child(const Json& object, std::string_view name, const Json& fallback);
// Returns an array of ascending, distinct numbers; empty when absent. Errors: schema-violation;
// `where` is the member.
[[nodiscard]] Result<std::vector<std::uint64_t>> ascending(const Json& object,
                                                           std::string_view name);
// Parses an RFC 3339 member. Errors: invalid-time; `where` is the member.
[[nodiscard]] Result<Timestamp> time(const Json& object, std::string_view name);

}  // namespace assay::members
