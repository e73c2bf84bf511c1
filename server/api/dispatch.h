// SPDX-License-Identifier: Apache-2.0
// Dispatch of a request: routing, authentication, role check, content negotiation, then the
// handler. An observer logs and counts requests, connections and defects.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/api/authenticate.h"
#include "server/api/route.h"
#include "server/http/application.h"
#include "server/service/principal_turns.h"

namespace assay::server {

// Longest path of a record, in bytes; of a longer one the start.
inline constexpr std::size_t kMaxRecordedPath = 100;

// A record of one finished request. It never holds a body, a token or a query value.
struct RequestRecord {
  std::string request_id;
  Listener listener;
  std::string method;  // "-" when no route has this method
  std::string route;   // template of the route; "-" when no route matched
  // The path, when no route matched. Empty where paths hold the admission secret and the caller did
  // not show it: a path there may be the secret, misspelt.
  std::string path{};
  std::string address{};  // of the client; of IPv6 its /64 network
  // Name; empty when the caller was not identified. Callers that show a credential are, whatever
  // else is wrong with their request, unless it is overload or a route that is open to all.
  std::string principal;
  int status;
  std::string code;  // error code; empty when the request succeeded
  std::string why;   // detail of an internal error (status 500), for the log only
  std::size_t bytes;
  std::chrono::microseconds duration;
};

// Implementations must be safe to call from several threads.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_request(const RequestRecord& record) = 0;
  virtual void on_connection(Listener listener, ConnectionEvent event) = 0;
  virtual void on_defect(std::string_view what) = 0;
};

// Longer bodies of one principal are handled one at a time: each may take seconds, and a client may
// send several. A second one is refused with `busy`.
inline constexpr std::size_t kMaxBodyAtOnce = 4U << 20;

struct DispatchOptions {
  std::chrono::milliseconds request_timeout{30'000};
  // When not empty, every admission path begins with '/' and this secret. A caller that knows the
  // secret acts as `admission_principal`. When empty, the admission listener authenticates callers
  // as the API listener does.
  std::string admission_secret;
  Principal admission_principal;
};

class Dispatcher final : public Application {
 public:
  // All arguments passed by reference must outlive the dispatcher.
  Dispatcher(Api& api, const std::vector<Route>& routes, DispatchOptions options,
             Observer& observer);

  std::unique_ptr<Exchange> open(Listener listener, Head head,
                                 std::optional<Digest> client_key) override;
  Response refuse(Listener listener, const std::string& peer, const Error& error) override;
  void on_connection(Listener listener, ConnectionEvent event) override;
  void on_defect(std::string_view what) override;

  // Drops cached principals. The caller must do so when trust has changed.
  void forget_principals() { authenticator_.forget(); }

 private:
  friend class ApiExchange;
  std::string new_request_id(Timestamp now);

  Api& api_;
  const std::vector<Route>& routes_;
  Router router_;
  DispatchOptions options_;
  Observer& observer_;
  Authenticator authenticator_;
  PrincipalTurns large_bodies_;
};

}  // namespace assay::server
