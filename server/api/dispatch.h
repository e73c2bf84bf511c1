// SPDX-License-Identifier: Apache-2.0
// From a header to an answer: routing, authentication, roles, negotiation, then the handler. What
// happened is told to an observer, which logs and counts.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/api/authenticate.h"
#include "server/api/route.h"
#include "server/http/application.h"

namespace assay::server {

// One request that ended. Never a body, a token or a query value.
struct RequestRecord {
  std::string request_id;
  Listener listener;
  std::string method;     // "-" when it is none that a route has
  std::string route;      // template, "-" when there is none
  std::string principal;  // empty when nobody was authenticated
  int status;
  std::string code;  // of the error; empty for an answer
  std::string why;   // detail of an error of ours (status 500), for the log only
  std::size_t bytes;
  std::chrono::microseconds duration;
};

// Implementations are safe to call from several threads.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_request(const RequestRecord& record) = 0;
  virtual void on_connection(Listener listener, ConnectionEvent event) = 0;
  virtual void on_defect(std::string_view what) = 0;
};

struct DispatchOptions {
  std::chrono::milliseconds request_timeout{30'000};
  // When not empty, admission paths begin with '/' and this secret, and whoever knows it is
  // `admission_principal`; else the admission listener authenticates like the other.
  std::string admission_secret;
  Principal admission_principal;
};

class Dispatcher final : public Application {
 public:
  // All of them must outlive the dispatcher.
  Dispatcher(Api& api, const std::vector<Route>& routes, DispatchOptions options,
             Observer& observer);

  std::unique_ptr<Exchange> open(Listener listener, Head head,
                                 std::optional<Digest> client_key) override;
  Response refuse(Listener listener, const Error& error) override;
  void on_connection(Listener listener, ConnectionEvent event) override;
  void on_defect(std::string_view what) override;

  // What was remembered about principals is stale.
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
};

}  // namespace assay::server
