// SPDX-License-Identifier: Apache-2.0
// Heartbeats of node agents: which instances in memory they watch, and in what state these are.
#pragma once

#include <string>

#include "schemas/heartbeat.h"
#include "server/service/services.h"

namespace assay::server {

// Takes a DSSE envelope over a Heartbeat, signed by the node's worker key and by no other. One of
// another session, or not above the newest sequence, does not count, and the answer says what the
// next one needs. What changed since the one before is logged and moves the node's version, so that
// no decision that did not know it is written after the answer; the rest is kept in memory alone.
// Errors: node-not-enrolled, node-taken, node-revoked, enrolment-ended, enrolment-expired,
// signature-invalid, untrusted-signer, payload-type-unknown, report-mismatch for another node's.
[[nodiscard]] Result<HeartbeatAnswer> take_heartbeat(Services& services, const std::string& node,
                                                     ByteView envelope, const Principal& actor);

}  // namespace assay::server
