// SPDX-License-Identifier: Apache-2.0
// Requests and responses as plain values for handlers. This header shows no type of an HTTP
// library.
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
// Parses a method name, case-sensitive (RFC 9110 section 9.1). Returns nullopt when `text` names no
// Method.
[[nodiscard]] std::optional<Method> method_from(std::string_view text);

// The listener that received a request. Each route belongs to one listener.
enum class Listener { kApi, kAdmission };

// Header fields by lowercase name. Values of a field that may occur several times (Accept,
// If-None-Match) are joined by ", ".
using Headers = std::map<std::string, std::string, std::less<>>;

struct Request {
  Method method;
  Listener listener;
  std::string path;                             // decoded, as matched by the router
  std::map<std::string, std::string> captures;  // by capture name of the route's template, decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  Bytes body;
  std::optional<Digest> client_key;  // SHA-256 of the TLS client certificate's SPKI
  std::string request_id;  // from X-Request-Id when well-formed, else generated; sent back
  Timestamp received_at;
  Timestamp deadline;

  // Returns the value of a header field; empty when the field is absent.
  [[nodiscard]] std::string_view header(std::string_view lowercase_name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  // without those that render() adds
  std::string body;
};

inline constexpr std::size_t kMaxRequestIdBytes = 64;
// Returns true for 1 to 64 letters, digits, '-', '_' and '.': such an id is safe to send back and
// to log.
[[nodiscard]] bool is_request_id(std::string_view text);

}  // namespace assay::server
