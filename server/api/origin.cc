// SPDX-License-Identifier: Apache-2.0
#include "server/api/origin.h"

#include <algorithm>

namespace assay::server {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b,
                            [](char left, char right) { return lower(left) == lower(right); });
}

}  // namespace

Status check_same_origin(const Request& request) {
  const std::string own = "https://" + std::string(request.header("host"));
  const auto origin = request.headers.find("origin");
  const auto site = request.headers.find("sec-fetch-site");
  const bool origin_is_own = origin == request.headers.end() || same_text(origin->second, own);
  const bool site_is_own =
      site == request.headers.end() || site->second == "same-origin" || site->second == "none";
  if (!origin_is_own || !site_is_own) {
    return fail(ErrorCode::kForbidden,
                "a page of another site sent this request with a client certificate");
  }
  return {};
}

}  // namespace assay::server
