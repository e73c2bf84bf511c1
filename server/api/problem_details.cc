// SPDX-License-Identifier: Apache-2.0
#include "server/api/problem_details.h"

namespace assay::server {

Response problem(const Error& error, const std::string& instance, const std::string& request_id,
                 const Json& more) {
  const ErrorInfo& row = info(error.code);
  const bool internal = row.http_status == 500;
  Json body = {{"type", "https://assay.dev/problems/" + std::string(row.code)},
               {"title", row.title},
               {"status", row.http_status},
               {"code", row.code},
               {"request_id", request_id},
               {"retryable", row.retryable}};
  if (!error.detail.empty() && !internal) {
    body["detail"] = error.detail;
  }
  if (!error.where.empty() && !internal) {
    body["where"] = error.where;
  }
  if (!instance.empty()) {
    body["instance"] = instance;
  }
  body.update(more);
  Response response;
  response.status = row.http_status;
  response.content_type = kProblemMediaType;
  // Details may quote what a client sent; what is not UTF-8 is replaced, never thrown over.
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (row.http_status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"assay\"");
  }
  if (row.http_status == 503 || row.http_status == 429) {
    response.headers.emplace_back("Retry-After", kRetryAfter);
  }
  return response;
}

}  // namespace assay::server
