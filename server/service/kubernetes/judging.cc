// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/judging.h"

#include "server/service/kubernetes/review_answer.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxKind = 256;
constexpr std::size_t kMaxOperation = 32;

Json context_of(const Asking& asking, const Review& review) {
  return {
      {"via", asking.call == AdmissionCall::kMutate ? "admission-mutate" : "admission-validate"},
      {"uid", review.uid},
      {"kind", clip(review.kind, kMaxKind)},
      {"namespace", clip(review.name_space, kMaxObjectName)},
      {"name", clip(review.object_name, kMaxObjectName)},
      {"operation", clip(review.operation, kMaxOperation)},
      {"user", clip(review.user, kMaxObjectName)},
      {"principal", asking.principal}};
}

}  // namespace

Result<std::optional<storage::PodRow>> find_pod(const Asking& asking, storage::Snapshot& snapshot,
                                                const std::string& uid) {
  if (uid.empty() || uid.size() > kMaxObjectName) {
    return std::nullopt;
  }
  if (auto waiting = asking.services.unselected.find(asking.principal, uid)) {
    return waiting;
  }
  auto row = snapshot.pod(asking.principal, uid);
  if (!row && row.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(row).error());
  }
  return row ? std::optional(std::move(*row)) : std::nullopt;
}

storage::PodRow with_workload(storage::PodRow row, policy::Workload workload) {
  if (!workload.node.empty() && row.settled.empty()) {
    std::erase(row.nodes, workload.node);
    if (row.nodes.size() >= storage::kMaxPodNodes) {
      row.nodes.erase(row.nodes.begin());
    }
    row.nodes.push_back(std::move(workload.node));
  }
  workload.node.clear();
  row.workload = policy::to_json(workload);
  return row;
}

std::vector<std::string> references_of(const storage::PodRow& row) {
  std::vector<std::string> references;
  for (const DecidedModel& model : row.models) {
    references.push_back(reference_to({model}));
  }
  return references;
}

DecisionRequest request_for(const Asking& asking, const Review& review, policy::Workload workload,
                            std::vector<std::string> models) {
  const bool bound = !workload.node.empty();
  return {.point = bound ? DecisionPoint::kBind : DecisionPoint::kCreate,
          .models = std::move(models),
          .workload = std::move(workload),
          .context = context_of(asking, review),
          .principal = asking.principal,
          .dry_run = review.dry_run,
          .skip_unselected = true,
          .cluster = asking.principal,
          .deadline = asking.deadline};
}

Result<ReviewAnswer> not_applicable(const Asking& asking, const Review& review,
                                    const std::optional<storage::PodRow>& pod, const Json& patch) {
  if (asking.keeps(review)) {
    asking.services.unselected.add({asking.principal, review.name_space, review.kind, pod});
  }
  return allow_unjudged(review, "not-applicable", patch);
}

}  // namespace assay::server
