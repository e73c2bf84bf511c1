// SPDX-License-Identifier: Apache-2.0
// What a worker found. Nothing is recorded as verified before every check that the service makes.
#pragma once

#include "schemas/verification_report.h"
#include "server/service/jobs/jobs.h"

namespace assay::server {

// What the worker found (body: ReportSubmission). The checks stand in the order of the errors:
// not-found, node-taken, lease-lost, those of spend_challenge, signature-invalid, untrusted-signer,
// report-mismatch, node-revoked, enrolment-expired, evidence-missing, evidence-rejected and what
// else evidence is refused for. The same report again gets the same answer.
[[nodiscard]] Result<ReportAnswer> submit_report(Services& services, const LeaseCall& call,
                                                 ByteView body);

}  // namespace assay::server
