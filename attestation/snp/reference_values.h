// SPDX-License-Identifier: Apache-2.0
// Reference values of this type of evidence (attestation/appraisal/reference_match.h).
#pragma once

#include <utility>

#include "attestation/appraisal/reference_match.h"
#include "attestation/snp/appraisal_policy.h"
#include "attestation/snp/error.h"

namespace assay::attestation::snp {

// Returns the error of a value that is not among the accepted ones.
[[nodiscard]] constexpr SnpError mismatch_of(Reference reference) {
  return static_cast<SnpError>(std::to_underlying(SnpError::kMeasurementMismatch) +
                               std::to_underlying(reference));
}
static_assert(std::to_underlying(SnpError::kImageIdMismatch) ==
                  std::to_underlying(SnpError::kMeasurementMismatch) + kReferenceCount - 1,
              "errors and references are in the same order");

using MatchedReference = appraisal::MatchedReference<Reference>;
using ReferenceMatch = appraisal::ReferenceMatch<Report, AppraisalPolicy, Reference>;

}  // namespace assay::attestation::snp
