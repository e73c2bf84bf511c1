// SPDX-License-Identifier: Apache-2.0
#include "client/answers.h"

#include "client/http_client.h"

namespace assay::client {

Result<Json> json_of(ByteView body) {
  JsonLimits limits;
  limits.max_bytes = kMaxResponseBytes;
  limits.max_depth = 128;  // stored documents sit inside answers
  Result<Json> json = parse_json(body, limits);
  if (!json) {
    return fail(ErrorCode::kMalformedJson, "The service's answer is not JSON (" +
                                               json.error().detail +
                                               "); is this an Assay service?");
  }
  return json;
}

std::string joined_at(const Json& json, const char* member) {
  std::string out;
  for (const Json& item : list_at(json, member)) {
    const std::string text = item.is_string() ? item.get<std::string>() : item.dump();
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

}  // namespace assay::client
