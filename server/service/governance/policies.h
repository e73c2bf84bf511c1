// SPDX-License-Identifier: Apache-2.0
// Policies. An author signs a policy, which is then stored. An approver puts the policy in force
// and takes it out of force.
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
  Json receipt;  // null when the same envelope had been applied before
};

// Applies a policy approval: a DSSE envelope for `policy` with `action`. The signer must be an
// approver whose identity is not one of the policy's authors. To come into force, the policy needs
// an author whose key counts. The same envelope again gets the same answer while its result stands.
// Errors: trust-sequence when the approval was made for another policy epoch, or when the result of
// the same envelope no longer stands.
[[nodiscard]] Result<PolicyInForce> apply_policy_approval(Services& services,
                                                          PolicyApproval::Action action,
                                                          const StatementId& policy,
                                                          ByteView envelope,
                                                          const Principal& actor);

}  // namespace assay::server
