// SPDX-License-Identifier: Apache-2.0
// Responses as bytes: one buffer, so one write and, when small, one TLS record.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace assay::server {

struct RenderOptions {
  bool keep_alive = true;
  bool without_body = false;  // answer to HEAD: Content-Length as for GET
  Timestamp now;              // for Date
};

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The status line, the fields of the response, Content-Length, Date, Connection and the fields
// that every answer carries, then the body. A field whose name or value could end the line is left
// out; 204 and 304 have no body.
[[nodiscard]] std::string render(const Response& response, const RenderOptions& options);

// Reason phrase of a status (RFC 9110 section 15); empty when it has none here.
[[nodiscard]] std::string_view reason_phrase(int status);

// "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string http_date(Timestamp time);

}  // namespace assay::server
