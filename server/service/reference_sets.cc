// SPDX-License-Identifier: Apache-2.0
#include "server/service/reference_sets.h"

namespace assay::server {
namespace {

// The first entry of the policy that has no values among `sets`.
Status check_policy(const PolicyDocument& policy, const policy::ReferenceSets& sets) {
  const std::vector<policy::OpenPlace> open = policy::open_places(policy, sets);
  if (open.empty()) {
    return {};
  }
  const bool missing = open.front().code == Reason::kReferenceSetMissing;
  return fail(ErrorCode::kConflict,
              "condition " + open.front().condition + " of policy " + policy.name + " names " +
                  set_entry(open.front().set) +
                  (missing ? ", which is not in force" : ", which is of another kind"),
              open.front().where);
}

}  // namespace

Result<policy::ReferenceSets> sets_among(const std::vector<storage::ActivePolicyRow>& rows) {
  policy::ReferenceSets sets;
  for (const storage::ActivePolicyRow& row : rows) {
    if (named_set(row.name)) {
      ASSAY_ASSIGN(ReferenceSet set, parse_reference_set(row.payload));
      std::string name = set.name;
      sets.insert_or_assign(std::move(name), policy::ActiveSet{row.id, std::move(set)});
    }
  }
  return sets;
}

Status check_sets(const std::vector<storage::ActivePolicyRow>& rows, const RowChange& change) {
  ASSAY_ASSIGN(policy::ReferenceSets sets, sets_among(rows));
  const auto changed = named_set(change.row.name);
  if (!changed) {
    if (!change.comes) {
      return {};
    }
    ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(change.row.payload));
    return check_policy(policy, sets);
  }
  sets.erase(std::string(*changed));
  if (change.comes) {
    ASSAY_ASSIGN(ReferenceSet set, parse_reference_set(change.row.payload));
    sets.emplace(*changed, policy::ActiveSet{change.row.id, std::move(set)});
  }
  for (const storage::ActivePolicyRow& row : rows) {
    if (!named_set(row.name)) {
      ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(row.payload));
      ASSAY_TRY(check_policy(policy, sets));
    }
  }
  return {};
}

}  // namespace assay::server
