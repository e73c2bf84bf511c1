// SPDX-License-Identifier: Apache-2.0
// Stores policies and reference sets (schemas/reference_set.h) and puts them in force. An author
// signs a policy or a set, which is stored. Later, an approver puts it in force, or takes it out of
// force. Below, "policy" is both; the name of a set is "set:NAME".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/policy_document.h"
#include "server/service/documents/accept.h"

namespace assay::server {

// Stores a policy: a DSSE envelope signed by an author. Storing a policy does not put it in force.
// Once a version was in force, one of the authors of such versions must be among those who sign a
// further one, as long as an author key of one of them counts. Errors: conflict when another
// document has this name and version; role-not-granted when the name belongs to others.
[[nodiscard]] Result<Accepted> accept_policy(Services& services, ByteView envelope,
                                             const Principal& actor);

// The result of a policy approval.
struct PolicyInForce {
  std::string name;
  std::uint64_t version;
  StatementId id;
  std::uint64_t policy_epoch;
  Json receipt;  // null if this envelope was already applied before
};

struct Activation {
  std::uint64_t policy_epoch;   // that the activation made
  Timestamp time;               // of its log entry
  std::vector<std::string> by;  // identities that approved it; empty in older records
};
// Returns when a stored policy or reference set came into force last; nullopt: never.
[[nodiscard]] Result<std::optional<Activation>> last_activation(storage::Snapshot& snapshot,
                                                                const StatementId& policy);

// Applies a policy approval: a DSSE envelope for `policy` with `action`. The signer must be an
// approver whose identity is not one of the policy's authors. A policy comes into force only if one
// of its authors has a valid key. If this envelope was applied before and its result is unchanged,
// returns the same answer. Errors: trust-sequence when the approval was made for another policy
// epoch (Epochs in storage/governance.h), or when a later approval has changed the result of this
// envelope; conflict when a policy would be in force whose sets are not, or are of a kind that it
// cannot use.
[[nodiscard]] Result<PolicyInForce> apply_policy_approval(Services& services,
                                                          PolicyApproval::Action action,
                                                          const StatementId& policy,
                                                          ByteView envelope,
                                                          const Principal& actor);

}  // namespace assay::server
