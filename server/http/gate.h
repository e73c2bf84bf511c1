// SPDX-License-Identifier: Apache-2.0
// The gate decides which request headers are accepted. It is made of pure functions over bytes and
// plain values. A parser (io_head.h) reads the headers. The gate then refuses malformed headers
// that the parser accepts.
//
// Refused (RFC 9112, RFC 9110): bare CR or LF, NUL, folded lines, any version but HTTP/1.1, any
// Transfer-Encoding, several Content-Length, Host, Content-Type or Authorization fields, a missing
// or malformed Host, targets not in origin form, control characters in values, bodies without a
// length, encoded bodies. An accepted request can therefore be read in only one way, and ends where
// its Content-Length says. Two checks happen later, because they need the route: whether the
// request may have a body, and whether a route exists for the method and the path. If the path has
// routes for other methods only, the answer is method-not-allowed, with or without a body.
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

// A header as the parser read it, before any check.
struct RawHead {
  std::string method;
  std::string target;
  unsigned version = 0;                                     // 11 for HTTP/1.1
  std::vector<std::pair<std::string, std::string>> fields;  // in order; names as sent
};

// A header that passed the gate.
struct Head {
  std::optional<Method> method;  // nullopt for a method that no route has
  std::string target;            // in origin form
  Headers headers;
  std::uint64_t content_length = 0;
  bool expect_continue = false;
  bool keep_alive = true;
  // Address of the client, of IPv6 its /64 network. The session says it; the gate leaves it empty.
  std::string peer{};
};

// Looks for the end of a header in the bytes received so far. Returns the size of the header with
// its blank line. Returns nullopt when more bytes are needed. Errors: bad-request as soon as a byte
// cannot belong to a header; uri-too-long or headers-too-large for a header beyond the limits.
[[nodiscard]] Result<std::optional<std::size_t>> find_head_end(std::string_view buffered);

// Checks a parsed header. Errors: bad-request; length-required; uri-too-long; headers-too-large;
// unsupported-media-type for an encoded body.
[[nodiscard]] Result<Head> check_head(const RawHead& raw);

}  // namespace assay::server
