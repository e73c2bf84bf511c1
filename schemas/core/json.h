// SPDX-License-Identifier: Apache-2.0
// Strict JSON: RFC 8259 with the restrictions of I-JSON (RFC 7493). Text that two parsers could
// read differently is refused, because documents are signed here and read elsewhere.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

// json.cc instantiates all members of this class. Without this declaration, each file that includes
// this header would spend a sixth of its compilation on instantiating them.
extern template class nlohmann::basic_json<>;

namespace assay {

using Json = nlohmann::json;

namespace json {
// Names a type in a call, so that overloads are found in the type's namespace
// (schemas/core/json_values.h).
template <typename T>
struct As {};
}  // namespace json

struct JsonLimits {
  std::size_t max_bytes = 16U << 20;
  std::size_t max_depth = 64;
  // Memory of the parsed value in bytes, estimated: short texts such as [{},{},{}] take up to
  // thirty times their length.
  std::size_t max_memory = std::numeric_limits<std::size_t>::max();
};

// Largest integer that every JSON reader keeps exact: 2^53 - 1.
inline constexpr std::int64_t kMaxSafeInteger = (std::int64_t{1} << 53) - 1;

// Parses one JSON text that fills all of `text`. Errors: malformed-json for text that is not
// well-formed or not UTF-8, and for lone surrogates; duplicate-key for a member named twice
// (`where` is the member); limit-exceeded for integers outside +-(2^53 - 1), numbers beyond a
// double, and more bytes, nesting or memory than `limits` allow.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});
[[nodiscard]] Result<Json> parse_json(ByteView bytes, const JsonLimits& limits = {});

// Returns "not well-formed JSON at byte N", and that JSON has no NaN where that is what stands
// there. `token` is what the parser read last, to the byte at which it stopped.
[[nodiscard]] std::string not_well_formed(std::size_t byte, std::string_view token);

// Returns the canonical form of RFC 8785 (JCS). Errors: malformed-json when I-JSON cannot represent
// `value` (NaN, infinities, invalid UTF-8, integers outside the safe range, binary).
[[nodiscard]] Result<std::string> canonical_json(const Json& value);

}  // namespace assay
