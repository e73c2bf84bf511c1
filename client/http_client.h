// SPDX-License-Identifier: Apache-2.0
// HTTPS to one service. TLS 1.3, the host name and chain always checked, no redirects, no cookies.
// Errors of the service come back as Errors with its code and request id; what may pass is tried
// again, a bounded number of times.
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
  // False for public resources: no credential is sent.
  bool authenticated = true;
  // False when a second identical request could have another effect: then only failures before the
  // request was sent, and answers that say that nothing was done, are tried again.
  bool repeatable = true;
  std::uint64_t timeout_seconds = 0;  // of this request; 0: what the connection says
  // Ends a transfer that is under way (cancelled), at the latest a second after it was asked for.
  std::stop_token stop{};
};

struct HttpResponse {
  int status = 0;
  std::string content_type{};
  Bytes body{};
  std::uint64_t retry_after_seconds = 0;  // 0: not said
  bool retry_at_once = false;             // "Retry-After: 0"
};

// The program that asks. Outlived by `random`.
struct Caller {
  Random& random;       // spreads the pauses before retries
  std::string version;  // of the program, for the service's own log
  // Told before each retry what failed and how long the pause is; may be empty.
  std::function<void(const std::string& line)> tell{};
};

class HttpClient {
 public:
  // Reads the credential. usage when it is not usable; key-unusable for a file with the token or
  // the certificate's key that others may read.
  [[nodiscard]] static Result<HttpClient> open(Caller caller, const Connection& connection,
                                               Endpoint endpoint = Endpoint::kApi);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // The answer when its status is 2xx. Errors: connection-failed (no connection, TLS refused, cut),
  // request-timeout, limit-exceeded (answer too large), cancelled (stop was requested), and the
  // service's own.
  [[nodiscard]] Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The Error that an answer with a status other than 2xx stands for: problem+json where it is some.
[[nodiscard]] Error error_from(const HttpResponse& response);

// True for what the client tries again by itself.
[[nodiscard]] bool is_retryable(const HttpResponse& response);

// True when the service itself says that it turned the request away before it did anything
// ("overloaded"). A proxy's 503, or one of the store, may come after the work was done.
[[nodiscard]] bool says_not_done(const HttpResponse& response);

}  // namespace assay::client
