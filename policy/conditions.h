// SPDX-License-Identifier: Apache-2.0
// Judging conditions, one function a kind. Inside of policy; evaluate.h is the way in.
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

// Which point decides a kind of condition, by its position in the variant. The entries of combined
// kinds are not used: they belong to the latest point of their parts. A report about anything but
// files belongs to serve at the earliest, whatever the table says: see point_of_leaf.
using PointTable = std::array<DecisionPoint, std::variant_size_v<ConditionKind>>;

inline constexpr PointTable kPoints = {
    DecisionPoint::kCreate,  // ManifestCondition
    DecisionPoint::kCreate,  // StatementCondition
    DecisionPoint::kCreate,  // ParametersCondition
    DecisionPoint::kBind,    // NodeCondition
    DecisionPoint::kBind,    // ReportCondition
    DecisionPoint::kCreate,  // AllCondition
    DecisionPoint::kCreate,  // AnyCondition
    DecisionPoint::kCreate,  // NotCondition
    DecisionPoint::kCreate,  // AtLeastCondition
};

// The scope of reports that can be made before a workload runs.
inline constexpr std::string_view kFilesScope = "files";

// The point of a condition without parts.
[[nodiscard]] DecisionPoint point_of_leaf(const PointTable& points, const Condition& condition);

// Levels of conditions inside each other that are judged; deeper ones are undecided. parse_policy
// refuses them before.
inline constexpr int kMaxConditionDepth = 32;

// The parts of a combined condition; nullptr for the other kinds.
[[nodiscard]] const std::vector<Condition>* parts_of(const Condition& condition);

// What every condition of one evaluation shares.
struct Scope {
  const JudgedFacts& facts;
  const Facts& known;       // what `facts` was made of, with node and reports
  const std::string& node;  // that the workload goes to; empty before bind
  const PointTable& points;
  DecisionPoint point;
  Timestamp now;
  // Locations of this model that the pod mounts, as the policy being judged counts them; ascending.
  std::vector<std::string> bound{};
  bool pod = false;  // the workload was read from a pod: only what it mounts counts
  // Volumes of the pod that are filled at run time as the policy allows it, and may hold this
  // model; ascending. None for a model that is mounted beside others that are not.
  std::vector<std::string> filled{};
  std::vector<const Facts*> beside{};  // other models that such a volume may hold instead
};

// Each fills everything but `id`.
[[nodiscard]] ConditionResult judge(const ManifestCondition& condition, const JudgedFacts& facts);
[[nodiscard]] ConditionResult judge(const StatementCondition& condition, const JudgedFacts& facts,
                                    Timestamp now);
[[nodiscard]] ConditionResult judge(const ParametersCondition& condition, const JudgedFacts& facts);
// The condition that every policy has without writing it: the artifact leaves out nothing but
// kUsualIgnore. Nothing when a parameters condition of the policy, below no `not`, says itself
// which patterns it accepts; and nothing without an artifact, which denies by itself
// (require_artifact).
inline constexpr std::string_view kIgnoreCondition = "ignore-accepted";
[[nodiscard]] std::optional<ConditionResult> judge_ignore(const std::vector<Condition>& require,
                                                          const Scope& scope);
[[nodiscard]] ConditionResult judge(const NodeCondition& condition, const Scope& scope);
[[nodiscard]] ConditionResult judge(const ReportCondition& condition, const Scope& scope);

// Judges `condition` with all its parts; nothing is left out because the answer is clear.
[[nodiscard]] ConditionResult judge(const Condition& condition, const Scope& scope);

// evaluate() with another table of points.
[[nodiscard]] Verdict evaluate_with(const PointTable& points,
                                    std::span<const ActivePolicy> policies,
                                    const Workload& workload, std::span<const Facts> models,
                                    std::vector<ConditionResult> preconditions, DecisionPoint point,
                                    Timestamp now);

}  // namespace assay::policy
