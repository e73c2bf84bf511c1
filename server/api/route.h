// SPDX-License-Identifier: Apache-2.0
// What a route is, what its handler works with, and the helpers that all handlers share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.h"
#include "schemas/trust.h"
#include "server/api/cursor.h"
#include "server/http/router.h"
#include "server/service/services.h"

namespace assay::server {

// What every handler may use. Owned by the application; outlives every request.
struct Api {
  Services& services;
  CursorCodec cursors;
  std::string version;
  std::string log_verifier_key;          // C2SP vkey form
  Json jwks;                             // the answer of /.well-known/jwks.json
  std::function<std::string()> metrics;  // Prometheus text
  std::function<void()> trust_changed;   // what was remembered about principals is stale
  std::function<void(bool allowed)> decided;
};

// One authenticated, well-formed call.
struct Call {
  const Request& request;
  const Principal& principal;   // of a public route: nobody, without roles
  std::string_view media_type;  // of the answer, as negotiated

  // Nothing when the parameter is absent; the dispatcher has refused unknown and repeated ones.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  // The text of a capture of the route's template.
  [[nodiscard]] const std::string& capture(const std::string& name) const {
    return request.captures.at(name);
  }
};

using Handler = Result<Response> (*)(Api& api, const Call& call);

struct Access {
  enum class Kind { kPublic, kAnyRole, kRoles };
  Kind kind;
  AccessRoles roles;  // one of them is needed
};

struct Route {
  RoutePattern pattern;
  Access access;
  std::vector<std::string_view> parameters;  // names of the query; others are refused
  std::size_t body_limit = 0;                // bytes
  std::vector<std::string_view> consumes;    // media types of the body
  std::vector<std::string_view> produces;    // media types of the answer, best first; empty: any
  Handler handler;
};

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kDsse = "application/vnd.dsse.envelope.v1+json";
inline constexpr std::string_view kText = "text/plain; charset=utf-8";
inline constexpr std::string_view kPlainText = "text/plain";
inline constexpr std::string_view kBinary = "application/octet-stream";

// The whole API. Every resource has its functions in a file of its own.
[[nodiscard]] const std::vector<Route>& routes();
// The same, with the records of the log for everybody (configuration: log.public_entries).
[[nodiscard]] const std::vector<Route>& routes_with_public_entries();

// --- answers

[[nodiscard]] Response json_response(int status, const Json& body);
// Adds a strong ETag over the body; 304 when the request has it already. `cache` is Cache-Control.
[[nodiscard]] Response with_etag(const Call& call, Response response, std::string_view cache);
inline constexpr std::string_view kRevalidate = "private, no-cache";
inline constexpr std::string_view kImmutable = "private, max-age=31536000, immutable";
inline constexpr std::string_view kPublicImmutable = "public, max-age=31536000, immutable";

// --- parameters (invalid-parameter, invalid-time, invalid-digest)

[[nodiscard]] Result<std::optional<Timestamp>> time_parameter(const Call& call,
                                                              std::string_view name);
[[nodiscard]] Result<std::uint64_t> number(std::string_view text, std::string_view name);

// --- lists by key: `after` is the key of the last item of the page before

// The parameter "limit", 1 to 1000; 100 without it.
[[nodiscard]] Result<std::size_t> limit_parameter(const Call& call);
// `next` is the key to continue after; absent at the end.
[[nodiscard]] Result<Response> keyed_list_response(storage::Snapshot& snapshot, const Call& call,
                                                   Json items, std::size_t limit,
                                                   const std::optional<std::string>& next);

// --- lists: limit, cursor, and the answer around the items

struct ListRequest {
  storage::ListBounds bounds;
  Digest query;  // identifies route and filters
};
[[nodiscard]] Result<ListRequest> list_request(const Api& api, const Call& call);

struct ListPage {
  Json items;
  std::optional<LeafIndex> next;
  TreeSize tree_size;
  Digest root;
  std::optional<storage::Total> total{};  // "total", or "total_at_least"
};
[[nodiscard]] Response list_response(const Api& api, const Call& call, const ListRequest& list,
                                     ListPage page);

}  // namespace assay::server
