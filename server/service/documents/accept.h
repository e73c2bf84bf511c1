// SPDX-License-Identifier: Apache-2.0
// Accepting signed documents: parse, verify against the trust store, store, log. Nothing is stored
// unless everything holds; the same document again is found, not stored twice.
#pragma once

#include <string>

#include "schemas/policy_document.h"
#include "schemas/trust.h"
#include "server/service/services.h"

namespace assay::server {

struct Accepted {
  storage::StatementRow row;
  bool created;  // false: it was there already (with these signatures)
  Json receipt;  // see log_receipt; of the newest record that names a signature of the envelope
  Json record;   // that record
};

// A DSSE envelope over an in-toto statement with the merkle-manifest predicate, signed by at least
// one publisher whose role covers the model name.
[[nodiscard]] Result<Accepted> accept_manifest(Services& services, ByteView envelope,
                                               const Principal& actor);

// A DSSE envelope over any other in-toto statement. Lifecycle statements must follow their schema;
// at least one signature must come from a signer key whose role covers stage, predicate type and
// the name of each subject. Placement statements must follow theirs and come from a publisher whose
// role covers the name.
[[nodiscard]] Result<Accepted> accept_attestation(Services& services, ByteView envelope,
                                                  const Principal& actor);

// A DSSE envelope over a policy, signed by an author. Storing it puts nothing in force. conflict
// when another document has this name and version.
[[nodiscard]] Result<Accepted> accept_policy(Services& services, ByteView envelope,
                                             const Principal& actor);

struct PolicyInForce {
  std::string name;
  std::uint64_t version;
  StatementId id;
  std::uint64_t policy_epoch;
  Json receipt;  // null when this very envelope had been applied before
};

// A DSSE envelope over a policy approval for `policy` with `action`, signed by an approver whose
// identity is not one of the policy's authors; to come into force it needs an author whose key
// counts. trust-sequence when it was made for another policy epoch. The same envelope again is
// answered as the first time, or with trust-sequence when that is no longer so.
[[nodiscard]] Result<PolicyInForce> apply_policy_approval(Services& services,
                                                          PolicyApproval::Action action,
                                                          const StatementId& policy,
                                                          ByteView envelope,
                                                          const Principal& actor);

struct TrustApplied {
  storage::Epochs epochs;
  Json receipt;
};

// A DSSE envelope over a trust change, signed by kTrustChangeThreshold operator identities.
[[nodiscard]] Result<TrustApplied> apply_trust_change(Services& services, ByteView envelope,
                                                      const Principal& actor);

// Fills an empty store once; conflict when it has any key or principal. Every public key must
// parse; at least kTrustChangeThreshold operator identities and one admin principal are needed.
[[nodiscard]] Status bootstrap(Services& services, ByteView document);

}  // namespace assay::server
