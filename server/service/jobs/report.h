// SPDX-License-Identifier: Apache-2.0
// Accepts a worker's report, which is its signed account of what it read for a job. A job is
// recorded as verified only after its report has passed every check.
#pragma once

#include "schemas/verification_report.h"
#include "server/service/jobs/jobs.h"

namespace assay::server {

// Accepts a report (body: ReportSubmission). The same report again gets the same answer. Errors, in
// the order of the checks: not-found; node-taken; lease-lost; those of spend_challenge;
// signature-invalid; untrusted-signer; report-mismatch; node-revoked; enrolment-ended;
// enrolment-expired; evidence-missing; evidence-rejected and other errors of refused evidence.
// limit-exceeded beyond kMaxReportBytesAnHour, before the challenge is spent.
[[nodiscard]] Result<ReportAnswer> submit_report(Services& services, const LeaseCall& call,
                                                 ByteView body);

}  // namespace assay::server
