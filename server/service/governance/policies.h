// SPDX-License-Identifier: Apache-2.0
// Policies: stored when an author signed them, put in force and out of it by an approver.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/policy_document.h"
#include "server/service/documents/accept.h"

namespace assay::server {

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

}  // namespace assay::server
