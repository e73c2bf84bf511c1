// SPDX-License-Identifier: Apache-2.0
// HTTPS to one service. Uses TLS 1.3 and always checks host name and certificate chain. Follows no
// redirects and keeps no cookies. Errors of the service are returned as Error with the service's
// code and request id. After a temporary failure send() repeats the request, at most
// Connection::retries times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "client/connection.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::client {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kEnvelopeType = "application/vnd.dsse.envelope.v1+json";
inline constexpr std::uint64_t kMaxResponseBytes = std::uint64_t{64} << 20;

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // with the query, percent-encoded
  std::string accept = std::string(kJsonType);
  std::string content_type{};  // of a body
  Bytes body{};
  // False for public resources: the request then carries no credential.
  bool authenticated = true;
  // False when sending the request twice could have another effect than sending it once. Such a
  // request is sent again only after a failure before it was sent, or after an answer which says
  // that the service did nothing.
  bool repeatable = true;
  std::uint64_t timeout_seconds = 0;  // limit for this request; 0: that of the Connection
  // Ends a running transfer with the error cancelled, at most a second after the stop request.
  std::stop_token stop{};
};

struct HttpResponse {
  int status = 0;
  std::string content_type{};
  Bytes body{};
  std::uint64_t retry_after_seconds = 0;  // 0: not given
  bool retry_at_once = false;             // "Retry-After: 0"
};

// The program that calls the service. `random` must outlive every HttpClient that gets this Caller.
struct Caller {
  Random& random;       // spreads the pauses before retries
  std::string version;  // of the program, for the service's own log
  // Called before each retry with the failure and the length of the pause. May be empty.
  std::function<void(const std::string& line)> tell{};
};

class HttpClient {
 public:
  // Opens a client and reads the credential. Errors: usage for an unusable credential; key-unusable
  // when others may read the file with the token or with the certificate's key.
  [[nodiscard]] static Result<HttpClient> open(Caller caller, const Connection& connection,
                                               Endpoint endpoint = Endpoint::kApi);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Sends the request and returns the answer when its status is 2xx. Errors: connection-failed when
  // there is no connection, TLS is refused or the connection is cut; request-timeout;
  // limit-exceeded for an answer that is too large; cancelled after a stop request; those of the
  // service.
  [[nodiscard]] Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the Error for an answer with a status other than 2xx. Reads problem+json when the answer
// contains it.
[[nodiscard]] Error error_from(const HttpResponse& response);

// Returns true for answers after which the client itself sends the request again.
[[nodiscard]] bool is_retryable(const HttpResponse& response);

// Returns true when the service itself says that it rejected the request before doing anything
// ("overloaded"). Returns false for a 503 of a proxy or of the store, because the service may have
// done the work before such an answer.
[[nodiscard]] bool says_not_done(const HttpResponse& response);

}  // namespace assay::client
