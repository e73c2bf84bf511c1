// SPDX-License-Identifier: Apache-2.0
// The HTTPS server. Each listener has an io thread and a thread pool of its own, so no listener
// waits for another. The server stops gracefully. This header shows no type of an HTTP library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "server/http/application.h"
#include "server/http/limits.h"
#include "server/http/steady_time.h"
#include "server/http/tls.h"

namespace assay::server {

// Options of one listener.
struct ListenerOptions {
  Listener kind = Listener::kApi;
  std::string address;     // IPv4 or IPv6
  std::uint16_t port = 0;  // 0: any free port
  TlsOptions tls;
};

// An HTTPS server that runs from start() until stop() or destruction.
class HttpServer {
 public:
  // Binds all listeners, then starts to serve. `app`, `clock` and `time` must outlive the server.
  // `time` is the clock for time limits. Errors: invalid-config when an address cannot be bound or
  // TLS files cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(
      const std::vector<ListenerOptions>& listeners, const ServerLimits& limits, Application& app,
      const Clock& clock, const SteadyTime& time = monotonic_time());
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // Returns the TCP port bound for `kind`; 0 when there is no such listener.
  [[nodiscard]] std::uint16_t port(Listener kind) const;

  // Reads the TLS files of all listeners again. Only connections accepted after this call use them.
  // Errors: as start(); after an error the old files stay in use.
  [[nodiscard]] Status reload(const std::vector<ListenerOptions>& listeners);

  // Stops accepting, closes idle connections, and lets requests in flight finish within
  // shutdown_timeout. Then closes the other connections and waits for the pool. The caller must
  // call stop() only once, and not from a thread of the server.
  void stop();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::server
