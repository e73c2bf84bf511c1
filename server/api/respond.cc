// SPDX-License-Identifier: Apache-2.0
// Helpers of the handlers: parameters, lists, answers.

#include <algorithm>
#include <charconv>

#include "schemas/core/sha.h"
#include "server/api/route.h"
#include "server/http/target.h"

namespace assay::server {
namespace {

constexpr std::size_t kDefaultLimit = 100;
constexpr std::size_t kMaxLimit = 1000;

// True when the list of entity tags names `tag` (RFC 9110 section 13.1.2, weak comparison).
bool lists_tag(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    std::string_view piece = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), piece.size() + 1));
    piece.remove_prefix(std::min(piece.size(), piece.find_first_not_of(" \t")));
    piece = piece.substr(0, piece.find_last_not_of(" \t") + 1);
    if (piece.starts_with("W/")) {
      piece.remove_prefix(2);
    }
    if (piece == tag || piece == "*") {
      return true;
    }
  }
  return false;
}

// What a cursor is bound to: the path and every filter, in one order.
Digest query_digest(const Request& request) {
  auto filters = request.query;
  std::erase_if(filters, [](const auto& parameter) {
    return parameter.first == "cursor" || parameter.first == "limit";
  });
  std::ranges::sort(filters);
  Json text = Json::array({request.path});
  for (const auto& [name, value] : filters) {
    text.push_back(Json::array({name, value}));
  }
  return sha256(as_bytes(text.dump()));
}

// The target of the next page: the same query with `name` set to `value`.
std::string next_link(const Request& request, std::string_view name, const std::string& value) {
  std::string link = "<" + request.path + "?";
  for (const auto& [own, text] : request.query) {
    if (own != name) {
      link += percent_encode(own) + "=" + percent_encode(text) + "&";
    }
  }
  return link + std::string(name) + "=" + percent_encode(value) + ">; rel=\"next\"";
}

}  // namespace

std::optional<std::string> Call::parameter(std::string_view name) const {
  for (const auto& [own, value] : request.query) {
    if (own == name) {
      return value;
    }
  }
  return std::nullopt;
}

Response json_response(int status, const Json& body) {
  Response response;
  response.status = status;
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

Response with_etag(const Call& call, Response response, std::string_view cache) {
  const std::string tag = '"' + sha256(as_bytes(response.body)).hex() + '"';
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Cache-Control", cache);
  response.headers.emplace_back("Vary", "Accept");
  if (lists_tag(call.request.header("if-none-match"), tag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

Result<std::optional<Timestamp>> time_parameter(const Call& call, std::string_view name) {
  const auto text = call.parameter(name);
  if (!text) {
    return std::nullopt;
  }
  Result<Timestamp> time = parse_rfc3339(*text);
  if (!time) {
    return fail(time.error().code, time.error().detail, std::string(name));
  }
  return *time;
}

Result<std::uint64_t> number(std::string_view text, std::string_view name) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value > static_cast<std::uint64_t>(kMaxSafeInteger)) {
    return fail(ErrorCode::kInvalidParameter, "not a whole number", std::string(name));
  }
  return value;
}

Result<std::size_t> limit_parameter(const Call& call) {
  const auto text = call.parameter("limit");
  if (!text) {
    return kDefaultLimit;
  }
  // Whatever is more than a page can have counts as that, however many digits it has.
  const bool whole = !text->empty() && text->find_first_not_of("0123456789") == std::string::npos;
  const std::size_t first = text->find_first_not_of('0');
  if (!whole || first == std::string::npos) {
    return fail(ErrorCode::kInvalidParameter, "a whole number of at least 1", "limit");
  }
  if (text->size() - first > 4) {
    return kMaxLimit;
  }
  ASSAY_ASSIGN(const std::uint64_t value, number(text->substr(first), "limit"));
  return static_cast<std::size_t>(std::min<std::uint64_t>(value, kMaxLimit));
}

Result<Response> keyed_list_response(storage::Snapshot& snapshot, const Call& call, Json items,
                                     std::size_t limit, const std::optional<std::string>& next) {
  ASSAY_ASSIGN(const storage::LogState state, snapshot.log_state());
  Json body = {{"items", std::move(items)},
               {"limit", limit},
               {"tree_size", state.size},
               {"root", state.root.hex()}};
  if (next) {
    body["next"] = *next;
  }
  Response response = json_response(200, body);
  if (next) {
    response.headers.emplace_back("Link", next_link(call.request, "after", *next));
  }
  return response;
}

Result<ListRequest> list_request(const Api& api, const Call& call) {
  ListRequest list{{}, query_digest(call.request)};
  ASSAY_ASSIGN(list.bounds.limit, limit_parameter(call));
  if (const auto text = call.parameter("cursor")) {
    ASSAY_ASSIGN(const Cursor cursor, api.cursors.decode(*text, list.query));
    list.bounds.after = cursor.after;
    list.bounds.below = cursor.below;
  }
  return list;
}

Response list_response(const Api& api, const Call& call, const ListRequest& list, ListPage page) {
  const TreeSize below = list.bounds.below.value_or(page.tree_size);
  Json body = {{"items", std::move(page.items)},
               {"limit", list.bounds.limit},
               {"tree_size", page.tree_size},
               {"root", page.root.hex()}};
  if (page.total) {
    body[page.total->exact ? "total" : "total_at_least"] = page.total->rows;
  }
  std::string link;
  if (page.next) {
    const std::string cursor = api.cursors.encode({*page.next, below}, list.query);
    body["next_cursor"] = cursor;
    link = next_link(call.request, "cursor", cursor);
  }
  Response response = json_response(200, body);
  if (!link.empty()) {
    response.headers.emplace_back("Link", std::move(link));
  }
  return response;
}

}  // namespace assay::server
