// SPDX-License-Identifier: Apache-2.0
// Heartbeats of node agents. A heartbeat says which model instances in memory (docs/instances.md)
// the agent watches, and in which state each instance is.
#pragma once

#include <string>

#include "schemas/heartbeat.h"
#include "server/service/services.h"

namespace assay::server {

// Accepts a heartbeat: a DSSE envelope over a Heartbeat, signed only by the node's worker key. A
// heartbeat that names another session (Heartbeats::session()), or whose sequence is not above the
// newest one, is ignored, and the answer says what the next heartbeat must name. Changes of state
// since the previous heartbeat, and of what was found in a violated instance, are logged and raise
// the node's version (NodeReads::node_version()). Therefore no decision that did not know of these
// changes is written after the answer. Everything else is kept in memory only. Errors:
// node-not-enrolled; node-taken; node-revoked; enrolment-ended; enrolment-expired;
// signature-invalid; untrusted-signer; payload-type-unknown; report-mismatch for another node's
// heartbeat. Changes of an instance that no job was about raise the version, and are not logged.
// Instances of a pod beyond the limits on changes (service/heartbeats.h) are left out, so that they
// count as unwatched; the log says so once an hour.
[[nodiscard]] Result<HeartbeatAnswer> take_heartbeat(Services& services, const std::string& node,
                                                     ByteView envelope, const Principal& actor);

}  // namespace assay::server
