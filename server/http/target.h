// SPDX-License-Identifier: Apache-2.0
// Request targets: from the bytes of an origin-form target to a decoded path and query. Decoding
// happens once, here; what could be read differently by somebody in between is refused.
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

// bad-request: a '%' without two hex digits, text that is not UTF-8, control characters, an encoded
// '/' or a '\' in the path, "." or ".." segments, more than kMaxQueryParameters parameters. In the
// query '+' is a space (application/x-www-form-urlencoded), and a parameter without '=' is empty.
[[nodiscard]] Result<Target> parse_target(std::string_view target);

// The same text with everything but RFC 3986 unreserved characters percent-encoded.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace assay::server
