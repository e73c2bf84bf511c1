// SPDX-License-Identifier: Apache-2.0
// What every service function works with. Owned by the application; outlives every request.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/core/signer.h"
#include "server/service/decision_cache.h"
#include "server/service/heartbeats.h"
#include "server/service/last_seen.h"
#include "server/service/namespace_quota.h"
#include "server/service/unselected.h"
#include "storage/store.h"

namespace assay::server {

class JobBell;

// How nodes are treated; from the configuration.
struct NodeSettings {
  std::string audience;                      // who asks for evidence; empty: the log's origin
  std::chrono::seconds challenge_life{120};  // of a nonce that is answered at once
  std::chrono::seconds enrolment_life{86'400};
  std::chrono::seconds lease_life{60};
  bool dangerous_allow_unmeasured = false;    // nodes may enrol without evidence
  bool dangerous_allow_unregistered = false;  // names need no registration
  // Directory with models by name, of which spans are read for spot checks; empty: none are made.
  std::string mirror;
  std::size_t spot_checks = 16;  // spans of one check
};

// What is counted about nodes, each with a result from a closed set.
enum class NodeEvent : std::uint8_t {
  kEnrolment,  // "enrolled", "renewed", "superseded" (a live worker), "refused"
  kEvidence,   // "accepted", "rejected"
  kLease,      // "leased", "none", "woken", "turned-away"
  kJob,        // "verified", "mismatch", "incomplete", "failed"
};

struct Services {
  storage::Store& store;
  const Signer& service_signer;  // signs decisions
  const Clock& clock;
  Random& random;
  std::string log_origin;

  NodeSettings nodes = {};
  const Signer* ear_signer = nullptr;  // ECDSA P-256; null: appraisals come without a token
  std::string version = {};            // of the build, as tokens name it
  JobBell* job_bell = nullptr;         // null: nobody waits for a job
  std::function<void(NodeEvent, std::string_view result)> count = {};  // may be empty
  NamespaceQuota namespace_quota = {};
  UnselectedWorkloads unselected{store, clock,
                                 namespace_quota};  // flush() once a second, and at the end
  // Called when evidence may have become stale: somebody should reappraise(). May be empty.
  std::function<void()> evidence_moved = {};
  DecisionCache decisions = {};
  // Whether ages can be told (held_clock.h). While they cannot, nothing is decided.
  std::function<bool()> time_is_known = [] { return true; };
  LastSeen last_seen = {};     // of nodes
  Heartbeats heartbeats = {};  // of nodes, newest only
};

// unavailable while ages cannot be told.
[[nodiscard]] inline Status require_time(const Services& services) {
  return services.time_is_known()
             ? Status()
             : fail(ErrorCode::kUnavailable,
                    "clock-behind: the clock is behind the last write of the log, so the age of "
                    "reports is not known; set the clock right");
}

// The name under which the service asks for evidence.
[[nodiscard]] inline const std::string& audience(const Services& services) {
  return services.nodes.audience.empty() ? services.log_origin : services.nodes.audience;
}

inline void evidence_moved(const Services& services) {
  if (services.evidence_moved) {
    services.evidence_moved();
  }
}

inline void count(const Services& services, NodeEvent event, std::string_view result) {
  if (services.count) {
    services.count(event, result);
  }
}

}  // namespace assay::server
