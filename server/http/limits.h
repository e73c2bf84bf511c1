// SPDX-License-Identifier: Apache-2.0
// Limits of the HTTPS server: how many connections, bytes and threads, and how long each step may
// take. server/config.cc reads them from the configuration.
#pragma once

#include <chrono>
#include <cstddef>

namespace assay::server {

// Limits of the server. Connections, requests and bytes are counted separately for each listener,
// and each caller has a share of them (fair_shares.h).
struct ServerLimits {
  std::size_t max_connections = 1024;             // beyond: ends a connection (connections.h)
  std::size_t max_connections_per_address = 768;  // of one client; an IPv6 /64 is one address
  // Waiting for a thread; beyond: 503.
  std::size_t max_queued_requests = 256;
  // Bytes of bodies being received and of answers that clients have not read yet; beyond: 503
  // overloaded. This is the limit of the API listener; the admission listener has its own limit, a
  // quarter of this.
  std::size_t max_bytes_in_flight = 256U << 20;
  std::size_t worker_threads = 4;     // of the API listener
  std::size_t admission_threads = 2;  // of the admission listener
  std::size_t vital_threads = 1;  // for requests that are vital (application.h), beside the others
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds header_timeout{10'000};    // first to last byte of a header
  std::chrono::milliseconds body_timeout{60'000};      // to read a body, and to write an answer
  std::chrono::milliseconds idle_timeout{60'000};      // between two requests of a connection
  std::chrono::milliseconds shutdown_timeout{15'000};  // for requests in flight at stop()
};

}  // namespace assay::server
