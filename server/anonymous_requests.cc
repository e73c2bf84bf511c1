// SPDX-License-Identifier: Apache-2.0
#include "server/anonymous_requests.h"

#include "server/metrics.h"

namespace assay::server {

void AnonymousRequests::add(const RequestRecord& record, Timestamp now) {
  const std::scoped_lock lock(mutex_);
  const auto [at, fresh] = kinds_.try_emplace({record.listener, record.status, record.code});
  Kind& kind = at->second;
  if (fresh) {
    kind.due = now + kFirstLine;
  }
  if (kind.requests == 0) {
    kind.method = record.method;
    kind.address = record.address;
    kind.path = record.path.empty() ? record.route : record.path;
  }
  ++kind.requests;
}

std::vector<Json> AnonymousRequests::take(Timestamp now, bool all) {
  const std::scoped_lock lock(mutex_);
  std::vector<Json> lines;
  for (auto at = kinds_.begin(); at != kinds_.end();) {
    auto& [key, kind] = *at;
    if (!all && now < kind.due) {
      ++at;
      continue;
    }
    if (kind.requests == 0) {
      at = kinds_.erase(at);
      continue;
    }
    const auto& [listener, status, code] = key;
    Json line = {{"listener", name(listener)}, {"status", status},
                 {"requests", kind.requests},  {"method", kind.method},
                 {"address", kind.address},    {"path", kind.path}};
    if (!code.empty()) {
      line["code"] = code;
    }
    lines.push_back(std::move(line));
    kind = {.requests = 0, .method = {}, .address = {}, .path = {}, .due = now + kInterval};
    ++at;
  }
  return lines;
}

}  // namespace assay::server
