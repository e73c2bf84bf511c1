// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/pod_review.h"

#include <algorithm>

#include "server/service/kubernetes/known_pod.h"
#include "server/service/kubernetes/pod_node.h"
#include "server/service/kubernetes/requester.h"
#include "server/service/kubernetes/review_answer.h"
#include "server/service/kubernetes/review_patch.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

constexpr std::string_view kUnchanged = "unchanged";
constexpr std::string_view kNotApplicable = "not-applicable";

// What a pod mounts and runs, and how it gets at accelerators: the parts of a workload that an
// update must not change unjudged. Labels are not among them.
Json judged_parts(policy::Workload workload) {
  workload.labels.clear();
  workload.node.clear();
  return policy::to_json(workload);
}

// Whether the update changes what is judged. An old object that cannot be read changes everything.
Result<bool> changes_judged(const Review& review, const PodView& pod) {
  const auto before = pod_of(review.kind, review.old_object);
  if (!before || before->spec.empty()) {
    return true;
  }
  if (before->spec == pod.spec &&
      member_at(before->metadata, "annotations") == member_at(pod.metadata, "annotations")) {
    return false;
  }
  ASSAY_ASSIGN(policy::Workload now, workload_of(pod, review.name_space));
  auto then = workload_of(*before, review.name_space);
  return !then || judged_parts(*std::move(then)) != judged_parts(std::move(now));
}

// Whether the model that the annotation names now is the one that it named before, written with or
// without the artifact id.
bool names_the_same(const std::string& before, const std::string& now) {
  const std::vector<std::string> decided = references_in(before);
  const std::vector<std::string> shown = references_in(now);
  return std::ranges::equal(decided, shown, [](std::string_view pinned, std::string_view one) {
    return one == pinned || one == pinned.substr(0, pinned.find('@'));
  });
}

// Whether the pod shows the id of a decision, and beside it annotations of ours that are not those
// which mutation wrote with the id.
bool misleads(const Review& review, const PodView& pod) {
  const Json& then = object_at(object_at(review.old_object, "metadata"), "annotations");
  const Json& now = object_at(pod.metadata, "annotations");
  if (!now.contains(kDecisionAnnotation)) {
    return false;
  }
  const auto changes = [&](const Json& one, const Json& other) {
    return std::ranges::any_of(one.items(), [&](const auto& item) {
      const std::string& name = item.key();
      return name.starts_with(kAnnotationPrefix) && member_at(other, name) != item.value() &&
             !(name == kModelAnnotation && names_the_same(text_at(then, name), text_at(now, name)));
    });
  };
  return changes(then, now) || changes(now, then);
}

std::vector<std::string> annotated_models(const PodView& pod) {
  return references_in(annotation(pod, kModelAnnotation));
}

// The pod to remember: validation sees it as it will be stored, with its name and uid.
std::optional<storage::PodRow> new_row(const WebhookCall& asking, const Review& review,
                                       const policy::Workload& workload) {
  storage::PodRow row;
  row.cluster = asking.principal;
  row.uid = metadata_text(review.object, "uid");
  row.name_space = review.name_space;
  row.name = metadata_text(review.object, "name");
  const bool usable = !row.uid.empty() && row.uid.size() <= kMaxObjectName && !row.name.empty() &&
                      row.name.size() <= kMaxObjectName;
  return asking.keeps(review) && usable ? std::optional(with_workload(std::move(row), workload))
                                        : std::nullopt;
}

// The node of the pod as the API server has stored it; empty before it is bound. What the new
// object says may be refused.
std::string stored_node(const Review& review) {
  const auto before = pod_of(review.kind, review.old_object);
  return before ? node_of(*before) : std::string();
}

storage::PodRow settled_by(const Review& review, storage::PodRow row) {
  std::string node = stored_node(review);
  if (!node.empty()) {
    row.settled = std::move(node);
  }
  return row;
}

