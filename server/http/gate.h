// SPDX-License-Identifier: Apache-2.0
// The gate: which request headers are let in. Pure functions over bytes and plain values; the
// parser behind io_head.h reads them, and what it reads too generously is refused here.
//
// Refused (RFC 9112, RFC 9110): bare CR or LF, NUL, folded lines, any version but HTTP/1.1, any
// Transfer-Encoding, several Content-Length, Host, Content-Type or Authorization fields, a Host
// that is missing or no host, targets not in origin form, control characters in values, bodies
// without a length, encoded bodies. So a request has one reading, and ends where its Content-Length
// says. Whether a body belongs there is the route's business: a method that a path does not have is
// method-not-allowed, with or without one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/error.h"
#include "server/http/message.h"

namespace assay::server {

inline constexpr std::size_t kMaxHeadBytes = 8192;  // request line and fields, blank line included
inline constexpr std::size_t kMaxTargetBytes = 4096;
inline constexpr std::size_t kMaxFields = 64;
inline constexpr std::uint64_t kMaxContentLength = std::uint64_t{1} << 40;

// A header as the parser read it: nothing is known to be right.
struct RawHead {
  std::string method;
  std::string target;
  unsigned version = 0;                                     // 11 for HTTP/1.1
  std::vector<std::pair<std::string, std::string>> fields;  // in order; names as sent
};

// A header that passed.
struct Head {
  std::optional<Method> method;  // nothing for a method that no route has
  std::string target;            // in origin form
  Headers headers;
  std::uint64_t content_length = 0;
  bool expect_continue = false;
  bool keep_alive = true;
};

// Looks for the end of a header in what has arrived so far. The size of the header with its blank
// line; nothing when more has to come; bad-request as soon as a byte shows that it cannot be one;
// uri-too-long or headers-too-large when it does not fit.
[[nodiscard]] Result<std::optional<std::size_t>> find_head_end(std::string_view buffered);

// Judges a parsed header. bad-request, length-required, uri-too-long, headers-too-large,
// unsupported-media-type (encoded body).
[[nodiscard]] Result<Head> check_head(const RawHead& raw);

}  // namespace assay::server
