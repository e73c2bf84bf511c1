// SPDX-License-Identifier: Apache-2.0
// The whole program as one object. It creates keys, store, services, API and listeners in the order
// of their dependencies.
#pragma once

#include <memory>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "server/config.h"
#include "server/operational_log.h"

namespace assay::server {

class App {
 public:
  // Opens everything and starts serving. `clock`, `random` and `log` must outlive the app. The
  // error tells the operator what to do.
  [[nodiscard]] static Result<std::unique_ptr<App>> start(const Config& config, const Clock& clock,
                                                          Random& random, Log& log);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  // Returns the bound TCP port of a listener.
  [[nodiscard]] std::uint16_t port(Listener kind) const;
  // Reads the certificate and key of the listeners again, and reopens the log file. If either step
  // fails, the old files stay in use and the log gets an error line.
  void reload();
  // Publishes the end of the certificate as a metric. During the last 30 days before this end,
  // writes a log line once a day. Also updates the metrics of the clock.
  void watch_certificate();
  // Stops gracefully; see HttpServer::stop.
  void stop();

 private:
  struct Impl;
  explicit App(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the version of the build.
[[nodiscard]] std::string_view version();

}  // namespace assay::server
