// SPDX-License-Identifier: Apache-2.0
// Judges conditions, with one function for each kind. Internal to policy; callers use evaluate.h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/evaluate.h"
#include "policy/signers.h"

namespace assay::policy {

using ConditionKind = decltype(Condition::kind);

// Maps each kind of condition, by its position in the variant, to the decision point (create, bind
// or serve) at which conditions of this kind are judged. The entries of combined kinds (such as all
// and any) are unused, because a combined condition is judged at the latest point of its parts. A
// report condition with `at_serve`, or with a scope other than files, is judged at serve at the
// earliest, whatever the table says (see point_of_leaf()).
using PointTable = std::array<DecisionPoint, std::variant_size_v<ConditionKind>>;

inline constexpr PointTable kPoints = {
    DecisionPoint::kCreate,  // ManifestCondition
    DecisionPoint::kCreate,  // StatementCondition
    DecisionPoint::kCreate,  // ParametersCondition
    DecisionPoint::kBind,    // NodeCondition
    DecisionPoint::kBind,    // ReportCondition
    DecisionPoint::kCreate,  // LineageCondition
    DecisionPoint::kCreate,  // RequestCondition
    DecisionPoint::kCreate,  // WindowCondition
    DecisionPoint::kCreate,  // AllCondition
    DecisionPoint::kCreate,  // AnyCondition
    DecisionPoint::kCreate,  // NotCondition
    DecisionPoint::kCreate,  // AtLeastCondition
};

// Scope of reports about files. Only reports of this scope (ReportFact in policy/facts.h) can be
// made before a workload runs.
inline constexpr std::string_view kFilesScope = "files";

// Returns the decision point of a condition that has no parts.
[[nodiscard]] DecisionPoint point_of_leaf(const PointTable& points, const Condition& condition);

// Largest depth at which nested conditions are judged; deeper conditions are undecided.
// parse_policy() (schemas/policy_document.h) refuses policies with deeper conditions.
inline constexpr int kMaxConditionDepth = 32;

// Returns the parts of a combined condition; nullptr for the other kinds.
[[nodiscard]] const std::vector<Condition>* parts_of(const Condition& condition);

// What all conditions share while one policy is judged for one model.
struct Scope {
  const JudgedFacts& facts;
  const Facts& known;       // the facts from which `facts` was made
  const std::string& node;  // node of the workload; empty before bind
  const PointTable& points;
  DecisionPoint point;
  Timestamp now;
  // Locations of this model that the judged policy accepts and the pod mounts; ascending.
  std::vector<std::string> bound{};
  bool pod = false;  // workload read from a pod: only mounted locations are used
  // Volumes of the pod that may hold this model, because an allowed init container fills them at
  // run time (FilledVolumes in policy/locations.h); ascending. Empty when the pod mounts this model
  // at a location, but mounts another judged model nowhere: the volumes then hold that other model.
  std::vector<std::string> filled{};
  std::vector<const Facts*> beside{};  // the other models that a volume in `filled` may hold
  const std::vector<Condition>* require = nullptr;  // conditions of the policy; null: none
  const Requester* requester = nullptr;  // who asked for the workload; null: nothing is known
};

// Each judge() function for one kind of condition sets every member of its result except `id`.
[[nodiscard]] ConditionResult judge(const ManifestCondition& condition, const JudgedFacts& facts);
[[nodiscard]] ConditionResult judge(const StatementCondition& condition, const Scope& scope);
[[nodiscard]] ConditionResult judge(const ParametersCondition& condition, const JudgedFacts& facts);
// Judges the condition that every policy has implicitly: the artifact has no ignore patterns except
// kUsualIgnore (schemas/core/artifact.h). Returns nullopt when the policy has a parameters
// condition that lists accepted patterns and is not below a `not`. Also returns nullopt when there
// is no artifact, because evaluate() then adds a failed precondition.
inline constexpr std::string_view kIgnoreCondition = "ignore-accepted";
[[nodiscard]] std::optional<ConditionResult> judge_ignore(const std::vector<Condition>& require,
                                                          const Scope& scope);
[[nodiscard]] ConditionResult judge(const NodeCondition& condition, const Scope& scope);
[[nodiscard]] ConditionResult judge(const ReportCondition& condition, const Scope& scope);
[[nodiscard]] ConditionResult judge(const RequestCondition& condition, const Scope& scope);
[[nodiscard]] ConditionResult judge(const WindowCondition& condition, const Scope& scope);

// Judges `condition` and all its parts, even when some parts already decide the outcome.
[[nodiscard]] ConditionResult judge(const Condition& condition, const Scope& scope);

// Does the same as evaluate(), with `points` instead of kPoints.
[[nodiscard]] Verdict evaluate_with(const PointTable& points,
                                    std::span<const ActivePolicy> policies,
                                    const Workload& workload, std::span<const Facts> models,
                                    std::vector<ConditionResult> preconditions, DecisionPoint point,
                                    Timestamp now);

}  // namespace assay::policy