// Keeps where the pod is. When that fails, any node that was allowed stays possible.
void settle(const WebhookCall& asking, const Review& review, const storage::PodRow& row) {
  const std::string node = stored_node(review);
  const bool known = node.empty() || row.settled == node;
  if (known || !asking.keeps(review) || asking.services.unselected.find(row.cluster, row.uid)) {
    return;
  }
  static_cast<void>(asking.store.write([&](storage::Transaction& transaction) -> Status {
    auto present = transaction.pod(row.cluster, row.uid);
    if (!present) {
      return {};
    }
    present->settled = node;
    return transaction.put_pod(*present);
  }));
}

// A pod that is not known: everything is read from its object. One that names its node goes there
// without a binding, or is there already.
Result<DecisionRequest> unknown_request(const WebhookCall& asking, const Review& review,
                                        const PodView& pod) {
  ASSAY_ASSIGN(policy::Workload workload, workload_of(pod, review.name_space));
  workload.node = node_of(pod);
  workload.requester = requester_of(review, pod);
  DecisionRequest request = request_for(asking, review, std::move(workload), annotated_models(pod));
  request.keeps = new_row(asking, review, request.workload);
  if (request.keeps) {
    request.keeps = settled_by(review, *std::move(request.keeps));
  }
  return request;
}

// A known pod whose containers change: its models and labels are those that were judged. It is
// judged on `node`; empty: it has none.
Result<DecisionRequest> known_request(const WebhookCall& asking, const Review& review,
                                      const PodView& pod, const storage::PodRow& row,
                                      const std::string& node) {
  ASSAY_ASSIGN(const policy::Workload judged, policy::workload_from_json(row.workload));
  ASSAY_ASSIGN(policy::Workload workload, workload_of(pod, review.name_space));
  workload.labels = judged.labels;
  workload.requester = judged.requester;
  const storage::PodRow settled = settled_by(review, row);
  workload.node = node;
  DecisionRequest request = request_for(asking, review, std::move(workload), references_of(row));
  if (!node.empty()) {
    request.preconditions.push_back(node_of_pod(settled, node).condition);
  }
  if (asking.keeps(review)) {
    request.seen = row;
    request.keeps = with_workload(settled, request.workload);
  }
  return request;
}

// --- creation

// Image volumes get their digests first: what has none is no place of a model. What was read to
// find them is left in `snapshot`.
Result<Json> pin_images(const WebhookCall& asking, const Review& review, PodView& pod,
                        std::unique_ptr<storage::Snapshot>& snapshot) {
  const std::vector<std::string> references = annotated_models(pod);
  if (asking.call != AdmissionCall::kMutate || references.empty() || !has_unpinned_image(pod)) {
    return Json::array();
  }
  ASSAY_ASSIGN(const policy::Workload workload, workload_of(pod, review.name_space));
  ASSAY_ASSIGN(snapshot, asking.store.snapshot());
  const Timestamp now = asking.services.clock.now();
  ASSAY_ASSIGN(const auto policies, policies_in_force(asking.services, *snapshot));
  ASSAY_ASSIGN(
      const ResolvedReference resolved,
      resolve(asking.services, *snapshot,
              {references, workload, *policies, DecisionPoint::kCreate, now, asking.deadline}));
  return image_patch(asking.services, *snapshot, resolved.models, workload, now, pod);
}

Result<ReviewAnswer> judge_creation(const WebhookCall& asking, const Review& review, PodView pod) {
  std::unique_ptr<storage::Snapshot> snapshot;
  ASSAY_ASSIGN(Json patch, pin_images(asking, review, pod, snapshot));
  ASSAY_ASSIGN(const DecisionRequest request, unknown_request(asking, review, pod));
  ASSAY_ASSIGN(const DecisionAnswer decided, decide(asking.services, request, std::move(snapshot)));
  const bool mutates = asking.call == AdmissionCall::kMutate;
  if (!decided.selected) {
    return not_applicable(asking, review, request,
                          mutates ? annotation_patch(pod, nullptr) : Json::array());
  }
  if (!mutates) {
    return answer_decision(review, decided);
  }
  for (const Json& more :
       {annotation_patch(pod, &*decided.decision), affinity_patch(pod, decided.node_affinity)}) {
    patch.insert(patch.end(), more.begin(), more.end());
  }
  return answer_decision(review, decided, patch);
}

