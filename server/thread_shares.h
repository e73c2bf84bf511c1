// SPDX-License-Identifier: Apache-2.0
// How many threads may wait for something at a time. Those that wait for plug-ins are of the API,
// of which one at least never waits (but a single one has to). Those that wait for jobs are vital
// threads (server/http/limits.h), of which there is one more.
#pragma once

#include <algorithm>
#include <cstddef>

namespace assay::server {

struct ThreadShares {
  std::size_t plugins = 0;  // for verifier plug-ins, all of them together
  std::size_t jobs = 0;     // workers for their next job
};

// The process of a plug-in takes no more calls at a time (attestation/verifier_host/host.cc).
inline constexpr std::size_t kMaxPluginCalls = 16;

[[nodiscard]] constexpr ThreadShares thread_shares(std::size_t threads, bool has_plugins) {
  ThreadShares shares;
  if (has_plugins) {
    shares.plugins = std::clamp<std::size_t>(threads / 2, 1, kMaxPluginCalls);
  }
  const std::size_t left = threads - std::min(threads, shares.plugins + 1);
  shares.jobs = std::min(threads / 2, left);
  return shares;
}

}  // namespace assay::server
