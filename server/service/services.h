// SPDX-License-Identifier: Apache-2.0
// The shared state of all service functions. Owned by the application; outlives every request.
// docs/glossary.md explains the terms, such as enrolment, evidence and spot check.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "attestation/verifier_registry.h"
#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/core/signer.h"
#include "server/service/collateral_memory.h"
#include "server/service/decision_cache.h"
#include "server/service/decision_gate.h"
#include "server/service/heartbeats.h"
#include "server/service/impact_turn.h"
#include "server/service/last_seen.h"
#include "server/service/namespace_quota.h"
#include "server/service/node_quota.h"
#include "server/service/node_settings.h"
#include "server/service/principal_turns.h"
#include "server/service/unselected.h"
#include "storage/store.h"

namespace assay::server {

class JobBell;

// Events about nodes that are counted, each with one of the results in its comment.
enum class NodeEvent : std::uint8_t {
  kEnrolment,  // "enrolled", "renewed", "superseded" (replaced a live worker), "refused"
  kEvidence,   // "accepted", "rejected"
  kLease,      // "leased", "none", "woken", "turned-away"
  kJob,        // "verified", "mismatch", "incomplete", "failed"
};

// The services. The referenced objects must outlive this struct.
struct Services {
  storage::Store& store;
  const Signer& service_signer;  // signs decisions
  const Clock& clock;
  Random& random;
  std::string log_origin;

  NodeSettings nodes = {};
  // The verifiers of evidence; must outlive this struct.
  const attestation::VerifierRegistry& verifiers = attestation::built_in_verifiers();
  const Signer* ear_signer = nullptr;  // ECDSA P-256; null: appraisals have no token
  std::string version = {};            // version of the build; written into tokens
  JobBell* job_bell = nullptr;         // null: calls never wait for jobs
  std::function<void(NodeEvent, std::string_view result)> count = {};  // may be empty
  NamespaceQuota namespace_quota = {};
  UnselectedWorkloads unselected{store, clock,
                                 namespace_quota};  // the owner must call flush() every second
  // Called when evidence may have become stale; the callee must see to it that reappraise() is
  // called (nodes/reappraise.h). May be empty.
  std::function<void()> evidence_moved = {};
  DecisionCache decisions = {};
  // Returns true when the ages of reports are known (held_clock.h). While the ages are unknown, no
  // decision is made.
  std::function<bool()> time_is_known = [] { return true; };
  LastSeen last_seen = {};     // times of the last calls by workers
  Heartbeats heartbeats = {};  // the newest heartbeat of each node
  NodeQuota node_quota = {};
  ImpactTurn impact_turn = {};
  PrincipalTurns validations = {};                      // of policies
  PrincipalTurns long_manifests = {};                   // read for a request (documents/outlines.h)
  CollateralMemory collateral{kCollateralMemoryBytes};  // authenticated, shared by all quotes
  AsksMemory asks_of_parts{kAsksOfParts};
  DecisionGate decision_gate = {};  // between changes and decisions, both through these services
};

// Checks that the ages of reports are known. Errors: unavailable while they are unknown.
[[nodiscard]] inline Status require_time(const Services& services) {
  return services.time_is_known()
             ? Status()
             : fail(ErrorCode::kUnavailable,
                    "clock-behind: the clock is behind the last write of the log, so the age of "
                    "reports is not known; set the clock right");
}

// Returns the name under which the service requests evidence.
[[nodiscard]] inline const std::string& audience(const Services& services) {
  return services.nodes.audience.empty() ? services.log_origin : services.nodes.audience;
}

// Calls Services::evidence_moved if it is set.
inline void evidence_moved(const Services& services) {
  if (services.evidence_moved) {
    services.evidence_moved();
  }
}

// Calls Services::count if it is set.
inline void count(const Services& services, NodeEvent event, std::string_view result) {
  if (services.count) {
    services.count(event, result);
  }
}

}  // namespace assay::server
