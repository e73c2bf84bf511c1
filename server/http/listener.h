// SPDX-License-Identifier: Apache-2.0
// The HTTPS server: listeners, each with an io thread and a pool for its work, so that none waits
// for another, and a graceful stop. No library type shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "server/http/application.h"
#include "server/http/steady_time.h"
#include "server/http/tls.h"

namespace assay::server {

// Connections, requests and bytes are counted for each listener.
struct ServerLimits {
  std::size_t max_connections = 1024;             // beyond: a silent one ends, else the new one
  std::size_t max_connections_per_address = 768;  // likewise; an IPv6 /64 is one address
  std::size_t max_queued_requests = 256;          // that wait for a thread; beyond: 503 overloaded
  // Bytes of bodies under way and of answers that are not read yet; beyond: 503 overloaded. The
  // admission listener has a quarter of it, beside that.
  std::size_t max_bytes_in_flight = 256U << 20;
  std::size_t worker_threads = 4;     // of the API listener
  std::size_t admission_threads = 2;  // of the admission listener
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
  // Binds all listeners, then serves. `app`, `clock` and `time`, by which limits pass, must outlive
  // the server. invalid-config when an address cannot be bound or TLS material cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(
      const std::vector<ListenerOptions>& listeners, const ServerLimits& limits, Application& app,
      const Clock& clock, const SteadyTime& time = monotonic_time());
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // The port bound for `kind`; 0 when there is no such listener.
  [[nodiscard]] std::uint16_t port(Listener kind) const;

  // Reads the TLS files of all listeners again; connections made from now on use them. Errors as
  // for start(), and nothing has changed then.
  [[nodiscard]] Status reload(const std::vector<ListenerOptions>& listeners);

  // Stops accepting, closes idle connections, lets requests in flight finish within
  // shutdown_timeout, closes the rest, and waits for the pool. Once; from a thread of the caller.
  void stop();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::server
