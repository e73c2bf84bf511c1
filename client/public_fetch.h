// SPDX-License-Identifier: Apache-2.0
// HTTPS GET, or POST of a question, of public documents of a vendor or of a cache of them.
// Certificates and host names are always checked; redirects are not followed, and no credential or
// cookie is sent. What arrives must be verified by its own signatures: the transport only keeps
// others from reading and from changing it on its way.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::client {

struct PublicRequest {
  std::string url;   // https
  std::string ca{};  // PEM file; empty: the system's certificates
  std::string user_agent{};
  std::uint64_t timeout_seconds = 30;  // for all of it
  std::size_t max_bytes = 4U << 20;    // of the body
  Bytes post{};                        // empty: a GET
  std::string post_type{};             // media type of `post`
};

struct PublicDocument {
  Bytes body;
  std::map<std::string, std::string> headers;  // names in lowercase; at most 64 KiB together
};

// Errors: usage when the address is not https; connection-failed; request-timeout; limit-exceeded;
// collateral-unavailable for a status other than 200.
[[nodiscard]] Result<PublicDocument> fetch_public(const PublicRequest& request);

}  // namespace assay::client
