// SPDX-License-Identifier: Apache-2.0
// One HTTP GET of something that is not the service: documents of a vendor, blobs of a registry. Or
// a POST of a question that changes nothing, which OCSP asks so.
// Certificates and host names are always checked. Redirects are not followed, no cookie is kept,
// and only the headers of the caller are sent. What arrives must be verified by the caller: by its
// digest or its own signatures.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::client {

struct WebRequest {
  // https, or http where is_loopback_url() says so and the caller allows it.
  std::string url;
  bool allow_plain_loopback = false;
  std::vector<std::string> headers{};  // "Name: value"; may hold secrets
  std::string ca{};                    // PEM file; empty: the system's certificates
  std::string user_agent{};
  std::uint64_t timeout_seconds = 30;  // for all of it; 0: as long as something arrives
  std::uint64_t max_bytes = 4U << 20;  // of the body
  Bytes post{};                        // the question; empty: a GET
};

struct WebAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lowercase; at most 64 KiB together
};

// Takes a piece of the body of an answer with status 200. Returns false to end the transfer.
using TakeBody = std::function<bool(ByteView piece)>;

// Returns true for http:// with a host that is this machine: localhost, 127.0.0.0/8, [::1].
[[nodiscard]] bool is_loopback_url(std::string_view url);

// Sends the request. The body of an answer with another status is dropped. Errors: usage for
// another address; connection-failed; request-timeout; limit-exceeded; cancelled when `take` ended
// it.
[[nodiscard]] Result<WebAnswer> web_get(const WebRequest& request, const TakeBody& take);

}  // namespace assay::client
