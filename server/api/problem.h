// SPDX-License-Identifier: Apache-2.0
// The one place where an Error becomes an HTTP answer.
// Spec: RFC 9457 (problem details); codes and statuses from schemas/core/error_codes.def.
#pragma once

#include <string>

#include "schemas/core/error.h"
#include "server/http/message.h"

namespace assay::server {

inline constexpr std::string_view kProblemMediaType = "application/problem+json";
// Seconds in Retry-After of 503 answers.
inline constexpr std::string_view kRetryAfter = "1";

// The answer to a request that ended with `error`. `instance` is the path of the request, or empty.
// What went wrong inside stays inside: answers with status 500 carry no detail and no place.
// 401 carries WWW-Authenticate, 503 Retry-After.
[[nodiscard]] Response problem(const Error& error, const std::string& instance,
                               const std::string& request_id);

}  // namespace assay::server
