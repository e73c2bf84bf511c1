// SPDX-License-Identifier: Apache-2.0
// Metrics of the node agent for Prometheus, served on the loopback address only.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::worker {

// The metrics. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Serves /metrics on 127.0.0.1 and returns the port. `port` 0 selects a free port. Must be called
  // before any other function of this object. Errors: usage when the port is in use.
  [[nodiscard]] Result<std::uint16_t> serve(std::uint16_t port);

  void job(std::string_view result);
  void hashed(std::uint64_t bytes);
  void enrolled_until(Timestamp time);
  void contact(Timestamp time);
  void reader_failed();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::worker
