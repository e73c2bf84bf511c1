// SPDX-License-Identifier: Apache-2.0
// Enrolment of nodes: proof that the worker has its key, and evidence of where that key lives. What
// is refused leaves the node as it was.
#pragma once

#include <string>

#include "attestation/dsse.h"
#include "schemas/enrolment.h"
#include "server/service/services.h"

namespace assay::server {

struct Enrolled {
  storage::NodeRow node;
  bool renewed;             // by the key that the node had
  Json ear;                 // EAT Attestation Result as a JWT, or null
  Json receipt;             // see log_receipt
  bool superseded = false;  // another worker had the name, and was heard of a short time ago
};
// A DSSE envelope over an Enrolment, signed by the key that it names and by no other. The same
// envelope again answers as the first time while that enrolment counts. Errors: those of
// spend_challenge; enrolment-mismatch for another audience, platform or identity token;
// signature-invalid; node-not-registered; key-not-unique, node-taken, node-revoked;
// identity-token-missing, identity-token-rejected; evidence-missing; evidence-rejected, whose
// detail begins with the code of the evidence type; platform-taken; collateral-rollback.
[[nodiscard]] Result<Enrolled> enrol(Services& services, ByteView envelope, const Principal& actor);

// The node, when it is `actor`'s: node-not-enrolled, node-taken.
[[nodiscard]] Result<storage::NodeRow> owned_node(storage::NodeReads& reads,
                                                  const std::string& name, const Principal& actor);
// node-revoked, enrolment-ended, enrolment-expired.
[[nodiscard]] Status require_active(const storage::NodeRow& node, Timestamp now);

// True when `envelope` has exactly one signature and `public_key` (SubjectPublicKeyInfo DER) made
// it: signature-invalid, and untrusted-signer when the signature names another key.
[[nodiscard]] Status verify_single_signature(const attestation::Envelope& envelope,
                                             ByteView public_key);

}  // namespace assay::server
