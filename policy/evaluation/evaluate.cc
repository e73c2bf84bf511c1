// SPDX-License-Identifier: Apache-2.0
// From conditions to a verdict.
#include "policy/evaluate.h"

#include <algorithm>
#include <string_view>

#include "policy/affinity.h"
#include "policy/conditions.h"
#include "policy/conditions/combine.h"
#include "policy/conditions/negation.h"
#include "policy/conditions/valid_until.h"
#include "policy/lineage_condition.h"
#include "policy/locations.h"
#include "policy/volumes/volumes.h"
#include "schemas/core/printable.h"

namespace assay::policy {
namespace {

constexpr std::size_t kMaxWarningBytes = 120;

// Where a condition stands.
struct Place {
  int depth = 1;
  bool negated = false;  // below a `not`
};

ConditionResult undecided() {
  return {{}, Outcome::kError, Reason::kConditionUndecided, nullptr, nullptr, {}, {}};
}

ConditionResult judge_leaf(const Condition& condition, const Scope& scope, const Place& place) {
  if (point_of_leaf(scope.points, condition) > scope.point) {
    return {{}, Outcome::kDeferred, Reason::kConditionDeferred, nullptr, nullptr, {}, {}};
  }
  ConditionResult result = undecided();
  if (condition.open_set) {
    result.code = condition.open_set->code;
    result.expected = {{"reference_set", set_entry(condition.open_set->name)}};
    return result;
  }
  if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    result = judge(*manifest, scope.facts);
  } else if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    result = judge(*statement, scope);
  } else if (const auto* parameters = std::get_if<ParametersCondition>(&condition.kind)) {
    result = judge(*parameters, scope.facts);
  } else if (const auto* node = std::get_if<NodeCondition>(&condition.kind)) {
    result = judge(*node, scope);
  } else if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    result = judge(*report, scope);
  } else if (const auto* request = std::get_if<RequestCondition>(&condition.kind)) {
    result = judge(*request, scope);
  } else if (const auto* window = std::get_if<WindowCondition>(&condition.kind)) {
    result = judge(*window, scope);
  } else if (const auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
    result = judge(*lineage, scope);
  }
  if (place.negated) {
    judge_below_not(condition, scope, result);
  }
  return result;
}

struct Combined {
  Outcome outcome;
  Json expected;
};

Combined combine(const Condition& condition, const std::vector<ConditionResult>& parts) {
  const OutcomeCounts counts = count(parts);
  if (std::holds_alternative<AllCondition>(condition.kind)) {
    return {combine_all(counts), {{"at_least", parts.size()}}};
  }
  if (std::holds_alternative<AnyCondition>(condition.kind)) {
    return {combine_any(counts), {{"at_least", 1}}};
  }
  if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    return {combine_at_least(at_least->count, counts), {{"at_least", at_least->count}}};
  }
  return {parts.size() == 1 ? negate(parts.front().outcome) : Outcome::kError, {{"exactly", 0}}};
}

std::optional<Reason> combined_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return std::nullopt;
    case Outcome::kFail:
      return Reason::kConditionFailed;
    case Outcome::kDeferred:
      return Reason::kConditionDeferred;
    case Outcome::kError:
      break;
  }
  return Reason::kConditionUndecided;
}

ConditionResult judge_at(const Condition& condition, const Scope& scope, Place place) {
  ConditionResult result = undecided();
  const std::vector<Condition>* parts = parts_of(condition);
  if (parts == nullptr) {
    result = judge_leaf(condition, scope, place);
  } else if (place.depth < kMaxConditionDepth) {
    const Place below{place.depth + 1,
                      place.negated || std::holds_alternative<NotCondition>(condition.kind)};
    for (const Condition& part : *parts) {
      result.parts.push_back(judge_at(part, scope, below));
    }
    Combined combined = combine(condition, result.parts);
    result.outcome = combined.outcome;
    result.code = combined_code(combined.outcome);
    result.expected = std::move(combined.expected);
    result.actual = {{"passed", count(result.parts).pass}};
  }
  result.id = condition.id;
  return result;
}

void add_once(std::vector<Reason>& reasons, Reason code) {
  if (std::find(reasons.begin(), reasons.end(), code) == reasons.end()) {
    reasons.push_back(code);
  }
}

bool stands_in_the_way(const ConditionResult& result) {
  return result.outcome == Outcome::kFail || result.outcome == Outcome::kError;
}

// Codes of the leaves that made `result` fail; its own when none of its parts did (a `not`).
void add_reasons(const ConditionResult& result, std::vector<Reason>& reasons) {
  if (!stands_in_the_way(result)) {
    return;
  }
  bool explained = false;
  for (const ConditionResult& part : result.parts) {
    explained = explained || stands_in_the_way(part);
    add_reasons(part, reasons);
  }
  if (!explained) {
    add_once(reasons, result.code.value_or(Reason::kConditionUndecided));
  }
}

