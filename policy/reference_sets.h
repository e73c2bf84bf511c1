// SPDX-License-Identifier: Apache-2.0
// Puts the values of reference sets (schemas/reference_set.h) in the place of their names, before
// policies are evaluated. Evaluation itself knows no sets: a condition that still names one is an
// error.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/reference_set.h"

namespace assay::policy {

// A reference set in force, with the id of the signed envelope it came from.
struct ActiveSet {
  StatementId id;
  ReferenceSet set;
};
// By name, without "set:".
using ReferenceSets = std::map<std::string, ActiveSet, std::less<>>;

// Returns the names of the sets that a document names, as it was parsed.
[[nodiscard]] std::set<std::string> sets_named_in(const PolicyDocument& document);

// Returns the policy as it is evaluated: each name of a set is replaced by the values of the set in
// `sets`. A condition that names a set which is not in `sets`, or one of a kind that its list does
// not take, keeps its lists and stays an error (Condition::open_set). ActivePolicy::sets has the
// ids of the sets whose values were used, ascending.
[[nodiscard]] ActivePolicy with_sets(StatementId id, PolicyDocument document,
                                     const ReferenceSets& sets);

// Does the same again for a policy of with_sets(), with other sets.
[[nodiscard]] ActivePolicy with_other_sets(const ActivePolicy& policy, const ReferenceSets& sets);

// A condition of a policy that names a set for which there are no values.
struct OpenPlace {
  std::string condition;  // id
  std::string where;      // JSON pointer into the policy, to the entry
  std::string set;        // name
  Reason code;            // kReferenceSetMissing or kReferenceSetMismatch
};
// Returns every entry of a document, as it was parsed, that names a set which is not in `sets` or
// is of the wrong kind there; in the order of the document.
[[nodiscard]] std::vector<OpenPlace> open_places(const PolicyDocument& document,
                                                 const ReferenceSets& sets);

}  // namespace assay::policy
