// SPDX-License-Identifier: Apache-2.0
// Accepts what the worker sends when the service asks for more after a report: outline digests,
// which show where entries differ, or the answers to a spot check (spot_check.h).
#pragma once

#include "schemas/verification_report.h"
#include "server/service/jobs/jobs.h"
#include "server/service/jobs/report.h"

namespace assay::server {

// Accepts outline digests of entries that differ (body: OutlineSubmission). Ends the job as a
// mismatch with byte ranges. After an error, the job is unchanged. Errors: root-mismatch when the
// digests do not lead to the roots in the report; report-mismatch when these are not the digests
// that were asked for; busy as load_artifact_in_turn() (documents/outlines.h).
[[nodiscard]] Result<ReportAnswer> submit_outline(Services& services, const LeaseCall& call,
                                                  ByteView body);

// Accepts answers to a spot check (body: SpotSubmission). Ends the job as verified, or as failed
// with the error spot-check-failed. If the answers do not arrive in time, the lease ends, and the
// worker of the next lease must answer for the same spans. If the last lease ends without answers,
// the job fails with spot-check-failed, too.
[[nodiscard]] Result<ReportAnswer> submit_spot(Services& services, const LeaseCall& call,
                                               ByteView body);

}  // namespace assay::server
