// SPDX-License-Identifier: Apache-2.0
#include "server/http/io_head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace assay::server {

namespace http = boost::beast::http;

Result<RawHead> parse_head(std::string_view text) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(kMaxHeadBytes));
  // The route's own limit is applied to the Content-Length once the route is known.
  parser.body_limit(boost::none);
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(text.data(), text.size()), error);
  if (error || !parser.is_header_done() || used != text.size()) {
    return fail(ErrorCode::kBadRequest, "the request is not well-formed HTTP/1.1");
  }
  const auto& message = parser.get();
  RawHead head;
  head.method = std::string(message.method_string());
  head.target = std::string(message.target());
  head.version = message.version();
  for (const auto& field : message) {
    head.fields.emplace_back(field.name_string(), field.value());
  }
  return head;
}

}  // namespace assay::server
