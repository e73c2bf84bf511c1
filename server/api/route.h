// SPDX-License-Identifier: Apache-2.0
// Routes, the arguments of their handlers, and the helpers that all handlers share.
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

// Everything that a handler may use. Owned by the application; outlives every request.
struct Api {
  Services& services;
  CursorCodec cursors;
  std::string version;
  std::string log_verifier_key;               // C2SP vkey form
  Json jwks;                                  // the answer of /.well-known/jwks.json
  std::function<std::string()> metrics;       // Prometheus text
  std::function<void()> trust_changed;        // called after a change of trust or a withdrawal
  std::function<void(bool allowed)> decided;  // called after each decision
  const Signer* log_key = nullptr;            // signs receipts in COSE; null: there are none
};

// One authenticated, well-formed call.
struct Call {
  const Request& request;
  const Principal& principal;   // on a public route: an empty principal without roles
  std::string_view media_type;  // of the response, as negotiated

  // Returns the value of a query parameter. Returns nullopt when the parameter is absent. The
  // dispatcher has already refused unknown and repeated parameters.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  // Returns the text of a capture of the route's template. The caller must pass the name of a
  // capture of that template.
  [[nodiscard]] const std::string& capture(const std::string& name) const {
    return request.captures.at(name);
  }
};

using Handler = Result<Response> (*)(Api& api, const Call& call);

struct Access {
  enum class Kind { kPublic, kAnyRole, kRoles };
  Kind kind;
  AccessRoles roles;  // any one of these roles is enough
};

struct Route {
  RoutePattern pattern;
  Access access;
  std::vector<std::string_view> parameters;  // allowed query parameters; others are refused
  std::size_t body_limit = 0;                // bytes
  std::vector<std::string_view> consumes;    // media types that the body may have
  std::vector<std::string_view> produces;    // media types of the response, best first; empty: any
  Handler handler;
  // True for a public route without a body whose handler takes microseconds and waits for nothing.
  // Such a request is answered on the io thread, so that it never waits for a thread of the pool.
  bool at_once = false;
  // True for what an agent must be able to say in time, however busy the API is (application.h).
  bool vital = false;
};

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kDsse = "application/vnd.dsse.envelope.v1+json";
inline constexpr std::string_view kBundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
inline constexpr std::string_view kText = "text/plain; charset=utf-8";
inline constexpr std::string_view kPlainText = "text/plain";
inline constexpr std::string_view kBinary = "application/octet-stream";
inline constexpr std::string_view kCoseReceipt = "application/scitt-receipt+cose";

// Returns the routes of the whole API.
[[nodiscard]] const std::vector<Route>& routes();
// Returns the same routes, except that log records are readable without authentication
// (configuration: log.public_entries).
[[nodiscard]] const std::vector<Route>& routes_with_public_entries();

// --- responses

[[nodiscard]] Response json_response(int status, const Json& body);
// Adds a strong ETag over the body. Returns a 304 response instead when the request's If-None-Match
// lists this ETag. `cache` is the value of Cache-Control.
[[nodiscard]] Response with_etag(const Call& call, Response response, std::string_view cache);
inline constexpr std::string_view kRevalidate = "private, no-cache";
inline constexpr std::string_view kImmutable = "private, max-age=31536000, immutable";
inline constexpr std::string_view kPublicImmutable = "public, max-age=31536000, immutable";

// --- parameters. Errors: invalid-parameter, invalid-time, invalid-digest.

[[nodiscard]] Result<std::optional<Timestamp>> time_parameter(const Call& call,
                                                              std::string_view name);
[[nodiscard]] Result<std::uint64_t> number(std::string_view text, std::string_view name);

// --- lists by key: `after` is the key of the last item on the previous page

// Returns the parameter "limit", 1 to 1000; 100 when it is absent.
[[nodiscard]] Result<std::size_t> limit_parameter(const Call& call);
// Builds the response of one page. `next` is the key to continue after; nullopt at the end of the
// list.
[[nodiscard]] Result<Response> keyed_list_response(storage::Snapshot& snapshot, const Call& call,
                                                   Json items, std::size_t limit,
                                                   const std::optional<std::string>& next);

// --- lists: limit, cursor, and the response around the items

struct ListRequest {
  storage::ListBounds bounds;
  Digest query;  // identifies the route and the filters
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
