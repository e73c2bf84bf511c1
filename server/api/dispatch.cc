// SPDX-License-Identifier: Apache-2.0
#include "server/api/dispatch.h"

#include <algorithm>
#include <exception>

#include "schemas/core/random.h"
#include "server/api/origin.h"
#include "server/api/problem_details.h"
#include "server/http/negotiate.h"
#include "server/http/target.h"

namespace assay::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<RoutePattern> patterns_of(const std::vector<Route>& routes) {
  std::vector<RoutePattern> patterns;
  std::ranges::transform(routes, std::back_inserter(patterns), &Route::pattern);
  return patterns;
}

Status check_parameters(const Request& request, const Route& route) {
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(route.parameters, name) == route.parameters.end()) {
      return fail(ErrorCode::kUnknownParameter, "this route has no such query parameter", name);
    }
    if (std::ranges::find(seen, name) != seen.end()) {
      return fail(ErrorCode::kInvalidParameter, "give each query parameter once", name);
    }
    seen.push_back(name);
  }
  return {};
}

Status check_body(const Request& request, const Route& route, std::uint64_t content_length) {
  const std::string type = media_type(request.header("content-type"));
  if (!route.consumes.empty() && std::ranges::find(route.consumes, type) == route.consumes.end()) {
    return fail(ErrorCode::kUnsupportedMediaType,
                "this route takes " + std::string(route.consumes.front()));
  }
  if (content_length > route.body_limit) {
    return fail(ErrorCode::kPayloadTooLarge,
                "this route takes " + std::to_string(route.body_limit) + " bytes");
  }
  return {};
}

bool has_role(const Principal& principal, const Access& access) {
  return access.kind != Access::Kind::kRoles ||
         std::ranges::any_of(access.roles,
                             [&](AccessRole role) { return principal.roles.contains(role); });
}

std::vector<std::string_view> names(const AccessRoles& roles) {
  std::vector<std::string_view> list;
  std::ranges::transform(roles, std::back_inserter(list),
                         [](AccessRole role) { return name(role); });
  return list;
}

std::string listed(const AccessRoles& roles) {
  std::string text;
  for (const std::string_view role : names(roles)) {
    text += (text.empty() ? "" : ", ") + std::string(role);
  }
  return text.empty() ? "none" : text;
}

Status check_roles(const Principal& principal, const Access& access) {
  if (has_role(principal, access)) {
    return {};
  }
  return fail(ErrorCode::kForbidden, "the caller " + principal.name +
                                         " has the roles: " + listed(principal.roles) +
                                         "; one of these is needed: " + listed(access.roles));
}

}  // namespace

// One request. Which thread may call what: server/http/application.h.
class ApiExchange final : public Exchange {
 public:
  ApiExchange(Dispatcher& owner, Listener listener, Head head, std::optional<Digest> client_key)
      : owner_(owner), peer_(std::move(head.peer)), content_length_(head.content_length) {
    const Timestamp now = owner.api_.services.clock.now();
    const auto id = head.headers.find("x-request-id");
    const bool given = id != head.headers.end() && is_request_id(id->second);
    request_.listener = listener;
    request_.method = head.method.value_or(Method::kGet);
    request_.request_id = given ? id->second : owner.new_request_id(now);
    request_.client_key = std::move(client_key);
    request_.received_at = now;
    request_.deadline = now + owner.options_.request_timeout;
    request_.headers = std::move(head.headers);
    if (const Status routed = find_route(head); !routed) {
      error_ = routed.error();
    }
    if (head.method) {
      method_ = name(*head.method);
    }
  }

  Admission admit_now() override {
    if (error_) {
      return identify();
    }
    if (access_.kind == Access::Kind::kPublic) {
      const Admission settled = settle(std::make_shared<const Principal>());
      const bool at_once = route_ != nullptr && route_->at_once;
      return at_once && settled == Admission::kAdmitted ? Admission::kAtOnce : settled;
    }
    if (secret_shown_) {
      return settle(std::make_shared<const Principal>(owner_.options_.admission_principal));
    }
    Result<Credential> credential = credential_of(request_);
    if (!credential) {
      return fall(std::move(credential).error());
    }
    credential_ = std::move(*credential);
    if (credential_->kind == CredentialKind::kClientCertificate) {
      if (const Status own = check_same_origin(request_); !own) {
        return fall(own.error());
      }
    }
    const auto known = owner_.authenticator_.remembered(*credential_, request_.received_at);
    if (!known) {
      return Admission::kAskPool;
    }
    return *known ? settle(**known) : fall(known->error());
  }

  Admission admit() override {
    return guarded([this] {
      auto principal = owner_.authenticator_.look_up(owner_.api_.services.store, *credential_,
                                                     request_.received_at);
      if (error_) {
        principal_ = principal ? *std::move(principal) : nullptr;
        return Admission::kRefused;
      }
      return principal ? settle(*std::move(principal)) : fall(std::move(principal).error());
    });
  }