// --- changes

Result<ReviewAnswer> decide_and_answer(const WebhookCall& asking, const Review& review,
                                       const DecisionRequest& request,
                                       std::unique_ptr<storage::Snapshot> snapshot) {
  ASSAY_ASSIGN(const DecisionAnswer decided, decide(asking.services, request, std::move(snapshot)));
  return decided.selected ? answer_decision(review, decided)
                          : not_applicable(asking, review, request);
}

// A pod that waits and is not known gets to be known by any update, if it would be let in: else its
// binding stays refused, but its metadata stay changeable.
ReviewAnswer judge_waiting(const WebhookCall& asking, const Review& review, const PodView& pod,
                           std::unique_ptr<storage::Snapshot> snapshot) {
  const auto answer = [&]() -> Result<ReviewAnswer> {
    ASSAY_ASSIGN(const DecisionRequest request, unknown_request(asking, review, pod));
    return decide_and_answer(asking, review, request, std::move(snapshot));
  }();
  const bool let_in = answer && answer->decided.value_or(true);
  return let_in ? *answer
                : allow_unjudged(review, kUnchanged, Json::array(),
                                 {"assay: this pod was not admitted, and will not be bound"});
}

// Where the pod may be: on its node; before the API server has said which one that is, on any for
// which a binding was allowed, because that binding may be stored after this review. One empty name
// when no binding was allowed.
std::vector<std::string> possible_nodes(const Review& review, const storage::PodRow& row) {
  const storage::PodRow settled = settled_by(review, row);
  if (!settled.settled.empty()) {
    return {settled.settled};
  }
  return row.nodes.empty() ? std::vector<std::string>{std::string()} : row.nodes;
}

bool is_denied(const DecisionAnswer& decided) {
  return decided.selected && !decided.decision->verdict.allowed;
}

// Allowed when it is allowed wherever the pod may be. Only the last decision changes what is kept.
Result<ReviewAnswer> judge_change(const WebhookCall& asking, const Review& review,
                                  const PodView& pod, KnownPod known) {
  const std::vector<std::string> nodes = possible_nodes(review, *known.row);
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    ASSAY_ASSIGN(DecisionRequest request, known_request(asking, review, pod, *known.row, nodes[i]));
    request.keeps.reset();
    ASSAY_ASSIGN(const DecisionAnswer decided,
                 decide(asking.services, request, std::move(known.snapshot)));
    if (is_denied(decided)) {
      return answer_decision(review, decided);
    }
  }
  ASSAY_ASSIGN(const DecisionRequest request,
               known_request(asking, review, pod, *known.row, nodes.back()));
  return decide_and_answer(asking, review, request, std::move(known.snapshot));
}

Result<ReviewAnswer> judge_update(const WebhookCall& asking, const Review& review,
                                  const PodView& pod) {
  if (misleads(review, pod)) {
    return refuse(review, Reason::kAnnotationReserved,
                  "a pod that shows a decision keeps its annotations of assay.dev");
  }
  ASSAY_ASSIGN(KnownPod known,
               find_pod(asking.services, asking.principal, metadata_text(review.object, "uid")));
  const bool same = known.row && known.row->name_space == review.name_space &&
                    known.row->name == metadata_text(review.object, "name");
  ASSAY_ASSIGN(const bool changes, changes_judged(review, pod));
  if (same && changes) {
    return judge_change(asking, review, pod, std::move(known));
  }
  if (same) {
    known.snapshot.reset();  // no reader is held during a write
    settle(asking, review, *known.row);
  }
  if (same || (!changes && !node_of(pod).empty())) {
    return allow_unjudged(review, kUnchanged);
  }
  if (!changes) {
    return judge_waiting(asking, review, pod, std::move(known.snapshot));
  }
  ASSAY_ASSIGN(const DecisionRequest request, unknown_request(asking, review, pod));
  return decide_and_answer(asking, review, request, std::move(known.snapshot));
}

