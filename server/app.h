// SPDX-License-Identifier: Apache-2.0
// The program as one object: keys, store, services, API, listeners, in the order they depend on
// each other.
#pragma once

#include <memory>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "server/config.h"
#include "server/log.h"

namespace assay::server {

class App {
 public:
  // Opens everything and serves. `clock`, `random` and `log` must outlive the app. The error says
  // what an operator has to do.
  [[nodiscard]] static Result<std::unique_ptr<App>> start(const Config& config, const Clock& clock,
                                                          Random& random, Log& log);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  [[nodiscard]] std::uint16_t port(Listener kind) const;
  // Reads certificate and key of the listeners again and opens the log file anew. What cannot be
  // read leaves what was there, and a line in the log.
  void reload();
  // Notes when the certificate ends, in metrics, and in the log from 30 days before, once a day.
  void watch_certificate();
  // Graceful; see HttpServer::stop.
  void stop();

 private:
  struct Impl;
  explicit App(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The version of the build.
[[nodiscard]] std::string_view version();

}  // namespace assay::server
