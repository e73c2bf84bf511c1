// SPDX-License-Identifier: Apache-2.0
// Reference values of this type of evidence (attestation/appraisal/reference_match.h).
#pragma once

#include <utility>

#include "attestation/appraisal/reference_match.h"
#include "attestation/tdx/appraisal_policy.h"
#include "attestation/tdx/error.h"

namespace assay::attestation::tdx {

// Returns the error of a value that is not among the accepted ones.
[[nodiscard]] constexpr TdxError mismatch_of(Reference reference) {
  return static_cast<TdxError>(std::to_underlying(TdxError::kTdMrtdMismatch) +
                               std::to_underlying(reference));
}
static_assert(std::to_underlying(TdxError::kTdRtmr3Mismatch) ==
                  std::to_underlying(TdxError::kTdMrtdMismatch) + kReferenceCount - 1,
              "errors and references are in the same order");

using MatchedReference = appraisal::MatchedReference<Reference>;
using ReferenceMatch = appraisal::ReferenceMatch<TdReport, AppraisalPolicy, Reference>;

}  // namespace assay::attestation::tdx
