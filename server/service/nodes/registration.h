// SPDX-License-Identifier: Apache-2.0
// What ties a node's name to a principal, a Kubernetes node and a platform. Internal to this
// folder.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "schemas/enrolment.h"
#include "server/service/services.h"

namespace assay::server {

// The registration under which `principal` may enrol this node on this platform (empty:
// unmeasured). Nothing when none covers the name and the configuration waives that;
// node-not-registered.
[[nodiscard]] Result<std::optional<Registration>> require_registration(
    const Services& services, storage::NodeReads& reads, const EnrolmentRequest& request,
    const std::string& principal);

// The enrolment's identity token is the one that its request names, and shows what the registration
// asks for: enrolment-mismatch, identity-token-missing, identity-token-rejected.
[[nodiscard]] Status verify_identity(const Services& services,
                                     const std::optional<Registration>& registration,
                                     const Enrolment& enrolment, Timestamp now);

// Makes room on the platform for `node`, which is not stored yet. Older nodes of the same
// registration end, as many as it needs; platform-taken when anybody else has the platform.
[[nodiscard]] Status claim_platform(storage::Transaction& transaction, const storage::NodeRow& node,
                                    const std::optional<Registration>& registration);

// What a change of trust does beyond storing registrations: one name never has two of the same
// rank (conflict), and enrolments that they no longer cover end. So do those under `renewed`,
// registrations that ask for something else than before.
[[nodiscard]] Status settle_registrations(storage::Transaction& transaction,
                                          const std::set<std::string>& renewed);

// Ends an enrolment before its time, with a record.
[[nodiscard]] Status end_node(storage::Transaction& transaction, storage::NodeRow node,
                              const std::string& reason);

}  // namespace assay::server
