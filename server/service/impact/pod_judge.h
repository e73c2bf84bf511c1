// SPDX-License-Identifier: Apache-2.0
// Judges known pods as things stand now, and under a hypothesis.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "server/service/decisions/judge_case.h"
#include "server/service/impact/answer.h"
#include "server/service/impact/suppose.h"
#include "server/service/services.h"

namespace assay::server {

// A pod and what would be answered now if somebody asked about it again.
struct JudgedPod {
  DecisionPoint point;  // serve for a pod that runs, bind when the node is known, else create
  std::string node;     // empty: none, or several are possible
  Answer present{};
  Answer supposed{};                  // equal to `present` without a hypothesis
  std::vector<std::string> models{};  // artifact ids
  CaseFile file{};                    // the present case; no models when no policy selects the pod
};

class PodJudge {
 public:
  // All references must outlive the object. `hypothesis` may be null. After `until`, by the
  // service's clock, everything ends with evaluation-deadline.
  PodJudge(Services& services, storage::Snapshot& snapshot, const Hypothesis* hypothesis,
           Timestamp until);

  // Judges a pod with what is known of its models, its node and its reports at `now`. What the pod
  // mounts and runs is taken as it was admitted. A pod whose instances the newest heartbeat of its
  // node names is judged as at serve; under a hypothesis only if it may serve at present, else as
  // at its binding. Errors: those of decide() (decisions/decide.h), evaluation-deadline among them.
  [[nodiscard]] Result<JudgedPod> judge(const storage::PodRow& row, Timestamp now);

  // Returns what would be answered about a judged pod if nothing were revoked or withdrawn.
  [[nodiscard]] Result<Answer> without_revocations(const JudgedPod& judged, Timestamp now);

  // Returns the lineage of a model as readers see it, with what was withdrawn and revoked
  // (read_lineage() in lineage/closure.h). Errors: evaluation-deadline; those of the store;
  // data-loss.
  [[nodiscard]] Result<std::shared_ptr<const policy::Lineage>> whole_lineage(
      const ArtifactId& artifact);

  [[nodiscard]] StatementInputs& inputs() { return inputs_; }
  [[nodiscard]] TcbLevels& levels() { return levels_; }

 private:
  // A question about a pod. The models stay those that it was admitted with, also when nobody whom
  // a policy believes names them any more.
  struct Question {
    DecisionRequest request;
    std::vector<DecidedModel> models;
    Timestamp now;
  };

  [[nodiscard]] Result<JudgedPod> judge_at(const storage::PodRow& row, policy::Workload workload,
                                           DecisionPoint point, Timestamp now);
  [[nodiscard]] Result<std::optional<CaseFile>> open(const Question& question,
                                                     const Policies& policies);
  [[nodiscard]] Result<Answer> evaluate(const std::optional<CaseFile>& file,
                                        const Policies& policies, Timestamp now);
  [[nodiscard]] Status suppose(const Question& question, const std::optional<CaseFile>& present,
                               JudgedPod& judged);

  Services& services_;
  storage::Snapshot& snapshot_;
  const Hypothesis* hypothesis_;
  Timestamp until_;
  std::function<Status()> check_;
  StatementInputs inputs_;
  TcbLevels levels_;
  std::map<ArtifactId, std::shared_ptr<const policy::Lineage>> lineages_;  // whole ones
  std::optional<Policies> supposed_policies_;                              // once they are needed
  DecisionCache cache_;                                                    // of predicate tests
};

// Returns {"cluster", "uid", "namespace", "name", "models", "point", "state", "last_seen"}, and
// "node" when it is known. "state" is "violated" when the newest heartbeat of the node, which was
// heard at "last_seen", says so of an instance of the pod; "running" when it names one otherwise;
// else "admitted", at "last_seen".
[[nodiscard]] Json pod_view(const Services& services, const storage::PodRow& row,
                            const JudgedPod& judged);

}  // namespace assay::server
