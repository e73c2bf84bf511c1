// SPDX-License-Identifier: Apache-2.0
// Nodes: challenges, enrolment, and what answers show of a node. Whatever is refused leaves the
// node as it was; a challenge that was presented is spent all the same.
#pragma once

#include <string>
#include <string_view>

#include "attestation/dsse.h"
#include "schemas/challenge.h"
#include "schemas/enrolment.h"
#include "server/service/services.h"

namespace assay::server {

// A fresh nonce for `actor`. Only enrolments can be asked for: invalid-parameter otherwise.
[[nodiscard]] Result<Challenge> issue_challenge(Services& services, const ChallengeRequest& request,
                                                const Principal& actor);

// A nonce nobody has seen; not stored yet.
[[nodiscard]] Result<Challenge> make_challenge(Services& services, ChallengePurpose purpose,
                                               const std::string& node, const std::string& job,
                                               Timestamp expires_at);
[[nodiscard]] storage::ChallengeRow challenge_row(const Challenge& challenge,
                                                  const std::string& principal);

// Who presents a nonce, and for what.
struct ChallengeUse {
  std::string_view principal;
  ChallengePurpose purpose;
  std::string_view node;
  std::string_view job;
};
// Spends the nonce in a write of its own, whatever comes after. Returns its row. Errors, in this
// order: challenge-unknown, challenge-used, challenge-mismatch, challenge-expired.
[[nodiscard]] Result<storage::ChallengeRow> spend_challenge(Services& services, const Nonce& nonce,
                                                            const ChallengeUse& use, Timestamp now);

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

// Ids of nodes and jobs among the subjects of log records.
[[nodiscard]] std::string node_subject(std::string_view node);
[[nodiscard]] std::string job_subject(std::string_view job);

// The NodeView and the Enrolled answer of schemas/openapi.yaml.
[[nodiscard]] Result<Json> node_view(storage::NodeReads& reads, const storage::NodeRow& node,
                                     Timestamp now);
[[nodiscard]] Json enrolled_view(const Enrolled& enrolled);

}  // namespace assay::server
