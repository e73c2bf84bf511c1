// SPDX-License-Identifier: Apache-2.0
// Enrolment of nodes: a node proves that its worker has its key, and shows evidence (signed by the
// node's hardware) of where that key lives. A refused enrolment leaves the node unchanged.
#pragma once

#include <string>

#include "attestation/dsse.h"
#include "schemas/enrolment.h"
#include "server/service/services.h"

namespace assay::server {

// The result of an enrolment.
struct Enrolled {
  storage::NodeRow node;
  bool renewed;  // true: enrolled again with the same key
  Json ear;      // EAT Attestation Result as a JWT, or null
  Json receipt;  // see log_receipt()
  // True when this worker took the node's name from another worker that called a short time ago.
  bool superseded = false;
};
// Enrols a node. `envelope` is a DSSE envelope over an Enrolment, signed only by the key that the
// Enrolment names. If this envelope was accepted before and its enrolment is still in force,
// returns the same answer. Errors: those of spend_challenge; enrolment-mismatch for another
// audience, platform or identity token; signature-invalid; node-not-registered; key-not-unique;
// node-taken; node-revoked; identity-token-missing; identity-token-rejected; evidence-missing;
// evidence-rejected, with a detail that begins with the code of the evidence type; platform-taken;
// collateral-rollback; limit-exceeded beyond kMaxEnrolmentBytesAnHour.
[[nodiscard]] Result<Enrolled> enrol(Services& services, ByteView envelope, const Principal& actor);

// Returns the node if it belongs to `actor`. Errors: node-not-enrolled; node-taken.
[[nodiscard]] Result<storage::NodeRow> owned_node(storage::NodeReads& reads,
                                                  const std::string& name, const Principal& actor);
// Checks that the node's enrolment is active at `now`. Errors: node-revoked; enrolment-ended;
// enrolment-expired.
[[nodiscard]] Status require_active(const storage::NodeRow& node, Timestamp now);

}  // namespace assay::server
