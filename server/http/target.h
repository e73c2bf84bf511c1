// SPDX-License-Identifier: Apache-2.0
// Parses a request target in origin form into a decoded path and query. Nothing else decodes them,
// so they are decoded only once. A target that an intermediary could read differently is refused.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/error.h"

namespace assay::server {

inline constexpr std::size_t kMaxQueryParameters = 64;

struct Target {
  std::string path;                                        // begins with '/', decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
};

// Parses and decodes `target`. In the query, '+' is a space (application/x-www-form-urlencoded),
// and a parameter without '=' has an empty value. Errors: bad-request for a '%' without two hex
// digits; text that is not UTF-8; control characters; an encoded '/' or a '\' in the path; "." or
// ".." segments; more than kMaxQueryParameters parameters.
[[nodiscard]] Result<Target> parse_target(std::string_view target);

// Returns `text` with all but the unreserved characters of RFC 3986 percent-encoded.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace assay::server
