// SPDX-License-Identifier: Apache-2.0
// Checks of a genuine report against the appraisal policy: its guest and its machine. Internal to
// this folder.
#pragma once

#include "attestation/snp/appraisal_policy.h"
#include "attestation/snp/error.h"
#include "attestation/snp/leaf.h"

namespace assay::attestation::snp {

// Checks generation, kind of key and, of a VLEK, the cloud provider.
[[nodiscard]] Outcome check_signer(const Report& report, const LeafExtensions& leaf,
                                   Generation generation, const AppraisalPolicy& policy);
// Checks POLICY: bits that let the host look in, and bits without a meaning.
[[nodiscard]] Outcome check_guest_policy(const Report& report, const AppraisalPolicy& policy);
// Checks PLATFORM_INFO.
[[nodiscard]] Outcome check_platform_info(const Report& report, const AppraisalPolicy& policy);
// Checks VMPL and GUEST_SVN.
[[nodiscard]] Outcome check_guest(const Report& report, const AppraisalPolicy& policy);
// Checks the chip against the allow list.
[[nodiscard]] Outcome check_chip(const Report& report, const AppraisalPolicy& policy);

// The four TCBs of a report.
struct ReportTcbs {
  Tcb current;
  Tcb reported;
  Tcb committed;
  Tcb launch;
};
// Reads them. Errors: REPORT_RESERVED_NONZERO.
[[nodiscard]] Checked<ReportTcbs> decode_tcbs(const Report& report, Generation generation);
// Compares reported, committed and launch TCB with the minimums, part by part. Errors:
// TCB_REPORTED_TOO_LOW:PART and so on; TCB_FLOOR_MISSING when there are minimums, but none for this
// generation.
[[nodiscard]] Outcome check_floors(const ReportTcbs& tcbs, Generation generation,
                                   const AppraisalPolicy& policy);

}  // namespace assay::attestation::snp
