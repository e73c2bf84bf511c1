// SPDX-License-Identifier: Apache-2.0
// Trust and the policies in force at a decision, followed from the first trust on: each change of
// trust is signed by two operators, each approval of a policy by somebody else than its authors.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attestation/identities/certificate_signers.h"
#include "cli/decisions/documents_of.h"
#include "cli/decisions/proven_log.h"
#include "policy/withdrawn_fact.h"
#include "schemas/trust.h"

namespace assay::cli {

// A policy or a reference set that came into force once.
struct GovernedPolicy {
  std::string name;  // of a reference set "set:NAME"
  std::string payload_type;
  Bytes payload;
  std::set<std::string> authors;    // identities
  std::set<std::string> approvers;  // identities that signed its last activation
};

struct Governed {
  std::vector<TrustedKey> keys;
  attestation::TrustedRoots roots;
  std::uint64_t trust_epoch = 0;
  std::uint64_t policy_epoch = 0;
  std::map<StatementId, GovernedPolicy> policies;
  std::map<std::string, StatementId> in_force;             // by name
  std::map<StatementId, policy::WithdrawnFact> withdrawn;  // by operators
  std::optional<DocumentId> first_trust;

  [[nodiscard]] const TrustedKey* key(const KeyId& id) const;
};

// Returns the signatures of an envelope that verify under `governed` at the time of its record.
[[nodiscard]] Result<std::vector<attestation::VerifiedSignature>> signatures_at(
    const Governed& governed, const attestation::Envelope& envelope, Timestamp time);

// Follows the records below `known`, the size of the log that the decision knew. Errors:
// export-inconsistent when a change or an approval is missing, out of order, or not what its record
// says; those of attestation::require_signers() for a change that too few signed.
[[nodiscard]] Result<Governed> follow_governance(const ProvenLog& log, TreeSize known,
                                                 ExportedDocuments& documents);

}  // namespace assay::cli
