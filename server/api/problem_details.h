// SPDX-License-Identifier: Apache-2.0
// The only conversion of an Error to an HTTP response. Spec: RFC 9457 (problem details); codes and
// statuses from schemas/core/error_codes.def.
#pragma once

#include <string>

#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "server/http/message.h"

namespace assay::server {

inline constexpr std::string_view kProblemMediaType = "application/problem+json";
// Retry-After of responses with status 503 or 429, in seconds.
inline constexpr std::string_view kRetryAfter = "1";

// Returns the response to a request that ended with `error`. `instance` is the path of the request,
// or empty. A response with status 500 carries neither the detail nor the location of the error,
// because both are internal. A response with status 401 has the field WWW-Authenticate; one with
// status 503 or 429 has Retry-After. `more` holds further members.
[[nodiscard]] Response problem(const Error& error, const std::string& instance,
                               const std::string& request_id, const Json& more = Json::object());

}  // namespace assay::server
