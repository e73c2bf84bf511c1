// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/case_judge.h"

#include <algorithm>

#include "policy/as_read.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxPolicySets = 64;

}  // namespace

Result<std::shared_ptr<const CaseJudge::InForce>> CaseJudge::policies_of(const CaseFile& file) {
  if (const auto known = policies_.find(file.policies); known != policies_.end()) {
    return known->second;
  }
  InForce in_force;
  for (const StatementId& id : file.policies) {
    ASSAY_ASSIGN(policy::ActivePolicy policy, stored_policy(snapshot_, id));
    in_force.given.push_back(std::move(policy));
  }
  ASSAY_ASSIGN(in_force.supposed, suppose_policies(hypothesis_, in_force.given));
  if (policies_.size() >= kMaxPolicySets) {
    policies_.clear();
  }
  auto kept = std::make_shared<const InForce>(std::move(in_force));
  policies_.emplace(file.policies, kept);
  return kept;
}

Result<CaseJudge::Case> CaseJudge::load(const DocumentId& facts) {
  ASSAY_ASSIGN(CaseFile file, load_case(snapshot_, facts));
  ASSAY_ASSIGN(const auto in_force, policies_of(file));
  for (const PolicyDocument& policy : hypothesis_.activate) {
    if (!policy::reads_enough(policy, file.workload, in_force->given)) {
      return fail(ErrorCode::kLimitExceeded,
                  "the case does not have all that the policy reads of a workload");
    }
  }
  ASSAY_TRY(suppose_facts(hypothesis_, inputs_, file));
  const bool selected = policy::selected(in_force->supposed, file.workload, file.point);
  return Case{std::move(file), in_force, selected};
}

Result<CaseJudge::Case*> CaseJudge::find(const DocumentId& facts) {
  if (const auto known = cases_.find(facts); known != cases_.end()) {
    return &known->second;
  }
  ASSAY_ASSIGN(Case loaded, load(facts));
  if (cases_.size() >= kMaxCases) {
    cases_.clear();
  }
  return &cases_.emplace(facts, std::move(loaded)).first->second;
}

Result<std::shared_ptr<const Answer>> CaseJudge::answer_at(Case& known, Timestamp time) {
  if (const auto judged = known.judged.find(time); judged != known.judged.end()) {
    return judged->second;
  }
  Answer answer{.selected = false};
  if (known.selected) {
    ASSAY_ASSIGN(const Verdict verdict,
                 evaluate_case(snapshot_, known.file, known.policies->supposed, time, &cache_));
    ++evaluations_;
    answer = answer_of(verdict);
  }
  auto kept = std::make_shared<const Answer>(std::move(answer));
  known.judged.emplace(time, kept);
  return kept;
}

Result<std::vector<std::shared_ptr<const Answer>>> CaseJudge::judge(
    const DocumentId& facts, std::span<const Timestamp> times) {
  ASSAY_ASSIGN(Case* const known, find(facts));
  std::vector<std::shared_ptr<const Answer>> answers;
  answers.reserve(times.size());
  for (const Timestamp time : times) {
    const bool holds =
        !answers.empty() && (!answers.back()->valid_until || time < *answers.back()->valid_until);
    if (holds) {
      answers.push_back(answers.back());
    } else {
      ASSAY_ASSIGN(auto answer, answer_at(*known, time));
      answers.push_back(std::move(answer));
    }
  }
  return answers;
}

}  // namespace assay::server