// At most kMaxWarningBytes, cut between characters.
std::string warning(std::string text, const ConditionResult& result) {
  const Reason code = result.code.value_or(Reason::kConditionUndecided);
  text += result.id + ": " + std::string(info(code).code);
  if (text.size() > kMaxWarningBytes) {
    text = std::string(utf8_prefix(text, kMaxWarningBytes - 3)) + "...";
  }
  return text;
}

// What one policy sees of the pod; nothing for a workload that was not read from one.
struct PodView {
  std::vector<Locations> locations;  // of each model
  MountedModels mounted;
  FilledVolumes filled;

  // Adds the volumes that may hold model `i`, and the other models that they may hold.
  void add_filled(std::size_t i, std::span<const Facts> models, Scope& scope) const;
};

void PodView::add_filled(std::size_t i, std::span<const Facts> models, Scope& scope) const {
  const std::vector<std::size_t> fillable = models_to_fill(mounted);
  if (std::find(fillable.begin(), fillable.end(), i) == fillable.end()) {
    return;
  }
  scope.filled.assign(filled.allowed.begin(), filled.allowed.end());
  for (const std::size_t other : fillable) {
    if (other != i) {
      scope.beside.push_back(&models[other]);
    }
  }
}

PodView pod_view(const PolicyDocument& policy, const Workload& workload,
                 std::span<const Facts> models, std::span<const JudgedFacts> judged) {
  PodView view;
  view.locations.resize(models.size());
  if (workload.pod) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      view.locations[i] = locations_of(policy, judged[i], models[i].name);
    }
    view.filled = filled_volumes(policy, workload);
  }
  view.mounted = mounted_models(policy, workload, view.locations);
  view.filled.parts = parts_count(policy, view.mounted, view.locations);
  return view;
}

// Policies that believe the same names and manifests share what is judged.
void believe(const PublisherDemands& demands, std::string_view name, Timestamp now,
             JudgedFacts& facts) {
  const Names names = names_of(demands, facts, name);
  const Believed believed = believed_manifests(demands, facts, name);
  if (facts.names != names || facts.believed != believed) {
    judge_statements(names, now, facts, believed);
  }
}

PolicyResult judge_policy(const ActivePolicy& policy, const Scope& scope) {
  const PolicyDocument& document = policy.document;
  PolicyResult result{
      document.name, document.version, policy.id, document.mode, {}, Outcome::kPass, {}};
  if (scope.known.artifact) {
    result.model = scope.known.artifact->text();
  }
  for (const Condition& condition : document.require) {
    result.conditions.push_back(judge(condition, scope));
  }
  if (auto ignore = judge_ignore(document.require, scope)) {
    result.conditions.push_back(*std::move(ignore));
  }
  return result;
}

// What every policy demands of a pod without saying so. The mounts and images are those of the pod
// as a whole: they stand with the first model.
void add_implied(const PolicyDocument& policy, const PodView& view, const Workload& workload,
                 std::size_t model, const Scope& scope, std::vector<ConditionResult>& results) {
  if (!workload.pod) {
    return;
  }
  results.push_back(judge_reference(policy, view.locations[model], view.mounted.models[model],
                                    view.filled, scope));
  if (model == 0) {
    results.push_back(judge_volumes(policy, workload, view.mounted, view.filled));
    if (!policy.images.empty()) {
      results.push_back(judge_images(policy, workload));
    }
  }
}

// Which modes the matching policies are in.
struct Modes {
  bool enforce = false;
  bool warn = false;
};

// A caller that forgot to say that there is no model must not get an allow.
void require_artifact(std::span<const Facts> models, std::vector<ConditionResult>& preconditions) {
  const bool all_known =
      !models.empty() && std::all_of(models.begin(), models.end(),
                                     [](const Facts& model) { return model.artifact.has_value(); });
  const bool all_pass = std::all_of(preconditions.begin(), preconditions.end(),
                                    [](const auto& one) { return one.outcome == Outcome::kPass; });
  if (!all_known && all_pass) {
    preconditions.push_back({"model-reference",
                             Outcome::kFail,
                             Reason::kModelReferenceMissing,
                             nullptr,
                             nullptr,
                             {},
                             {}});
  }
}

// Two policies that want different values of one label leave no node.
void require_affinity(std::span<const ActivePolicy> policies, const Workload& workload,
                      std::vector<ConditionResult>& preconditions) {
  NodeAffinity affinity = node_affinity(policies, workload);
  if (!affinity.conflicts.empty()) {
    preconditions.push_back({"node-affinity",
                             Outcome::kFail,
                             Reason::kConditionFailed,
                             "a value that every policy accepts, for each label",
                             {{"labels", std::move(affinity.conflicts)}},
                             {},
                             {}});
  }
}

// What two models have in common is said once.
void warn_once(std::vector<std::string>& warnings, std::string text) {
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) {
    warnings.push_back(std::move(text));
  }
}

// Everything a precondition may be other than pass stands in the way, deferred included.
void weigh_preconditions(const Modes& modes, Verdict& verdict) {
  for (const ConditionResult& precondition : verdict.preconditions) {
    if (precondition.outcome == Outcome::kPass) {
      continue;
    }
    if (modes.enforce || !modes.warn) {
      add_once(verdict.reasons, precondition.code.value_or(Reason::kConditionUndecided));
    } else {
      verdict.warnings.push_back(warning("precondition ", precondition));
    }
  }
}

