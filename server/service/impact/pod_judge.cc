// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/pod_judge.h"

#include <algorithm>

#include "server/service/kubernetes/judging.h"
#include "server/service/kubernetes/pod_node.h"
#include "server/service/references/resolve.h"

namespace assay::server {

// Nothing when no policy selects the workload.
Result<std::optional<CaseFile>> PodJudge::open(const Question& question, const Policies& policies) {
  const DecisionRequest& request = question.request;
  if (!policy::selected(policies, request.workload, request.point)) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(
      ResolvedReference resolved,
      resolve(services_, snapshot_,
              {request.models, request.workload, policies, request.point, question.now, {}}));
  if (!question.models.empty()) {
    resolved.models = question.models;
  }
  ASSAY_ASSIGN(CaseFile file,
               open_case(services_, snapshot_, request, resolved, policies, question.now));
  return file;
}

Result<Answer> PodJudge::evaluate(const std::optional<CaseFile>& file, const Policies& policies,
                                  Timestamp now) {
  if (!file) {
    return Answer{.selected = false};
  }
  ASSAY_ASSIGN(const Verdict verdict, evaluate_case(snapshot_, *file, policies, now, &cache_));
  return answer_of(verdict);
}

Status PodJudge::suppose(const Question& question, const std::optional<CaseFile>& present,
                         JudgedPod& judged) {
  ASSAY_ASSIGN(const auto in_force, policies_in_force(services_, snapshot_));
  if (!supposed_policies_) {
    ASSAY_ASSIGN(supposed_policies_, suppose_policies(*hypothesis_, *in_force));
  }
  std::optional<CaseFile> file = present;
  if (hypothesis_->changes_policies()) {
    ASSAY_ASSIGN(file, open(question, *supposed_policies_));
  }
  if (file) {
    ASSAY_TRY(suppose_facts(*hypothesis_, inputs_, *file));
  }
  ASSAY_ASSIGN(judged.supposed, evaluate(file, *supposed_policies_, question.now));
  return {};
}

Result<JudgedPod> PodJudge::judge(const storage::PodRow& row, Timestamp now) {
  ASSAY_ASSIGN(policy::Workload workload, policy::workload_from_json(row.workload));
  workload.node = node_of_pod(row, {}).node;
  JudgedPod judged{workload.node.empty() ? DecisionPoint::kCreate : DecisionPoint::kBind,
                   workload.node};
  const Question question{.request = {.point = judged.point,
                                      .models = references_of(row),
                                      .workload = std::move(workload),
                                      .context = nullptr,
                                      .principal = row.cluster,
                                      .dry_run = true,
                                      .skip_unselected = true,
                                      .cluster = row.cluster,
                                      .pod_uid = row.uid},
                          .models = row.models,
                          .now = now};
  ASSAY_ASSIGN(const auto in_force, policies_in_force(services_, snapshot_));
  ASSAY_ASSIGN(const std::optional<CaseFile> present, open(question, *in_force));
  ASSAY_ASSIGN(judged.present, evaluate(present, *in_force, now));
  for (const DecidedModel& model : row.models) {
    judged.models.push_back(model.artifact.text());
  }
  if (hypothesis_ == nullptr) {
    judged.supposed = judged.present;
  } else {
    ASSAY_TRY(suppose(question, present, judged));
  }
  if (present) {
    judged.file = *present;
  }
  return judged;
}

Json pod_view(const Services& services, const storage::PodRow& row, const JudgedPod& judged) {
  Json view = {{"cluster", row.cluster},      {"uid", row.uid},
               {"namespace", row.name_space}, {"name", row.name},
               {"models", judged.models},     {"point", name(judged.point)},
               {"state", "admitted"},         {"last_seen", to_rfc3339(row.admitted_at)}};
  if (judged.node.empty()) {
    return view;
  }
  view["node"] = judged.node;
  const auto heard = services.heartbeats.of(judged.node);
  if (heard && std::ranges::any_of(heard->instances, [&](const InstanceBeat& beat) {
        return beat.instance.pod == row.uid;
      })) {
    view["state"] = "running";
    view["last_seen"] = to_rfc3339(heard->heard_at);
  }
  return view;
}

}  // namespace assay::server