// A pod beyond the limits of workload_of(): nobody's business here when no policy selects it. It is
// not kept, and a binding that a later policy may select is refused.
Result<ReviewAnswer> judge_unread(const WebhookCall& asking, const Review& review, Error why) {
  // One after the other: each of the two holds a reader.
  ASSAY_ASSIGN(const bool selected, may_be_selected(asking, review));
  ASSAY_ASSIGN(const KnownPod known,
               find_pod(asking.services, asking.principal, metadata_text(review.object, "uid")));
  if (known.row || selected) {
    return std::unexpected(std::move(why));
  }
  Json patch = Json::array();
  const Json& annotations = object_at(object_at(review.object, "metadata"), "annotations");
  if (asking.call == AdmissionCall::kMutate && annotations.contains(kDecisionAnnotation)) {
    patch.push_back({{"op", "remove"}, {"path", "/metadata/annotations/assay.dev~1decision-id"}});
  }
  return allow_unjudged(review, kNotApplicable, patch);
}

// --- templates

Result<ReviewAnswer> judge_template(const WebhookCall& asking, const Review& review,
                                    const PodView& pod) {
  ASSAY_ASSIGN(policy::Workload workload, workload_of(pod, review.name_space));
  workload.requester = requester_of(review, pod);
  DecisionRequest request = request_for(asking, review, std::move(workload), annotated_models(pod));
  request.dry_run = true;
  ASSAY_ASSIGN(const DecisionAnswer decided, decide(asking.services, request));
  return decided.selected ? answer_advice(review, *decided.decision)
                          : allow_unjudged(review, kNotApplicable);
}

}  // namespace

Result<bool> may_be_selected(const WebhookCall& asking, const Review& review) {
  const auto pod = pod_of(review.kind, review.object);
  if (!pod) {
    return true;
  }
  ASSAY_ASSIGN(const auto snapshot, asking.store.snapshot());
  ASSAY_ASSIGN(const auto policies, policies_in_force(asking.services, *snapshot));
  auto workload = workload_of(*pod, review.name_space);
  if (!workload) {
    return policy::may_enforce(*policies, review.name_space);
  }
  workload->node = node_of(*pod);
  return policy::selected(*policies, *workload,
                          workload->node.empty() ? DecisionPoint::kCreate : DecisionPoint::kBind);
}

Result<ReviewAnswer> judge_pod(const WebhookCall& asking, const Review& review) {
  auto pod = pod_of(review.kind, review.object);
  if (!pod || pod->spec.empty()) {
    return fail(ErrorCode::kInvalidParameter, "the review has no pod");
  }
  auto answer = review.operation == "UPDATE" ? judge_update(asking, review, *pod)
                                             : judge_creation(asking, review, *std::move(pod));
  return answer || answer.error().code != ErrorCode::kLimitExceeded
             ? std::move(answer)
             : judge_unread(asking, review, std::move(answer).error());
}

ReviewAnswer advise_template(const WebhookCall& asking, const Review& review) {
  const auto pod = pod_of(review.kind, review.object);
  if (asking.call == AdmissionCall::kMutate || !pod) {
    return allow_unjudged(review, kNotApplicable);
  }
  const auto answer = judge_template(asking, review, *pod);
  return answer ? *answer
                : allow_unjudged(review, "advice", Json::array(),
                                 {"assay: pods of this template cannot be judged now: " +
                                  std::string(info(answer.error().code).code)});
}

ReviewAnswer forget_pod(const WebhookCall& asking, const Review& review) {
  const std::string uid = metadata_text(review.old_object, "uid");
  if (asking.keeps(review) && !uid.empty()) {
    // When this fails the row goes by its age.
    static_cast<void>(asking.store.write([&](storage::Transaction& transaction) {
      asking.services.unselected.remove(asking.principal, uid);
      return transaction.remove_pod(asking.principal, uid);
    }));
  }
  return allow_unjudged(review, kNotApplicable);
}

}  // namespace assay::server
