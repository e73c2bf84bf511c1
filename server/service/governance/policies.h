// SPDX-License-Identifier: Apache-2.0
// Stores policies and puts them in force. An author signs a policy, which is stored. Later, an
// approver puts the policy in force, or takes it out of force.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/policy_document.h"
#include "server/service/documents/accept.h"

namespace assay::server {

// Stores a policy: a DSSE envelope signed by an author. Storing a policy does not put it in force.
// Errors: conflict when another document has this name and version.
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

// Applies a policy approval: a DSSE envelope for `policy` with `action`. The signer must be an
// approver whose identity is not one of the policy's authors. A policy comes into force only if one
// of its authors has a valid key. If this envelope was applied before and its result is unchanged,
// returns the same answer. Errors: trust-sequence when the approval was made for another policy
// epoch (Epochs in storage/governance.h), or when a later approval has changed the result of this
// envelope.
[[nodiscard]] Result<PolicyInForce> apply_policy_approval(Services& services,
                                                          PolicyApproval::Action action,
                                                          const StatementId& policy,
                                                          ByteView envelope,
                                                          const Principal& actor);

}  // namespace assay::server
