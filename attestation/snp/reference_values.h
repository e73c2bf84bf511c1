// SPDX-License-Identifier: Apache-2.0
// Reference values: the lists of the appraisal policy, which are alternatives value by value, and
// imported sets of values that belong together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attestation/snp/appraisal_policy.h"
#include "attestation/snp/error.h"
#include "schemas/core/clock.h"

namespace assay::attestation::snp {

// A source of reference values that matched.
struct MatchedReference {
  Reference reference;
  std::string source;  // "appraisal" for the policy's own lists, or the name of a set
  bool operator==(const MatchedReference&) const = default;
};

// The reference values that apply to one report.
class ReferenceMatch {
 public:
  // A set applies when it is valid at `now` and the report has one of the values for each of what
  // it names. So no mixture of two sets is accepted that neither of them describes. Borrows the
  // report and the policy.
  ReferenceMatch(const Report& report, const AppraisalPolicy& policy, Timestamp now);

  // Checks one value: it must be in the policy's own list, or in a set that applies. A value that
  // is not constrained passes. Errors: MEASUREMENT_MISMATCH and so on.
  [[nodiscard]] Outcome check(Reference reference) const;
  // Returns what matched: for each constrained value every source.
  [[nodiscard]] std::vector<MatchedReference> matched() const;
  // Returns the end of the validity of sets without which a value would not have passed.
  [[nodiscard]] std::optional<Timestamp> valid_until() const;

 private:
  [[nodiscard]] bool is_own(Reference reference) const;
  [[nodiscard]] std::vector<const ReferenceSet*> sets_for(Reference reference) const;

  const Report& report_;
  const AppraisalPolicy& policy_;
  std::vector<const ReferenceSet*> applying_;
};

}  // namespace assay::attestation::snp
