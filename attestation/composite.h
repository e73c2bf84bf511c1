// SPDX-License-Identifier: Apache-2.0
// Evidence of a node and of its devices, as one enrolment presents it (schemas/enrolment.h): what
// each piece must answer, and what the pieces make together. How one piece is appraised, under
// which policy and collateral, is the caller's. A service and whoever verifies an enrolment offline
// come to the same verdict by this.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attestation/evidence_verifier.h"
#include "schemas/enrolment.h"

namespace assay::attestation {

// Checks what an enrolment says of its devices, but for their evidence: that they are those of the
// request, in its order, beside evidence of the node, each UUID once. Errors: enrolment-mismatch.
[[nodiscard]] Status check_presented(const Enrolment& enrolment);

// One piece of evidence. Borrows it.
struct CompositePiece {
  const Evidence& evidence;
  ReportDataBytes expected;
  Purpose purpose;    // kEnrol, or kDevice
  std::string where;  // in the enrolment: "/evidence", "/device_evidence/0/evidence"
};
// Returns evidence-rejected for a piece whose evidence is refused.
[[nodiscard]] Error refusal_of(const CompositePiece& piece, const AppraisedEvidence& appraised);

struct CompositeResult {
  AppraisedEvidence node;                  // each accepted device is a part: "gpu0", "switch0"
  std::vector<AppraisedEvidence> devices;  // in their order
  // The first reason not to accept the enrolment: evidence-rejected, enrolment-mismatch when the
  // evidence is of another platform than the request. Nothing: accepted.
  std::optional<Error> refusal;
};
// Appraises a piece. An Error ends the appraisal of the enrolment; refused evidence is a result.
using AppraisePiece = std::function<Result<AppraisedEvidence>(const CompositePiece&)>;

// Appraises the evidence of the node, then that of each device, and looks at the devices together.
// Errors: those of `appraise`; evidence-missing without evidence of the node;
// evidence-type-unknown for evidence among the devices that is none of a device.
[[nodiscard]] Result<CompositeResult> appraise_composite(const Enrolment& enrolment,
                                                         const AppraisePiece& appraise);

}  // namespace assay::attestation
