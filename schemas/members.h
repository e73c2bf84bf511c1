// SPDX-License-Identifier: Apache-2.0
// Helpers of the codecs in this folder: members of JSON objects whose shape validate() has checked.
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

// The same error, with `prefix` (a JSON pointer) before its place.
[[nodiscard]] std::unexpected<Error> under(const std::string& prefix, Error error);

// A string member; empty when absent.
[[nodiscard]] std::string text(const Json& object, std::string_view name);
// An integer member of 0 to 2^53 - 1; `fallback` when absent.
[[nodiscard]] std::uint64_t number(const Json& object, std::string_view name,
                                   std::uint64_t fallback = 0);
// An array of strings; empty when absent.
[[nodiscard]] std::vector<std::string> texts(const Json& object, std::string_view name);
// An object of strings; empty when absent.
[[nodiscard]] std::map<std::string, std::string> text_map(const Json& object,
                                                          std::string_view name);
// A member that is an object or array; an empty object or array of the caller's choice when absent.
[[nodiscard]] const Json& child(const Json& object, std::string_view name, const Json& fallback);
// An array of numbers that ascend, none twice; empty when absent. schema-violation with the member
// as place otherwise.
[[nodiscard]] Result<std::vector<std::uint64_t>> ascending(const Json& object,
                                                           std::string_view name);
// RFC 3339; invalid-time with the member as place.
[[nodiscard]] Result<Timestamp> time(const Json& object, std::string_view name);

}  // namespace assay::members
