// SPDX-License-Identifier: Apache-2.0
#include "client/public_fetch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/web_fetch.h"

namespace assay::client {
namespace {

constexpr int kFound = 200;

}  // namespace

Result<PublicDocument> fetch_public(const PublicRequest& request) {
  PublicDocument document;
  std::vector<std::string> headers;
  if (!request.post.empty()) {
    headers.push_back("Content-Type: " + request.post_type);
  }
  const WebRequest get{.url = request.url,
                       .headers = std::move(headers),
                       .ca = request.ca,
                       .user_agent = request.user_agent,
                       .timeout_seconds = std::max<std::uint64_t>(request.timeout_seconds, 1),
                       .max_bytes = request.max_bytes,
                       .post = request.post};
  ASSAY_ASSIGN(WebAnswer answer, web_get(get, [&document](ByteView piece) {
                 document.body.insert(document.body.end(), piece.begin(), piece.end());
                 return true;
               }));
  if (answer.status != kFound) {
    return fail(ErrorCode::kCollateralUnavailable,
                request.url + " answered with HTTP status " + std::to_string(answer.status));
  }
  document.headers = std::move(answer.headers);
  return document;
}

}  // namespace assay::client
