// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference.h"

#include <algorithm>

#include "tests/support/policy_reference_boot.h"
#include "tests/support/policy_reference_case.h"
#include "tests/support/policy_reference_match.h"
#include "tests/support/policy_reference_report.h"

namespace assay::policy::reference {

Answer all_of(const std::vector<Tested>& demands) {
  if (const Tested* no = first(demands, Truth::kNo)) {
    return answer(Outcome::kFail, no->code);
  }
  if (first(demands, Truth::kUnknown) != nullptr) {
    return answer(Outcome::kError, Reason::kConditionUndecided);
  }
  return answer(Outcome::kPass, Reason::kConditionDeferred);
}

Answer turned_demands(const std::vector<Tested>& demands, const Answer& plain) {
  if (plain.outcome != Outcome::kFail) {
    return plain;
  }
  if (!is_about_the_thing_itself(*plain.code)) {
    return answer(Outcome::kError, *plain.code);
  }
  for (const Tested& one : demands) {
    if (one.holds != Truth::kYes && !is_about_the_thing_itself(one.code)) {
      return answer(Outcome::kError, Reason::kConditionUndecided);
    }
  }
  return plain;
}

namespace {

Truth not_later(Timestamp time, Timestamp now) {
  return time <= now ? Truth::kYes : Truth::kUnknown;
}

Truth young(Timestamp time, std::optional<std::uint64_t> max_age, Timestamp now) {
  return truth(!max_age || time + std::chrono::seconds(*max_age) >= now);
}

bool listed(const std::vector<std::string>& list, const std::string& text) {
  return std::count(list.begin(), list.end(), text) > 0;
}

DecisionPoint point_of_kind(const Condition& condition) {
  if (std::holds_alternative<NodeCondition>(condition.kind)) {
    return DecisionPoint::kBind;
  }
  if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    return report->scope == "files" && !report->at_serve ? DecisionPoint::kBind
                                                         : DecisionPoint::kServe;
  }
  return DecisionPoint::kCreate;
}

Answer combine(std::vector<Answer> parts, bool (*holds)(std::size_t, std::size_t, std::size_t),
               std::size_t needed) {
  Outcome outcome = in_every_world([&](World& world) {
    std::size_t passed = 0;
    for (const Answer& part : parts) {
      const bool decided = part.outcome == Outcome::kPass || part.outcome == Outcome::kFail;
      passed += world.decide(decided ? truth(part.outcome == Outcome::kPass) : Truth::kUnknown);
    }
    return holds(passed, parts.size(), needed);
  });
  const bool an_error = std::any_of(parts.begin(), parts.end(), [](const Answer& part) {
    return part.outcome == Outcome::kError;
  });
  if (outcome == Outcome::kError && !an_error) {
    outcome = Outcome::kDeferred;
  }
  const Reason code = outcome == Outcome::kFail    ? Reason::kConditionFailed
                      : outcome == Outcome::kError ? Reason::kConditionUndecided
                                                   : Reason::kConditionDeferred;
  Answer combined = answer(outcome, code);
  combined.parts = std::move(parts);
  return combined;
}

// The codes that explain why `answer` is not a pass.
std::vector<Reason> reasons_of(const Answer& answer) {
  std::vector<Reason> codes;
  for (const Answer& part : answer.parts) {
    if (part.outcome == Outcome::kFail || part.outcome == Outcome::kError) {
      for (const Reason code : reasons_of(part)) {
        codes.push_back(code);
      }
    }
  }
  return codes.empty() ? std::vector{*answer.code} : codes;
}

// A filled volume may hold a model that is mounted nowhere; when there is none, any.
void add_filled(const PolicyDocument& policy, const Workload& workload,
                const std::vector<Facts>& models, const std::vector<Placed>& placed, std::size_t i,
                Case& one_case) {
  std::set<std::size_t> homeless;
  for (std::size_t k = 0; k < models.size(); ++k) {
    if (bound_places(policy, workload, placed, k).empty()) {
      homeless.insert(k);
    }
  }
  for (std::size_t k = 0; k < models.size(); ++k) {
    const bool may_be_filled = homeless.empty() || homeless.contains(k);
    if (may_be_filled && k == i) {
      one_case.filled = filled_volumes(policy, workload);
    } else if (may_be_filled) {
      one_case.besides.push_back(&models[k]);
    }
  }
}

}  // namespace

