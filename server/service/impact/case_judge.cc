// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/case_judge.h"

#include "policy/lineage.h"
#include "server/service/lineage/kept_results.h"
#include "server/service/reference_sets.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxPolicySets = 64;

std::unexpected<Error> incomplete() {
  return fail(ErrorCode::kLimitExceeded, "the case does not have all that the answer rests on");
}

// At least one, so that none is kept for nothing.
std::size_t statements_of(const policy::Facts& facts) {
  return 1 + facts.manifests.size() + facts.placements.size() + facts.statements.size() +
         facts.reports.size() + (facts.lineage ? facts.lineage->statements().size() : 0);
}

}  // namespace

// The sets of the case; what an activated policy names besides is looked up among those in force.
Result<policy::ReferenceSets> CaseJudge::sets_of(const CaseFile& file) {
  ASSAY_ASSIGN(const auto rows, snapshot_.active_policies());
  ASSAY_ASSIGN(policy::ReferenceSets sets, sets_among(rows));
  ASSAY_ASSIGN(const policy::ReferenceSets own, stored_sets(snapshot_, file.sets));
  for (const auto& [name, set] : own) {
    sets.insert_or_assign(name, set);
  }
  return sets;
}

Result<std::shared_ptr<const CaseJudge::InForce>> CaseJudge::policies_of(const CaseFile& file) {
  std::pair key(file.policies, file.sets);
  if (const auto known = policies_.find(key); known != policies_.end()) {
    return known->second;
  }
  InForce in_force;
  ASSAY_ASSIGN(in_force.given, stored_policies(snapshot_, file.policies, file.sets));
  ASSAY_ASSIGN(policy::ReferenceSets sets, sets_of(file));
  ASSAY_ASSIGN(in_force.supposed, suppose_policies(hypothesis_, in_force.given, std::move(sets)));
  if (policies_.size() >= kMaxPolicySets) {
    policies_.clear();
  }
  auto kept = std::make_shared<const InForce>(std::move(in_force));
  policies_.emplace(std::move(key), kept);
  return kept;
}

Result<std::shared_ptr<CaseJudge::Model>> CaseJudge::model_of(const Json& member) {
  std::string key = member.dump();
  if (const auto known = models_.find(key); known != models_.end()) {
    return known->second;
  }
  ASSAY_ASSIGN(CaseModel given, load_model(snapshot_, member));
  const std::size_t statements = statements_of(given.facts);
  if (model_statements_ + statements > kMaxStatements || models_.size() >= kMaxCases) {
    models_.clear();
    cases_.clear();  // they hold the same facts, which would stay in memory
    model_statements_ = 0;
  }
  model_statements_ += statements;
  return models_.emplace(std::move(key), std::make_shared<Model>(Model{std::move(given)}))
      .first->second;
}

Result<bool> CaseJudge::suppose(const Models& models, CaseFile& file) {
  bool sure = true;
  for (std::size_t i = 0; i < models.size(); ++i) {
    Model& model = *models[i];
    if (!model.supposed) {
      CaseModel supposed = model.given;
      ASSAY_ASSIGN(model.sure, suppose_model(hypothesis_, inputs_, levels_, supposed));
      model.supposed = std::move(supposed);
    } else if (model.supposed->facts.lineage && !model.supposed->results) {
      // Not for the first case: results for a model that no other case names would not be used.
      model.supposed->results = std::make_shared<const KeptResults>(model.supposed->facts.lineage);
    }
    file.models[i] = *model.supposed;
    sure = sure && model.sure;
  }
  return sure;
}

Result<CaseJudge::Case> CaseJudge::load(const DocumentId& facts) {
  Models models;
  ASSAY_ASSIGN(CaseFile file,
               load_case(snapshot_, facts, [&](const Json& member) -> Result<CaseModel> {
                 ASSAY_ASSIGN(models.emplace_back(), model_of(member));
                 return models.back()->given;
               }));
  ASSAY_ASSIGN(const auto in_force, policies_of(file));
  ASSAY_ASSIGN(const CaseGap gap, gaps_.of(file, in_force->given, in_force->supposed));
  if (gap == CaseGap::kAll) {
    return incomplete();
  }
  ASSAY_ASSIGN(const bool sure, suppose(models, file));
  const bool selected = policy::selected(in_force->supposed, file.workload, file.point);
  return Case{std::move(file), in_force, selected, gap == CaseGap::kModels || !sure};
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
    ASSAY_ASSIGN(
        const Verdict verdict,
        evaluate_case(snapshot_, known.file, known.policies->supposed, time, &cache_, check_));
    ++evaluations_;
    answer = answer_of(verdict);
  }
  if (known.unsure && answer.selected && answer.allowed) {
    return incomplete();
  }
  auto kept = std::make_shared<const Answer>(std::move(answer));
  known.judged.emplace(time, kept);
  return kept;
}

Result<CaseJudge::Judged> CaseJudge::judge(const DocumentId& facts,
                                           std::span<const Timestamp> times) {
  ASSAY_TRY(check_());
  ASSAY_ASSIGN(Case* const known, find(facts));
  std::vector<std::shared_ptr<const Answer>> answers;
  answers.reserve(times.size());
  for (const Timestamp time : times) {
    const bool holds =
        !answers.empty() && (!answers.back()->valid_until || time < *answers.back()->valid_until);
    if (holds) {
      answers.push_back(answers.back());
    } else {
      const Status in_time = check_();
      auto answer = in_time ? answer_at(*known, time) : std::unexpected(in_time.error());
      if (!answer && answer.error().code == ErrorCode::kEvaluationDeadline && !answers.empty()) {
        break;
      }
      ASSAY_TRY(answer);
      answers.push_back(*std::move(answer));
    }
  }
  return Judged{known->file.workload.node, std::move(answers)};
}

}  // namespace assay::server
