// SPDX-License-Identifier: Apache-2.0
#include "client/api.h"

#include <algorithm>
#include <utility>

#include "client/answers.h"

namespace assay::client {

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~:/@";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

void Query::add(std::string_view name, std::string_view value) {
  if (!value.empty()) {
    text_ += (text_.empty() ? "?" : "&") + percent_encode(name) + "=" + percent_encode(value);
  }
}

Result<Json> each_page(const FetchPage& fetch, const std::string& path, const Query& query,
                       std::optional<std::uint64_t> limit, const TakeItems& take) {
  constexpr std::uint64_t kPage = 1000;
  std::uint64_t taken = 0;
  const char* parameter = "cursor";
  std::string cursor;
  while (true) {
    Query page = query;
    page.add("limit", std::to_string(limit ? std::min(*limit - taken, kPage) : kPage));
    page.add(parameter, cursor);
    ASSAY_ASSIGN(Json answer, fetch(path + page.text()));
    const auto items = answer.is_object() ? answer.find("items") : answer.end();
    if (!answer.is_object() || items == answer.end() || !items->is_array()) {
      return fail(ErrorCode::kSchemaViolation, "The service's answer is not a list");
    }
    take(*items);
    taken += items->size();
    std::string next = text_at(answer, "next_cursor");
    if (next.empty()) {  // lists that are ordered by a key go on after it
      next = text_at(answer, "next");
      parameter = "after";
    }
    if (next.empty() || next == cursor || (limit && taken >= *limit)) {
      return answer;
    }
    cursor = next;
  }
}

Result<Json> Api::get(const std::string& path) {
  HttpRequest request;
  request.path = path;
  ASSAY_ASSIGN(const HttpResponse response, client_.send(request));
  return json_of(response.body);
}

Result<Bytes> Api::get_bytes(const std::string& path, std::string_view accept, bool authenticated) {
  HttpRequest request;
  request.path = path;
  request.accept = accept;
  request.authenticated = authenticated;
  ASSAY_ASSIGN(HttpResponse response, client_.send(request));
  return std::move(response.body);
}

Result<Json> Api::post(const std::string& path, ByteView body, std::string_view content_type,
                       bool repeatable) {
  return send("POST", path, body, content_type, repeatable);
}

Result<Json> Api::put(const std::string& path, ByteView body, std::string_view content_type) {
  return send("PUT", path, body, content_type, true);
}

Result<Json> Api::send(const char* method, const std::string& path, ByteView body,
                       std::string_view content_type, bool repeatable) {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.content_type = content_type;
  request.body.assign(body.begin(), body.end());
  request.repeatable = repeatable;
  ASSAY_ASSIGN(const HttpResponse response, client_.send(request));
  return json_of(response.body);
}

Result<Json> Api::each_page(const std::string& path, const Query& query,
                            std::optional<std::uint64_t> limit, const TakeItems& take) {
  return client::each_page([this](const std::string& page) { return get(page); }, path, query,
                           limit, take);
}

Result<Json> Api::list(const std::string& path, const Query& query,
                       std::optional<std::uint64_t> limit) {
  Json all = Json::array();
  ASSAY_ASSIGN(Json last, each_page(path, query, limit, [&all](const Json& items) {
                 for (const Json& item : items) {
                   all.push_back(item);
                 }
               }));
  last["items"] = std::move(all);
  return last;
}

}  // namespace assay::client