  void refuse(Error error) override { error_ = std::move(error); }

  Response refusal() override {
    Response response = problem(*error_, request_.path, request_.request_id, about_roles());
    if (!allow_.empty()) {
      response.headers.emplace_back("Allow", allow_);
    }
    return finished(std::move(response));
  }

  bool is_vital() const override { return route_ != nullptr && route_->vital; }

  // Who asks for a public route stays unknown, whatever credential is shown.
  bool is_identified() const override { return principal_ != nullptr && !principal_->name.empty(); }

  std::string caller() const override {
    if (is_identified()) {
      return principal_->name;
    }
    return credential_ ? owner_.authenticator_.last_holder(*credential_) : std::string();
  }

  void received() override {
    request_.deadline = owner_.api_.services.clock.now() + owner_.options_.request_timeout;
  }

  Response handle(Bytes body) override {
    request_.body = std::move(body);
    Response response;
    const Admission done = guarded([&] {
      if (owner_.api_.services.clock.now() > request_.deadline) {
        return fall({ErrorCode::kOverloaded, "the request waited too long", ""});
      }
      if (route_ == nullptr) {  // OPTIONS
        response.status = 204;
        response.headers.emplace_back("Allow", allow_);
        return Admission::kAdmitted;
      }
      PrincipalTurns::Held turn;
      if (request_.body.size() > kMaxBodyAtOnce) {
        turn = owner_.large_bodies_.try_take(principal_->name);
        if (turn == nullptr) {
          return fall({ErrorCode::kBusy, "another long document of this principal is read", ""});
        }
      }
      Result<Response> answer =
          route_->handler(owner_.api_, Call{request_, *principal_, media_type_});
      if (!answer) {
        return fall(std::move(answer).error());
      }
      response = *std::move(answer);
      return Admission::kAdmitted;
    });
    return done == Admission::kAdmitted ? finished(std::move(response)) : refusal();
  }

