// SPDX-License-Identifier: Apache-2.0
// Converts responses to bytes. A response is one buffer, so it takes one write and, when small, one
// TLS record.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace assay::server {

struct RenderOptions {
  bool keep_alive = true;
  bool without_body = false;  // answer to HEAD: Content-Length as for GET
  Timestamp now;              // value of the Date field
};

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Returns the bytes of `response`: status line, the fields of `response`, Content-Length, Date,
// Connection, the fields that every answer carries, then the body. Leaves out a field whose name or
// value contains characters that could end the line. Responses with status 204 or 304 have no body.
[[nodiscard]] std::string render(const Response& response, const RenderOptions& options);

// Returns the reason phrase of a status (RFC 9110 section 15); empty for a status not listed in
// render.cc.
[[nodiscard]] std::string_view reason_phrase(int status);

// Returns an HTTP date such as "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string http_date(Timestamp time);

}  // namespace assay::server