Answer Case::judge(const NodeCondition& condition, bool below_not) const {
  if (node.empty() || !facts.node) {
    return answer(Outcome::kFail, node.empty() ? Reason::kNodeUnknown : Reason::kNodeNotEnrolled);
  }
  const NodeFact& fact = *facts.node;
  const bool needs_evidence = condition.worker_measured || condition.max_evidence_age_seconds ||
                              !condition.tcb_status.empty() || condition.boot;
  std::vector<Tested> demands = {
      {truth(!fact.revoked), Reason::kNodeRevoked},
      {truth(fact.expires_at > now), Reason::kEnrolmentExpired},
      {not_later(fact.enrolled_at, now), Reason::kConditionUndecided},
      {fact.name == node ? Truth::kYes : Truth::kUnknown, Reason::kConditionUndecided}};
  if (fact.appraised_at) {
    demands.push_back({not_later(*fact.appraised_at, now), Reason::kConditionUndecided});
    demands.push_back({truth(fact.appraisal_current), Reason::kEvidenceStale});
    demands.push_back({young(*fact.appraised_at, condition.max_evidence_age_seconds, now),
                       Reason::kEvidenceStale});
    demands.push_back({truth(fact.appraisal_error.empty()), Reason::kEvidenceRejected});
  }
  demands.push_back(
      {truth(fact.worker_measured || !condition.worker_measured), Reason::kWorkerNotMeasured});
  demands.push_back({truth(fact.appraised_at || !needs_evidence), Reason::kWorkerNotMeasured});
  if (fact.appraised_at) {
    const bool named = fact.anchor && listed(condition.anchors, fact.anchor->text());
    demands.push_back(
        {truth(named || (fact.anchor && fact.anchor_is_vendor)), Reason::kAnchorNotAccepted});
    demands.push_back(
        {truth(condition.tcb_status.empty() || listed(condition.tcb_status, fact.tcb_status)),
         Reason::kTcbNotAccepted});
    if (condition.boot) {
      const Started started = started_as(*condition.boot, fact.boot);
      demands.push_back({truth(started.said), Reason::kEventLogMissing});
      demands.push_back({truth(started.as_asked), Reason::kBootMismatch});
    }
  } else if (fact.worker_measured) {
    demands.push_back({Truth::kUnknown, Reason::kConditionUndecided});
  }
  return below_not ? turned_demands(demands, all_of(demands)) : all_of(demands);
}

Answer Case::judge(const ReportCondition& condition, bool below_not) const {
  if (node.empty() || !facts.node) {
    return answer(Outcome::kFail, node.empty() ? Reason::kNodeUnknown : Reason::kNodeNotEnrolled);
  }
  return judge_reports(condition, {facts, node, now, pod, bound, filled, below_not, besides});
}

