// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/pod_judge.h"

#include <algorithm>

#include "server/service/impact/revoked.h"
#include "server/service/kubernetes/judging.h"
#include "server/service/kubernetes/pod_node.h"
#include "server/service/reference_sets.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

struct Running {
  Timestamp heard_at;
  bool violated;  // an instance of the pod is
};

// What the newest heartbeat of the node says of the pod, if it names an instance of it that has not
// ended.
std::optional<Running> runs(const Services& services, const storage::PodRow& row,
                            const std::string& node) {
  const auto heard = services.heartbeats.of(node);
  std::optional<Running> running;
  if (heard) {
    for (const InstanceBeat& beat : heard->instances) {
      if (beat.instance.pod == row.uid && beat.state != InstanceState::kEnded) {
        const bool before = running && running->violated;
        running = {heard->heard_at, before || beat.state == InstanceState::kViolated};
      }
    }
  }
  return running;
}

}  // namespace

PodJudge::PodJudge(Services& services, storage::Snapshot& snapshot, const Hypothesis* hypothesis,
                   Timestamp until)
    : services_(services),
      snapshot_(snapshot),
      hypothesis_(hypothesis),
      until_(until),
      check_([&services, until] { return check_deadline(services, until); }),
      inputs_(snapshot, check_),
      levels_(snapshot, check_) {}

// Nothing when no policy selects the workload.
Result<std::optional<CaseFile>> PodJudge::open(const Question& question, const Policies& policies) {
  const DecisionRequest& request = question.request;
  if (!policy::selected(policies, request.workload, request.point)) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(ResolvedReference resolved, resolve(services_, snapshot_,
                                                   {request.models, request.workload, policies,
                                                    request.point, question.now, until_}));
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
  ASSAY_ASSIGN(const Verdict verdict,
               evaluate_case(snapshot_, *file, policies, now, &cache_, check_));
  weigh_lineages(services_, file->lineages);
  return answer_of(verdict);
}

Status PodJudge::suppose(const Question& question, const std::optional<CaseFile>& present,
                         JudgedPod& judged) {
  ASSAY_ASSIGN(const auto in_force, policies_in_force(services_, snapshot_));
  if (!supposed_policies_) {
    ASSAY_ASSIGN(const auto rows, snapshot_.active_policies());
    ASSAY_ASSIGN(policy::ReferenceSets sets, sets_among(rows));
    ASSAY_ASSIGN(supposed_policies_, suppose_policies(*hypothesis_, *in_force, std::move(sets)));
  }
  std::optional<CaseFile> file = present;
  if (hypothesis_->changes_policies()) {
    ASSAY_ASSIGN(file, open(question, *supposed_policies_));
  }
  bool sure = true;
  if (file) {
    ASSAY_ASSIGN(sure, suppose_facts(*hypothesis_, inputs_, levels_, *file));
  }
  ASSAY_ASSIGN(judged.supposed, evaluate(file, *supposed_policies_, question.now));
  if (!sure && judged.supposed.selected && judged.supposed.allowed) {
    return fail(ErrorCode::kLimitExceeded, "nobody can tell whether the answer is about this");
  }
  return {};
}

// Judges as at one point.
Result<JudgedPod> PodJudge::judge_at(const storage::PodRow& row, policy::Workload workload,
                                     DecisionPoint point, Timestamp now) {
  JudgedPod judged{point, workload.node};
  const Question question{.request = {.point = point,
                                      .models = references_of(row),
                                      .workload = std::move(workload),
                                      .context = nullptr,
                                      .principal = row.cluster,
                                      .dry_run = true,
                                      .skip_unselected = true,
                                      .cluster = row.cluster,
                                      .pod_uid = row.uid,
                                      .deadline = until_},
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

Result<JudgedPod> PodJudge::judge(const storage::PodRow& row, Timestamp now) {
  ASSAY_ASSIGN(policy::Workload workload, policy::workload_from_json(row.workload));
  workload.node = node_of_pod(row, {}).node;
  if (workload.node.empty()) {
    return judge_at(row, std::move(workload), DecisionPoint::kCreate, now);
  }
  if (runs(services_, row, workload.node)) {
    ASSAY_ASSIGN(JudgedPod served, judge_at(row, workload, DecisionPoint::kServe, now));
    // What a pod has not at present it cannot lose: of one that does not serve yet the binding is
    // in question.
    if (hypothesis_ == nullptr || served.present.allowed || !served.present.selected) {
      return served;
    }
  }
  return judge_at(row, std::move(workload), DecisionPoint::kBind, now);
}

Result<std::shared_ptr<const policy::Lineage>> PodJudge::whole_lineage(const ArtifactId& artifact) {
  constexpr std::size_t kMaxKept = 256;
  constexpr std::size_t kMaxDepth = 64;
  if (const auto known = lineages_.find(artifact); known != lineages_.end()) {
    return known->second;
  }
  ASSAY_ASSIGN(auto lineage, read_lineage(snapshot_, artifact.text(), policy::LineageDirection::kUp,
                                          kMaxDepth, check_));
  if (lineages_.size() >= kMaxKept) {
    lineages_.clear();
  }
  return lineages_.emplace(artifact, std::move(lineage)).first->second;
}

Result<Answer> PodJudge::without_revocations(const JudgedPod& judged, Timestamp now) {
  CaseFile file = judged.file;
  for (CaseModel& model : file.models) {
    if (model.facts.lineage && model.facts.artifact) {  // decisions leave out what cannot count
      ASSAY_ASSIGN(model.facts.lineage, whole_lineage(*model.facts.artifact));
      if (!model.facts.lineage->reached().empty()) {
        return Answer{.allowed = true};  // nobody knows, so the pod is rather named than forgotten
      }
      model.lineage = nullptr;
      model.results = nullptr;  // these are of the other lineage
    }
  }
  drop_revocations(file);
  ASSAY_ASSIGN(const auto in_force, policies_in_force(services_, snapshot_));
  return evaluate(file, *in_force, now);
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
  if (const auto running = runs(services, row, judged.node)) {
    view["state"] = running->violated ? "violated" : "running";
    view["last_seen"] = to_rfc3339(running->heard_at);
  }
  return view;
}

}  // namespace assay::server
