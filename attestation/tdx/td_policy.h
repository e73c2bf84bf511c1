// SPDX-License-Identifier: Apache-2.0
// The policy's say about a genuine quote: attributes and measurements of the TD, the platform, and
// which TCB statuses are good enough. Intel "TDX Module Base Architecture Specification", sections
// on TD attributes and XFAM.
#pragma once

#include "attestation/tdx/appraisal_policy.h"
#include "attestation/tdx/error.h"
#include "attestation/tdx/result.h"

namespace assay::attestation::tdx {

// DEBUG, reserved bits, SEPT_VE_DISABLE and XFAM: TD_DEBUG_ENABLED, TD_ATTRIBUTES_TUD_RESERVED,
// TD_ATTRIBUTES_RESERVED, TD_SEPT_VE_DISABLE_NOT_SET, TD_XFAM_INVALID.
[[nodiscard]] Outcome check_attributes(const TdReport& report, const AppraisalPolicy& policy);

// TD_SERVICE_TD_PRESENT when a service TD (for migration) is or was bound, unless allowed.
[[nodiscard]] Outcome check_service_td(const TdReport& report, const AppraisalPolicy& policy);

// TD_MRTD_MISMATCH and so on; an empty list allows every value.
[[nodiscard]] Outcome check_reference(const TdReport& report, const AppraisalPolicy& policy,
                                      Reference reference);

// PLATFORM_NOT_ALLOWED; an empty list allows every platform.
[[nodiscard]] Outcome check_platform(const PlatformIdentity& platform,
                                     const AppraisalPolicy& policy);

// TCB_STATUS_NOT_ACCEPTED:status, TCB_ADVISORY_REJECTED:id. OutOfDate is accepted as well while
// date + grace >= now; OutOfDateConfigurationNeeded when besides ConfigurationNeeded is accepted.
[[nodiscard]] Outcome check_tcb_accepted(const TcbEvaluation& tcb, const AppraisalPolicy& policy,
                                         Timestamp now);

}  // namespace assay::attestation::tdx
