// SPDX-License-Identifier: Apache-2.0
// Strict JSON (RFC 8259 within I-JSON, RFC 7493): what two parsers could read differently is
// refused, because documents are signed here and read elsewhere.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

// json.cc has the code of all its members: a sixth of what each file would compile anew.
extern template class nlohmann::basic_json<>;

namespace assay {

using Json = nlohmann::json;

struct JsonLimits {
  std::size_t max_bytes = 16U << 20;
  std::size_t max_depth = 64;
};

// Largest integer that every reader of JSON keeps exact: 2^53 - 1.
inline constexpr std::int64_t kMaxSafeInteger = (std::int64_t{1} << 53) - 1;

// Parses one JSON text that fills all of `text`. Refuses: text that is not well-formed or not UTF-8
// (malformed-json), lone surrogates (malformed-json), members named twice (duplicate-key, `where`
// is the member), integers outside +-(2^53 - 1) and numbers beyond a double (limit-exceeded), more
// bytes or nesting than `limits` allow (limit-exceeded).
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});
[[nodiscard]] Result<Json> parse_json(ByteView bytes, const JsonLimits& limits = {});

// The canonical form of RFC 8785 (JCS). malformed-json when `value` holds what I-JSON cannot say
// (NaN, infinities, invalid UTF-8, integers outside the safe range, binary).
[[nodiscard]] Result<std::string> canonical_json(const Json& value);

}  // namespace assay
