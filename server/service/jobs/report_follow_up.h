// SPDX-License-Identifier: Apache-2.0
// The questions that follow a report: where entries differ, and spans of a spot check.
#pragma once

#include "schemas/verification_report.h"
#include "server/service/jobs/jobs.h"
#include "server/service/jobs/report.h"

namespace assay::server {

// Outline digests of entries that differ (body: OutlineSubmission); ends the job as a mismatch with
// byte ranges. root-mismatch when they do not lead to the roots in the report, report-mismatch when
// they are not what was asked for: the job is left as it was.
[[nodiscard]] Result<ReportAnswer> submit_outline(Services& services, const LeaseCall& call,
                                                  ByteView body);

// Answers to a spot check (body: SpotSubmission); ends the job as verified, or as failed with the
// error spot-check-failed. The lease ends when the time to answer is over; the next one is asked
// for the same spans, and when the last is lost that is a wrong answer.
[[nodiscard]] Result<ReportAnswer> submit_spot(Services& services, const LeaseCall& call,
                                               ByteView body);

}  // namespace assay::server