  void close(int status, std::size_t bytes) override {
    RequestRecord record;
    record.request_id = request_.request_id;
    record.listener = request_.listener;
    record.method = method_;
    record.route = route_ == nullptr ? "-" : route_->pattern.path;
    record.principal = principal_ == nullptr ? "" : principal_->name;
    record.path = route_ == nullptr ? request_.path.substr(0, kMaxRecordedPath) : "";
    record.address = peer_;
    record.status = status;
    record.code = error_ ? std::string(info(error_->code).code) : "";
    record.why = error_ && status == 500 ? to_string(*error_) : "";
    record.bytes = bytes;
    record.duration =
        std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - started_);
    owner_.observer_.on_request(record);
  }

 private:
  Status find_route(const Head& head) {
    ASSAY_ASSIGN(Target target, parse_target(head.target));
    request_.query = std::move(target.query);
    std::string path = std::move(target.path);
    ASSAY_TRY(strip_secret(path));
    request_.path = std::move(path);
    Router::Match match = owner_.router_.find(request_.listener, head.method, request_.path);
    if (match.kind == Router::Match::Kind::kNotFound) {
      return fail(ErrorCode::kNotFound, "there is no such route");
    }
    if (match.kind == Router::Match::Kind::kFound) {
      route_ = &owner_.routes_[match.route];
      access_ = route_->access;
      request_.captures = std::move(match.captures);
      return check_bodiless(head);
    }
    allow_ = allow_header(match.allowed);
    if (head.method != Method::kOptions) {
      return fail(ErrorCode::kMethodNotAllowed, "use one of: " + allow_);
    }
    ASSAY_TRY(check_bodiless(head));
    const bool open = std::ranges::any_of(match.others, [this](std::size_t index) {
      return owner_.routes_[index].access.kind == Access::Kind::kPublic;
    });
    access_.kind = open ? Access::Kind::kPublic : Access::Kind::kAnyRole;
    return {};
  }

  // A body that no handler reads would be the next request to somebody in between.
  static Status check_bodiless(const Head& head) {
    const bool takes_body = head.method == Method::kPost || head.method == Method::kPut;
    if (!takes_body && head.content_length != 0) {
      return fail(ErrorCode::kBadRequest, "this method takes no body");
    }
    return {};
  }

  // Takes "/<secret>" off the front of an admission path.
  Status strip_secret(std::string& path) {
    const std::string& secret = owner_.options_.admission_secret;
    if (request_.listener != Listener::kAdmission || secret.empty()) {
      return {};
    }
    const std::string prefix = "/" + secret;
    const std::string_view shown = std::string_view(path).substr(0, prefix.size());
    if (!constant_time_equal(as_bytes(shown), as_bytes(prefix))) {
      return fail(ErrorCode::kNotFound, "there is no such route");
    }
    path.erase(0, prefix.size());
    secret_shown_ = true;
    if (path.empty() || path.front() != '/') {
      return fail(ErrorCode::kNotFound, "there is no such route");
    }
    return {};
  }

  // The request is refused whoever sends it. Whose it is the log says all the same.
  Admission identify() {
    if (secret_shown_) {
      principal_ = std::make_shared<const Principal>(owner_.options_.admission_principal);
      return Admission::kRefused;
    }
    Result<Credential> credential = credential_of(request_);
    if (!credential) {
      return Admission::kRefused;
    }
    credential_ = std::move(*credential);
    const auto known = owner_.authenticator_.remembered(*credential_, request_.received_at);
    if (!known) {
      return Admission::kAskPool;
    }
    principal_ = *known ? **known : nullptr;
    return Admission::kRefused;
  }

  // The principal is known: what else the header must say.
  Admission settle(Authenticator::PrincipalPtr principal) {
    principal_ = std::move(principal);
    if (route_ == nullptr) {
      return Admission::kAdmitted;
    }
    const Status checked = check();
    return checked ? Admission::kAdmitted : fall(checked.error());
  }

  Status check() {
    ASSAY_TRY(check_roles(*principal_, access_));
    ASSAY_TRY(check_parameters(request_, *route_));
    ASSAY_TRY(check_body(request_, *route_, content_length_));
    if (route_->produces.empty()) {
      return {};
    }
    const auto type = negotiate(request_.header("accept"), route_->produces);
    if (!type) {
      std::string list;
      for (const std::string_view available : route_->produces) {
        list += (list.empty() ? "" : ", ") + std::string(available);
      }
      return fail(ErrorCode::kNotAcceptable, "available: " + list);
    }
    media_type_ = *type;
    return {};
  }

  // For a caller without the roles of the route: who it is, what it has, and what it needs.
  Json about_roles() const {
    if (error_->code != ErrorCode::kForbidden || principal_ == nullptr ||
        has_role(*principal_, access_)) {
      return Json::object();
    }
    return {{"caller", principal_->name},
            {"roles", names(principal_->roles)},
            {"needed", names(access_.roles)}};
  }

  Admission fall(Error error) {
    error_ = std::move(error);
    return Admission::kRefused;
  }

  // Runs a step of the pool; an exception is a defect, and an internal error.
  template <typename Step>
  Admission guarded(const Step& step) {
    try {
      return step();
    } catch (const std::exception& error) {
      owner_.observer_.on_defect(error.what());
    } catch (...) {
      owner_.observer_.on_defect("unknown exception in a handler");
    }
    return fall({ErrorCode::kInternal, "exception in a handler", ""});
  }

  Response finished(Response response) const {
    response.headers.emplace_back("X-Request-Id", request_.request_id);
    return response;
  }

  Dispatcher& owner_;
  const std::string peer_;
  const SteadyClock::time_point started_ = SteadyClock::now();
  const std::uint64_t content_length_;
  Request request_{};
  std::string_view method_ = "-";
  const Route* route_ = nullptr;  // null for OPTIONS, and when nothing was found
  Access access_{Access::Kind::kAnyRole, {}};
  std::string allow_;
  std::string_view media_type_;
  bool secret_shown_ = false;
  std::optional<Credential> credential_;
  Authenticator::PrincipalPtr principal_;
  std::optional<Error> error_;
};

Dispatcher::Dispatcher(Api& api, const std::vector<Route>& routes, DispatchOptions options,
                       Observer& observer)
    : api_(api),
      routes_(routes),
      router_(patterns_of(routes)),
      options_(std::move(options)),
      observer_(observer) {}

std::unique_ptr<Exchange> Dispatcher::open(Listener listener, Head head,
                                           std::optional<Digest> client_key) {
  return std::make_unique<ApiExchange>(*this, listener, std::move(head), std::move(client_key));
}

std::string Dispatcher::new_request_id(Timestamp now) {
  // Without randomness there is no unpredictable id; one made of the time still finds the line.
  return make_uuid_v7(api_.services.random, now).value_or("unidentified-" + to_rfc3339(now));
}

Response Dispatcher::refuse(Listener listener, const std::string& peer, const Error& error) {
  RequestRecord record;
  record.request_id = new_request_id(api_.services.clock.now());
  record.listener = listener;
  record.method = "-";
  record.route = "-";
  record.address = peer;
  record.status = info(error.code).http_status;
  record.code = info(error.code).code;
  record.bytes = 0;
  record.duration = {};
  Response response = problem(error, "", record.request_id);
  response.headers.emplace_back("X-Request-Id", record.request_id);
  record.bytes = response.body.size();
  observer_.on_request(record);
  return response;
}

void Dispatcher::on_connection(Listener listener, ConnectionEvent event) {
  observer_.on_connection(listener, event);
}

void Dispatcher::on_defect(std::string_view what) { observer_.on_defect(what); }

}  // namespace assay::server
