// SPDX-License-Identifier: Apache-2.0
// Registrations, which bind a node's name to a principal (the caller that may enrol the node), a
// Kubernetes node and a platform. Internal to this folder.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "schemas/enrolment.h"
#include "server/service/services.h"

namespace assay::server {

// Returns the registration under which `principal` may enrol the node on its platform; an empty
// platform means that the node enrols without evidence. Returns nullopt when no registration covers
// the name and the configuration allows unregistered nodes. Errors: node-not-registered.
[[nodiscard]] Result<std::optional<Registration>> require_registration(
    const Services& services, storage::NodeReads& reads, const EnrolmentRequest& request,
    const std::string& principal);

// Checks that the enrolment's identity token is the one that the enrolment request names, and that
// the token shows what the registration asks for. Errors: enrolment-mismatch;
// identity-token-missing; identity-token-rejected.
[[nodiscard]] Status verify_identity(const Services& services,
                                     const std::optional<Registration>& registration,
                                     const Enrolment& enrolment, Timestamp now);

// Makes room on the platform (the machine) for `node`, which is not stored yet. If the platform is
// full, ends the enrolments of the oldest nodes of the same registration. Errors: platform-taken
// when a node of another registration or principal is on the platform.
[[nodiscard]] Status claim_platform(storage::Transaction& transaction, const storage::NodeRow& node,
                                    const std::optional<Registration>& registration);

// Applies changed registrations after a change of trust. Ends enrolments that no registration
// covers any longer. Ends all enrolments under the registrations with the ids `renewed`, because
// these registrations were removed or have become stricter. Errors: conflict when two registrations
// with a pattern cover the same name; limit-exceeded for more than 256 patterns.
[[nodiscard]] Status settle_registrations(storage::Transaction& transaction,
                                          const std::set<std::string>& renewed);

// Ends an enrolment early, with a log record.
[[nodiscard]] Status end_node(storage::Transaction& transaction, storage::NodeRow node,
                              const std::string& reason);

}  // namespace assay::server
