// SPDX-License-Identifier: Apache-2.0
// The worker's answers to questions after a report: where entries differ, and spans of a spot
// check.
#pragma once

#include "schemas/verification_report.h"
#include "server/service/jobs/jobs.h"
#include "server/service/jobs/report.h"

namespace assay::server {

// Accepts outline digests of entries that differ (body: OutlineSubmission). Ends the job as a
// mismatch with byte ranges. After an error the job is unchanged. Errors: root-mismatch when the
// digests do not lead to the roots in the report; report-mismatch when other digests were asked
// for.
[[nodiscard]] Result<ReportAnswer> submit_outline(Services& services, const LeaseCall& call,
                                                  ByteView body);

// Accepts answers to a spot check (body: SpotSubmission). Ends the job as verified, or as failed
// with the error spot-check-failed. The lease ends when the time to answer is over. The next lease
// is asked for the same spans. A spot check that the last lease does not answer counts as answered
// wrongly.
[[nodiscard]] Result<ReportAnswer> submit_spot(Services& services, const LeaseCall& call,
                                               ByteView body);

}  // namespace assay::server
