// SPDX-License-Identifier: Apache-2.0
// Requests and responses as plain values: what handlers see. No library type of the HTTP layer.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"

namespace assay::server {

enum class Method { kGet, kHead, kPost, kPut, kDelete, kOptions };
[[nodiscard]] std::string_view name(Method method);
// Case-sensitive, as RFC 9110 section 9.1 has it; nothing for any other method.
[[nodiscard]] std::optional<Method> method_from(std::string_view text);

// The listener a request came in on; routes belong to one.
enum class Listener { kApi, kAdmission };

// Lowercase names. Fields that may occur once, and lists (Accept, If-None-Match) joined by ", ".
using Headers = std::map<std::string, std::string, std::less<>>;

struct Request {
  Method method;
  Listener listener;
  std::string path;                                        // decoded, as matched by the router
  std::map<std::string, std::string> captures;             // of the route's template, decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  Bytes body;
  std::optional<Digest> client_key;  // SHA-256 of the TLS client certificate's SPKI
  std::string request_id;            // echoed; from X-Request-Id when well-formed, else made here
  Timestamp received_at;
  Timestamp deadline;

  // Empty when the header is absent.
  [[nodiscard]] std::string_view header(std::string_view lowercase_name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  // beside the ones the session adds
  std::string body;
};

inline constexpr std::size_t kMaxRequestIdBytes = 64;
// True for 1 to 64 letters, digits, '-', '_' and '.': safe to echo and to log.
[[nodiscard]] bool is_request_id(std::string_view text);

}  // namespace assay::server
