// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/case_gaps.h"

#include <algorithm>

#include "policy/as_read.h"
#include "server/service/references/publishers.h"

namespace assay::server {
namespace {

// Names whose statements are kept.
constexpr std::size_t kMaxNames = 4096;

bool contains(const auto& list, const auto& value) {
  return std::ranges::find(list, value) != list.end();
}

bool lacks_lineage(const CaseFile& file, std::span<const policy::ActivePolicy> supposed) {
  return std::ranges::any_of(
             file.models,
             [](const CaseModel& model) { return model.facts.artifact && !model.facts.lineage; }) &&
         std::ranges::any_of(supposed, [&](const policy::ActivePolicy& policy) {
           return policy.document.mode == PolicyMode::kEnforce &&
                  policy::asks_for_lineage({&policy, 1}, file.workload, file.point);
         });
}

bool is_resolved(const CaseFile& file) {
  return std::ranges::all_of(file.preconditions, [](const ConditionResult& result) {
    return result.outcome == Outcome::kPass;
  });
}

}  // namespace

Result<bool> CaseGaps::is_touched(const storage::SignedBy& signature, Said& said) {
  ASSAY_ASSIGN(const storage::StatementRow row, snapshot_.statement_at(signature.index));
  if (row.subjects.empty()) {
    return fail(ErrorCode::kDataLoss, "a stored statement has no subject", row.id.text());
  }
  said.artifacts.insert(row.subjects.front());
  return contains(hypothesis_.revoke_keys, signature.key) ||
         contains(hypothesis_.withdraw_statements, row.id) ||
         std::ranges::any_of(row.subjects, [this](const std::string& subject) {
           return contains(hypothesis_.without_artifacts, subject);
         });
}

Result<const CaseGaps::Said*> CaseGaps::said_under(const std::string& name) {
  if (const auto known = said_.find(name); known != said_.end()) {
    return &known->second;
  }
  Said said;
  ASSAY_ASSIGN(auto signatures, snapshot_.signed_under(name));
  ASSAY_ASSIGN(const auto releases, snapshot_.releases_under(name));
  signatures.insert(signatures.end(), releases.begin(), releases.end());
  for (const storage::SignedBy& signature : signatures) {
    ASSAY_ASSIGN(const bool touched, is_touched(signature, said));
    said.touched = said.touched || touched;
  }
  if (said_.size() >= kMaxNames) {
    said_.clear();
  }
  return &said_.emplace(name, std::move(said)).first->second;
}

Result<bool> CaseGaps::may_rename(const CaseFile& file, std::span<const policy::ActivePolicy> given,
                                  std::span<const policy::ActivePolicy> supposed) {
  const Publishers before(given, file.workload, file.point);
  const Publishers after(supposed, file.workload, file.point);
  if (after.resolves_like(before)) {
    return false;
  }
  // Statements only ever come: of a name that stands for one artifact now, no other was meant then.
  if (!file.bare_names || !before.naming().empty() || !after.naming().empty() ||
      !is_resolved(file)) {
    return true;
  }
  for (const std::string& name : *file.bare_names) {
    ASSAY_ASSIGN(const Said* const said, said_under(name));
    if (said->artifacts.size() != 1) {
      return true;
    }
  }
  return false;
}

Result<bool> CaseGaps::touches(const CaseFile& file) {
  if (hypothesis_.revoke_keys.empty() && hypothesis_.withdraw_statements.empty() &&
      hypothesis_.without_artifacts.empty()) {
    return false;
  }
  if (!file.bare_names) {
    return true;
  }
  for (const std::string& name : *file.bare_names) {
    if (name.empty()) {
      return true;  // by the places of mounts, which any manifest or placement can name
    }
    ASSAY_ASSIGN(const Said* const said, said_under(name));
    if (said->touched) {
      return true;
    }
  }
  return false;
}

Result<CaseGap> CaseGaps::of(const CaseFile& file, std::span<const policy::ActivePolicy> given,
                             std::span<const policy::ActivePolicy> supposed) {
  for (const policy::ActivePolicy& policy : supposed) {
    const bool old = policy.sets.empty() &&
                     std::ranges::find(given, policy.id, &policy::ActivePolicy::id) != given.end();
    if (!old && !policy::reads_enough(policy.document, file.workload, given)) {
      return CaseGap::kAll;
    }
  }
  if (lacks_lineage(file, supposed)) {
    return CaseGap::kAll;
  }
  if (file.bare_names && file.bare_names->empty()) {
    return CaseGap::kNone;
  }
  if (hypothesis_.changes_policies()) {
    ASSAY_ASSIGN(const bool renamed, may_rename(file, given, supposed));
    if (renamed) {
      return CaseGap::kAll;
    }
  }
  ASSAY_ASSIGN(const bool touched, touches(file));
  if (!touched) {
    return CaseGap::kNone;
  }
  return is_resolved(file) ? CaseGap::kModels : CaseGap::kAll;
}

}  // namespace assay::server
