// SPDX-License-Identifier: Apache-2.0
#include "server/descriptors.h"

#include <algorithm>
#include <string>

#include "server/thread_shares.h"

namespace assay::server {
namespace {

// Standard streams, log, lock, anchor, the sockets of the listeners, what their threads wait with,
// and files that are read for a moment. A service that has just started has 30.
constexpr std::uint64_t kOwn = 64;
// Each connection to the database opens the file and its write-ahead log.
constexpr std::uint64_t kOfDatabaseConnection = 2;
// The plug-in, the socket of its host, and the pipe of each call under way.
constexpr std::uint64_t kOfPlugin = 4 + 2 * kMaxPluginCalls;
// A connection that was accepted and is about to be closed for want of a place.
constexpr std::uint64_t kBeingTurnedAway = 1;
constexpr std::uint64_t kFewestConnections = 16;

}  // namespace

std::uint64_t reserved_descriptors(const Config& config) {
  return kOwn + kOfDatabaseConnection * (config.store_readers + 1) +
         kOfPlugin * config.plugins.size();
}

Result<ServerLimits> within_descriptors(const Config& config, std::uint64_t available) {
  ServerLimits limits = config.limits;
  const std::uint64_t listeners = config.admission ? 2 : 1;
  const std::uint64_t reserved = reserved_descriptors(config) + listeners * kBeingTurnedAway;
  const std::uint64_t each = (available - std::min(available, reserved)) / listeners;
  if (each >= limits.max_connections) {
    return limits;
  }
  if (each < kFewestConnections) {
    return fail(ErrorCode::kInvalidConfig,
                "the process may open " + std::to_string(available) + " files, and needs " +
                    std::to_string(reserved + listeners * kFewestConnections) +
                    " at least; raise the hard limit (RLIMIT_NOFILE)",
                "/limits/max_connections");
  }
  limits.max_connections_per_address = std::max<std::uint64_t>(
      limits.max_connections_per_address * each / limits.max_connections, 1);
  limits.max_connections = each;
  return limits;
}

}  // namespace assay::server
