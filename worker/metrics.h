// SPDX-License-Identifier: Apache-2.0
// Metrics of the node agent for Prometheus, served on the loopback address alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::worker {

// Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Serves /metrics on 127.0.0.1; 0 takes a free port. Returns the port. usage when it is taken.
  // Before any other use of this object.
  [[nodiscard]] Result<std::uint16_t> serve(std::uint16_t port);

  void job(std::string_view result);
  void hashed(std::uint64_t bytes);
  void enrolled_until(Timestamp time);
  void contact(Timestamp time);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::worker