void weigh_policy(const PolicyResult& policy, Verdict& verdict) {
  for (const ConditionResult& condition : policy.conditions) {
    if (policy.mode == PolicyMode::kEnforce) {
      add_reasons(condition, verdict.reasons);
    } else if (policy.mode == PolicyMode::kWarn && stands_in_the_way(condition)) {
      warn_once(verdict.warnings, warning("policy " + policy.name + " v" +
                                              std::to_string(policy.version) + ", condition ",
                                          condition));
    }
  }
}

// The earliest time that judging the models noted.
std::optional<Timestamp> earliest_change(std::span<const Facts> models,
                                         std::span<const JudgedFacts> judged) {
  Timestamp earliest = Timestamp::max();
  for (std::size_t i = 0; i < judged.size(); ++i) {
    note_publishers(models[i], judged[i]);
    earliest = std::min(earliest, judged[i].horizon.until);
  }
  return earliest == Timestamp::max() ? std::nullopt : std::optional(earliest);
}

DecisionPoint point_at(const Condition& condition, int depth) {
  const std::vector<Condition>* parts = parts_of(condition);
  if (parts == nullptr || depth >= kMaxConditionDepth) {
    return point_of_leaf(kPoints, condition);
  }
  DecisionPoint latest = DecisionPoint::kCreate;
  for (const Condition& part : *parts) {
    latest = std::max(latest, point_at(part, depth + 1));
  }
  return latest;
}

}  // namespace

const std::vector<Condition>* parts_of(const Condition& condition) {
  if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
    return &all->of;
  }
  if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    return &any->of;
  }
  if (const auto* negated = std::get_if<NotCondition>(&condition.kind)) {
    return &negated->of;
  }
  const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind);
  return at_least == nullptr ? nullptr : &at_least->of;
}

ConditionResult judge(const Condition& condition, const Scope& scope) {
  return judge_at(condition, scope, {});
}

DecisionPoint point_of_leaf(const PointTable& points, const Condition& condition) {
  const DecisionPoint point = points.at(condition.kind.index());
  const auto* report = std::get_if<ReportCondition>(&condition.kind);
  return report != nullptr && (report->at_serve || report->scope != kFilesScope)
             ? std::max(point, DecisionPoint::kServe)
             : point;
}

DecisionPoint point_of(const Condition& condition) { return point_at(condition, 1); }

Verdict evaluate_with(const PointTable& points, std::span<const ActivePolicy> policies,
                      const Workload& workload, std::span<const Facts> models,
                      std::vector<ConditionResult> preconditions, DecisionPoint point,
                      Timestamp now) {
  const Facts nothing;
  const std::span<const Facts> known = models.empty() ? std::span(&nothing, 1) : models;
  std::vector<JudgedFacts> judged;
  judged.reserve(known.size());
  for (const Facts& model : known) {
    judged.push_back(judge_signers(model, now));
  }
  Verdict verdict{false, {}, {}, std::move(preconditions), {}};
  Modes modes;
  for (const ActivePolicy& policy : policies) {
    if (matches(policy.document.match, workload, point)) {
      modes.enforce = modes.enforce || policy.document.mode == PolicyMode::kEnforce;
      modes.warn = modes.warn || policy.document.mode == PolicyMode::kWarn;
      const PodView view = pod_view(policy.document, workload, known, judged);
      const PublisherDemands demands = publisher_demands(policy.document);
      for (std::size_t i = 0; i < known.size(); ++i) {
        believe(demands, known[i].name, now, judged[i]);
        Scope scope{
            judged[i],   known[i], workload.node, points, point, now, view.mounted.models[i].bound,
            workload.pod};
        view.add_filled(i, known, scope);
        scope.require = &policy.document.require;
        scope.requester = &workload.requester;
        note_changes(policy.document.require, scope);
        PolicyResult result = judge_policy(policy, scope);
        add_implied(policy.document, view, workload, i, scope, result.conditions);
        result.outcome = combine_all(count(result.conditions));
        verdict.policies.push_back(std::move(result));
      }
    }
  }
  if (modes.enforce || modes.warn) {
    require_artifact(models, verdict.preconditions);
  }
  require_affinity(policies, workload, verdict.preconditions);
  weigh_preconditions(modes, verdict);
  for (const PolicyResult& policy : verdict.policies) {
    weigh_policy(policy, verdict);
  }
  if (!modes.enforce && !modes.warn) {
    add_once(verdict.reasons, Reason::kNoMatchingPolicy);
  }
  verdict.allowed = verdict.reasons.empty();
  verdict.valid_until = earliest_change(known, judged);
  return verdict;
}

Verdict evaluate(std::span<const ActivePolicy> policies, const Workload& workload,
                 std::span<const Facts> models, std::vector<ConditionResult> preconditions,
                 DecisionPoint point, Timestamp now) {
  return evaluate_with(kPoints, policies, workload, models, std::move(preconditions), point, now);
}

}  // namespace assay::policy
