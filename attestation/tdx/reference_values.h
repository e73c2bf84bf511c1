// SPDX-License-Identifier: Apache-2.0
// Reference values that were imported: sets of values that belong together. They count beside the
// lists of the appraisal policy, which are alternatives measurement by measurement.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "attestation/tdx/appraisal_policy.h"
#include "attestation/tdx/error.h"
#include "schemas/core/clock.h"

namespace assay::attestation::tdx {

// A source of reference values that matched.
struct MatchedReference {
  Reference reference;
  std::string source;  // "appraisal" for the policy's own lists, or the name of a set
  bool operator==(const MatchedReference&) const = default;
};

// The reference values that apply to one report.
class ReferenceMatch {
 public:
  // A set applies when it is valid at `now` and the report has one of the values for each of its
  // measurements. So no mixture of two sets is accepted that neither of them describes. The policy
  // must outlive this object.
  ReferenceMatch(const TdReport& report, const AppraisalPolicy& policy, Timestamp now);

  // Checks one measurement: its value must be in the policy's own list, or in a set that applies.
  // A measurement that is not constrained passes. Errors: TD_MRTD_MISMATCH and so on.
  [[nodiscard]] Outcome check(Reference reference) const;
  // Returns what matched: for each constrained measurement every source.
  [[nodiscard]] std::vector<MatchedReference> matched() const;
  // Returns the end of the validity of sets without which a measurement would not have passed.
  [[nodiscard]] std::optional<Timestamp> valid_until() const;

 private:
  [[nodiscard]] bool is_own(Reference reference) const;
  [[nodiscard]] std::vector<const ReferenceSet*> sets_for(Reference reference) const;

  const TdReport& report_;
  const AppraisalPolicy& policy_;
  std::vector<const ReferenceSet*> applying_;
};

}  // namespace assay::attestation::tdx
