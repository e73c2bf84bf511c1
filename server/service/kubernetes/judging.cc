// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/judging.h"

#include "server/service/kubernetes/review_answer.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxKind = 256;
constexpr std::size_t kMaxOperation = 32;

Json context_of(const WebhookCall& asking, const Review& review,
                const std::vector<std::string>& models) {
  Json context = {
      {"via", asking.call == AdmissionCall::kMutate ? "admission-mutate" : "admission-validate"},
      {"uid", review.uid},
      {"kind", clip(review.kind, kMaxKind)},
      {"namespace", clip(review.name_space, kMaxObjectName)},
      {"name", clip(review.object_name, kMaxObjectName)},
      {"operation", clip(review.operation, kMaxOperation)},
      {"user", clip(review.user, kMaxObjectName)},
      {"principal", asking.principal}};
  if (auto names = names_in(models); !names.empty()) {
    context["asked"] = std::move(names);
  }
  return context;
}

}  // namespace

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

DecisionRequest request_for(const WebhookCall& asking, const Review& review,
                            policy::Workload workload, std::vector<std::string> models) {
  const bool bound = !workload.node.empty();
  Json context = context_of(asking, review, models);
  return {.point = bound ? DecisionPoint::kBind : DecisionPoint::kCreate,
          .models = std::move(models),
          .workload = std::move(workload),
          .context = std::move(context),
          .principal = asking.principal,
          .dry_run = review.dry_run,
          .skip_unselected = true,
          .cluster = asking.principal,
          .deadline = asking.deadline,
          .store = &asking.store};
}

Result<ReviewAnswer> not_applicable(const WebhookCall& asking, const Review& review,
                                    const DecisionRequest& request, const Json& patch) {
  if (asking.keeps(review)) {
    const bool kept =
        asking.services.unselected.add({asking.principal, review.name_space, review.kind,
                                        request.keeps, request.seen.has_value()});
    if (!kept) {
      return fail(ErrorCode::kOverloaded, "too many pods wait to be written; try again later");
    }
  }
  return allow_unjudged(review, "not-applicable", patch);
}

}  // namespace assay::server
