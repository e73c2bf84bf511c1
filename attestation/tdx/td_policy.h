// SPDX-License-Identifier: Apache-2.0
// Checks of a genuine quote against the policy: attributes and measurements of the TD, the
// platform, and the accepted TCB statuses. Intel "TDX Module Base Architecture Specification",
// sections on TD attributes and XFAM.
#pragma once

#include "attestation/tdx/appraisal_policy.h"
#include "attestation/tdx/error.h"
#include "attestation/tdx/result.h"

namespace assay::attestation::tdx {

// Checks DEBUG, reserved bits, SEPT_VE_DISABLE and XFAM. Errors: TD_DEBUG_ENABLED,
// TD_ATTRIBUTES_TUD_RESERVED, TD_ATTRIBUTES_RESERVED, TD_SEPT_VE_DISABLE_NOT_SET, TD_XFAM_INVALID.
[[nodiscard]] Outcome check_attributes(const TdReport& report, const AppraisalPolicy& policy);

// Checks that no service TD (for migration) is or was bound, unless the policy allows it. Errors:
// TD_SERVICE_TD_PRESENT.
[[nodiscard]] Outcome check_service_td(const TdReport& report, const AppraisalPolicy& policy);

// Checks the platform against the policy. An empty list allows every platform. Errors:
// PLATFORM_NOT_ALLOWED.
[[nodiscard]] Outcome check_platform(const PlatformIdentity& platform,
                                     const AppraisalPolicy& policy);

// Checks TCB status and advisories against the policy. Even when the policy does not list
// OutOfDate, that status is accepted during the grace period: while the date of the TCB level +
// tcb_grace_seconds >= `now`. In the grace period OutOfDateConfigurationNeeded is accepted too when
// the policy accepts ConfigurationNeeded. Errors: TCB_STATUS_NOT_ACCEPTED:status,
// TCB_ADVISORY_REJECTED:id.
[[nodiscard]] Outcome check_tcb_accepted(const TcbEvaluation& tcb, const AppraisalPolicy& policy,
                                         Timestamp now);

}  // namespace assay::attestation::tdx