Answer Case::judge(const Condition& condition, bool below_not) const {
  const auto parts = [&](const std::vector<Condition>& of, bool negated) {
    std::vector<Answer> answers;
    for (const Condition& part : of) {
      answers.push_back(judge(part, negated));
    }
    return answers;
  };
  Answer result;
  if (point_of_kind(condition) > point) {
    result = answer(Outcome::kDeferred, Reason::kConditionDeferred);
  } else if (condition.open_set) {
    result = answer(Outcome::kError, condition.open_set->code);
  } else if (const auto* node_asked = std::get_if<NodeCondition>(&condition.kind)) {
    result = judge(*node_asked, below_not);
  } else if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    result = judge(*report, below_not);
  } else if (const auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
    result = judge(*lineage, below_not);
  } else if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    result = judge(*manifest);
  } else if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    result = judge(*statement);
    result = below_not ? turned(*statement, result) : result;
  } else if (const auto* parameters = std::get_if<ParametersCondition>(&condition.kind)) {
    result = judge(*parameters);
  } else if (const auto* request = std::get_if<RequestCondition>(&condition.kind)) {
    result = judge(*request);
  } else if (const auto* window = std::get_if<WindowCondition>(&condition.kind)) {
    result = judge(*window);
  } else if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
    result = combine(
        parts(all->of, below_not),
        [](std::size_t passed, std::size_t of, std::size_t) { return passed == of; }, 0);
  } else if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    result = combine(
        parts(any->of, below_not),
        [](std::size_t passed, std::size_t, std::size_t) { return passed > 0; }, 0);
  } else if (const auto* negation = std::get_if<NotCondition>(&condition.kind)) {
    result = combine(
        parts(negation->of, true),
        [](std::size_t passed, std::size_t, std::size_t) { return passed == 0; }, 0);
  } else if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    result = combine(
        parts(at_least->of, below_not),
        [](std::size_t passed, std::size_t, std::size_t needed) { return passed >= needed; },
        at_least->count);
  }
  const bool a_part = result.parts.empty() && result.outcome == Outcome::kFail;
  if (below_not && a_part && !is_about_the_thing_itself(*result.code)) {
    result.outcome = Outcome::kError;
  }
  result.id = condition.id;
  return result;
}

Decision evaluate(const std::vector<ActivePolicy>& policies, const Workload& workload,
                  const std::vector<Facts>& models, DecisionPoint point, Timestamp now) {
  Decision decision;
  bool enforce = false;
  bool warn = false;
  bool all_known = true;
  std::vector<Placed> placed;
  for (const Facts& facts : models) {
    all_known = all_known && facts.artifact;
    placed.push_back(Case{facts, workload.node, point, now}.placed());
  }
  std::vector<Reason> reasons;
  for (const ActivePolicy& policy : policies) {
    if (!workload_fits(policy.document.match, workload, point)) {
      continue;
    }
    enforce = enforce || policy.document.mode == PolicyMode::kEnforce;
    warn = warn || policy.document.mode == PolicyMode::kWarn;
    for (std::size_t i = 0; i < models.size(); ++i) {
      Case one_case{models[i], workload.node, point,
                    now,       workload.pod,  bound_places(policy.document, workload, placed, i)};
      one_case.believed = believed_names(policy.document, placed[i]);
      one_case.conditions = &policy.document.require;
      one_case.requester = &workload.requester;
      add_filled(policy.document, workload, models, placed, i, one_case);
      std::vector<Answer> answers;
      for (const Condition& condition : policy.document.require) {
        answers.push_back(one_case.judge(condition, false));
      }
      if (auto ignore = one_case.judge_implied(policy.document.require)) {
        answers.push_back(*std::move(ignore));
      }
      for (Answer& one : implied(policy.document, workload, placed, i, point)) {
        answers.push_back(std::move(one));
      }
      for (const Answer& one : answers) {
        if (policy.document.mode == PolicyMode::kEnforce &&
            (one.outcome == Outcome::kFail || one.outcome == Outcome::kError)) {
          const auto codes = reasons_of(one);
          reasons.insert(reasons.end(), codes.begin(), codes.end());
        }
      }
      decision.policies.push_back(std::move(answers));
    }
  }
  if (enforce && !all_known) {
    reasons.insert(reasons.begin(), Reason::kModelReferenceMissing);
  }
  if (!enforce && !warn) {
    reasons.push_back(Reason::kNoMatchingPolicy);
  }
  for (const Reason code : reasons) {
    if (std::count(decision.reasons.begin(), decision.reasons.end(), code) == 0) {
      decision.reasons.push_back(code);
    }
  }
  decision.allowed = decision.reasons.empty();
  return decision;
}

}  // namespace assay::policy::reference
