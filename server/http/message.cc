// SPDX-License-Identifier: Apache-2.0
#include "server/http/message.h"

#include <algorithm>

namespace assay::server {

std::string_view name(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
  }
  return "";
}

std::optional<Method> method_from(std::string_view text) {
  for (const Method method : {Method::kGet, Method::kHead, Method::kPost, Method::kPut,
                              Method::kDelete, Method::kOptions}) {
    if (name(method) == text) {
      return method;
    }
  }
  return std::nullopt;
}

std::string_view Request::header(std::string_view lowercase_name) const {
  const auto found = headers.find(lowercase_name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

bool is_request_id(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kMaxRequestIdBytes && std::ranges::all_of(text, allowed);
}

}  // namespace assay::server
