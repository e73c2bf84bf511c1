// SPDX-License-Identifier: Apache-2.0
// The HTTPS server: listeners, one io thread, a pool for the work, and a graceful stop. No library
// type shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "server/http/application.h"
#include "server/http/tls.h"

namespace assay::server {

struct ServerLimits {
  std::size_t max_connections = 1024;     // of each listener; beyond: accepted and closed at once
  std::size_t max_queued_requests = 256;  // waiting for a thread; beyond: 503 overloaded. A quarter
                                          // is kept for the admission listener
  std::size_t worker_threads = 4;
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds header_timeout{10'000};    // first to last byte of a header
  std::chrono::milliseconds body_timeout{60'000};      // whole body; also to write the answer
  std::chrono::milliseconds idle_timeout{60'000};      // between two requests
  std::chrono::milliseconds shutdown_timeout{15'000};  // for what is in flight at stop()
};

struct ListenerOptions {
  Listener kind = Listener::kApi;
  std::string address;     // IPv4 or IPv6
  std::uint16_t port = 0;  // 0: any free port
  TlsOptions tls;
};

// Runs from start() until stop() or destruction.
class HttpServer {
 public:
  // Binds all listeners, then serves. `app` and `clock` must outlive the server. invalid-config
  // when an address cannot be bound or TLS material cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(
      const std::vector<ListenerOptions>& listeners, const ServerLimits& limits, Application& app,
      const Clock& clock);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // The port bound for `kind`; 0 when there is no such listener.
  [[nodiscard]] std::uint16_t port(Listener kind) const;

  // Stops accepting, closes idle connections, lets requests in flight finish within
  // shutdown_timeout, closes the rest, and waits for the pool. Once; from a thread of the caller.
  void stop();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::server
