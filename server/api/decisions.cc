// SPDX-License-Identifier: Apache-2.0
// Decisions: ask for one, look them up, replay them.

#include <algorithm>

#include "schemas/core/json_at.h"
#include "schemas/location.h"
#include "schemas/validate.h"
#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/statement_routes.h"
#include "server/api/view.h"
#include "server/service/decisions/decide.h"
#include "server/service/decisions/export.h"
#include "server/service/documents/receipt.h"
#include "server/service/kubernetes/known_pod.h"
#include "server/service/kubernetes/pod_node.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

// A pod is judged as it was admitted: nothing else of the request says what it runs. Its node may
// be named; it is one that was allowed for it.
Status use_pod(Api& api, const Json& json, DecisionRequest& request,
               std::unique_ptr<storage::Snapshot>& snapshot) {
  const Json& pod = json["pod"];
  if (request.point != DecisionPoint::kServe || json.contains("model") ||
      json.contains("workload") || json.contains("locations")) {
    return fail(ErrorCode::kInvalidParameter,
                "a pod is judged at serve, as it was admitted: leave out what it runs", "pod");
  }
  request.cluster = pod["cluster"].get<std::string>();
  request.pod_uid = pod["uid"].get<std::string>();
  ConditionResult known{"pod", Outcome::kPass, {}, "a pod that was admitted", pod, {}, {}};
  ASSAY_ASSIGN(KnownPod found, find_pod(api.services, request.cluster, request.pod_uid));
  snapshot = std::move(found.snapshot);
  const std::optional<storage::PodRow>& row = found.row;
  std::optional<ConditionResult> placed;
  if (row) {
    ASSAY_ASSIGN(request.workload, policy::workload_from_json(row->workload));
    PodNode where = node_of_pod(*row, json.value("node", ""));
    request.workload.node = std::move(where.node);
    placed = std::move(where.condition);
    request.models = references_in(reference_to(row->models));
    if (!row->decision.empty()) {
      known.evidence = {row->decision};
    }
  } else {
    request.workload_known = false;
    known.outcome = Outcome::kFail;
    known.code = Reason::kPodUnknown;
  }
  request.preconditions.push_back(std::move(known));
  if (placed) {
    request.preconditions.push_back(*std::move(placed));
  }
  return {};
}

Status use_locations(const Json& json, DecisionRequest& request) {
  for (const Json& text : json.value("locations", Json::array())) {
    auto location = normalise_location(text.get<std::string>());
    if (!location) {
      return fail(location.error().code, location.error().detail, "locations");
    }
    request.locations.push_back(*std::move(location));
  }
  return {};
}

// Leaves in `snapshot` what the request was made from, when it was made from the store.
Result<DecisionRequest> decision_request(Api& api, const Call& call,
                                         std::unique_ptr<storage::Snapshot>& snapshot) {
  ASSAY_ASSIGN(const Json json, parse_json(call.request.body));
  ASSAY_TRY(validate("decision-request", json));
  const Json empty = Json::object();
  const Json& workload = json.contains("workload") ? json["workload"] : empty;
  DecisionRequest request{};
  ASSAY_ASSIGN(request.point, decision_point_from(json["point"].get_ref<const std::string&>()));
  request.models = references_in(json.value("model", ""));
  request.workload.name_space = workload.value("namespace", "");
  request.workload.labels = workload.value("labels", std::map<std::string, std::string>());
  request.workload.resources = workload.value("resources", std::vector<std::string>());
  request.workload.accelerators = workload.value("accelerators", std::vector<std::string>());
  request.workload.node = json.value("node", "");
  request.dry_run = json.value("dry_run", false);
  ASSAY_TRY(use_locations(json, request));
  if (json.contains("pod")) {
    ASSAY_TRY(use_pod(api, json, request, snapshot));
  } else {
    request.workload.requester.principal = call.principal.name;
  }
  request.principal = call.principal.name;
  request.context = {{"principal", call.principal.name},
                     {"namespace", request.workload.name_space},
                     {"request_id", call.request.request_id}};
  if (auto names = names_in(request.models); !names.empty()) {
    request.context["asked"] = std::move(names);
  }
  if (!request.pod_uid.empty()) {
    request.context["cluster"] = request.cluster;
    request.context["pod_uid"] = request.pod_uid;
  }
  if (!request.workload.node.empty()) {
    request.context["node"] = request.workload.node;
  }
  request.deadline = call.request.deadline;
  return request;
}

Json ordered_jobs(const DecisionAnswer& answer) {
  Json jobs = Json::array();
  for (const OrderedJob& job : answer.ordered) {
    jobs.push_back({{"id", job.id}, {"location", job.location}});
  }
  return jobs;
}

// Signed decisions that are read for one page when filters ask for more than the index knows. Some
// 100 ms.
constexpr std::size_t kMaxDecisionsRead = 1000;

// Filters by what only the signed decision says: who asked, about which pod and model. Empty: any.
struct RequestFilter {
  std::string pod;      // its name, or part of it that ends in a dash
  std::string user;     // as the API server names who asked, or the principal
  std::string cluster;  // the API server's principal
  std::string model;    // name, also of a model that was asked for and not found

  [[nodiscard]] bool any() const {
    return !pod.empty() || !user.empty() || !cluster.empty() || !model.empty();
  }
  [[nodiscard]] bool takes(const Json& decision) const {
    const Json& request = object_at(decision, "request");
    const std::string name = text_at(request, "name");
    const std::string asked = text_at(request, request.contains("user") ? "user" : "principal");
    const std::string from = text_at(request, request.contains("via") ? "principal" : "cluster");
    const auto is_named = [this](const Json& one) { return text_at(one, "name") == model; };
    return (pod.empty() || (pod.ends_with('-') ? name.starts_with(pod) : name == pod)) &&
           (user.empty() || asked == user) && (cluster.empty() || from == cluster) &&
           (model.empty() || std::ranges::any_of(array_at(decision, "models"), is_named) ||
            std::ranges::any_of(array_at(request, "asked"),
                                [this](const Json& one) { return one == model; }));
  }
};

Result<RequestFilter> request_filter(const Call& call) {
  RequestFilter wanted;
  ASSAY_ASSIGN(wanted.pod, filter(call, "pod", Form::kNamespace));
  ASSAY_ASSIGN(wanted.user, filter(call, "user", Form::kSubject));
  ASSAY_ASSIGN(wanted.cluster, filter(call, "cluster", Form::kPrincipal));
  ASSAY_ASSIGN(wanted.model, filter(call, "model", Form::kModel));
  return wanted;
}

// A row of the list, with who asked about what on request. Null: the filter leaves it out.
Result<Json> listed(storage::Snapshot& snapshot, const storage::DecisionRow& row,
                    const RequestFilter& wanted, bool with_request) {
  Json view = decision_view(row);
  if (!with_request && !wanted.any()) {
    return view;
  }
  ASSAY_ASSIGN(const Json decision, load_signed_decision(snapshot, row));
  if (!wanted.takes(decision)) {
    return Json();
  }
  for (const char* const member : {"request", "models"}) {
    if (with_request && decision.contains(member)) {
      view[member] = decision[member];
    }
  }
  return view;
}

// A page, which may be short and have more behind it when the filter leaves out much.
Result<ListPage> decision_page(storage::Snapshot& snapshot, storage::DecisionQuery query,
                               const RequestFilter& wanted, bool with_request) {
  const std::size_t limit = query.bounds.limit;
  Json items = Json::array();
  for (std::size_t read = 0;; query.with_total = false) {
    ASSAY_ASSIGN(const auto page, snapshot.decisions(query));
    for (const storage::DecisionRow& row : page.items) {
      ASSAY_ASSIGN(Json view, listed(snapshot, row, wanted, with_request));
      ++read;
      if (!view.is_null()) {
        items.push_back(std::move(view));
      }
      if (items.size() == limit && wanted.any()) {
        const bool last = &row == &page.items.back() && !page.next;
        return ListPage{std::move(items),
                        last ? std::nullopt : std::optional(row.log_index),
                        page.tree_size,
                        page.root,
                        {}};
      }
    }
    if (!wanted.any() || !page.next || read >= kMaxDecisionsRead) {
      // How many pass the filter is not known.
      return ListPage{std::move(items), page.next, page.tree_size, page.root,
                      wanted.any() ? std::nullopt : page.total};
    }
    query.bounds.after = page.next;
    query.bounds.limit = std::min(std::max<std::size_t>(limit, 100), kMaxDecisionsRead - read);
  }
}

Result<Json> receipt_of(Api& api, const DecisionAnswer& answer) {
  if (!answer.index) {
    return Json();
  }
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  return log_receipt(*snapshot, *answer.index);
}

}  // namespace

Result<Response> post_decision(Api& api, const Call& call) {
  std::unique_ptr<storage::Snapshot> snapshot;
  ASSAY_ASSIGN(const DecisionRequest request, decision_request(api, call, snapshot));
  ASSAY_ASSIGN(const DecisionAnswer answer, decide(api.services, request, std::move(snapshot)));
  ASSAY_ASSIGN(Json receipt, receipt_of(api, answer));
  Json body = {{"selected", answer.selected},
               {"decision", answer.decision ? to_json(*answer.decision) : Json()},
               {"envelope", Json()},
               {"log", std::move(receipt)},
               {"ordered_jobs", ordered_jobs(answer)}};
  if (!answer.envelope.empty()) {
    ASSAY_ASSIGN(body["envelope"], parse_json(answer.envelope));
  }
  if (answer.decision) {
    api.decided(answer.decision->verdict.allowed);
  }
  Response response = json_response(200, body);
  if (answer.decision && !answer.decision->dry_run) {
    response.headers.emplace_back("Location", "/v1/decisions/" + answer.decision->id);
  }
  return response;
}

Result<Response> list_decisions(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ListRequest request, list_request(api, call));
  storage::DecisionQuery query;
  if (const auto subject = call.parameter("subject")) {
    ASSAY_ASSIGN(const ArtifactId id, ArtifactId::parse(*subject));
    query.subject = id.text();
  }
  ASSAY_ASSIGN(query.name_space, filter(call, "namespace", Form::kNamespace));
  ASSAY_ASSIGN(query.reason, filter(call, "reason", Form::kReason));
  // Who looks for a refusal looks for a recent one.
  ASSAY_ASSIGN(query.newest_first, newest_first(call, "newest"));
  ASSAY_ASSIGN(query.with_total, switch_parameter(call, "total"));
  ASSAY_ASSIGN(const bool with_request, switch_parameter(call, "request"));
  ASSAY_ASSIGN(const RequestFilter wanted, request_filter(call));
  query.bounds = request.bounds;
  if (const auto verdict = call.parameter("verdict")) {
    if (*verdict != "allow" && *verdict != "deny") {
      return fail(ErrorCode::kInvalidParameter, "allow or deny", "verdict");
    }
    query.allowed = *verdict == "allow";
  }
  ASSAY_ASSIGN(query.since, time_parameter(call, "since"));
  ASSAY_ASSIGN(query.until, time_parameter(call, "until"));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(ListPage page, decision_page(*snapshot, query, wanted, with_request));
  return list_response(api, call, request, std::move(page));
}

Result<Response> get_decision(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::DecisionRow row, snapshot->decision(call.capture("id")));
  if (call.media_type == kDsse) {
    return envelope_response(*snapshot, call, row.envelope);
  }
  ASSAY_ASSIGN(const Json payload, load_decision(*snapshot, row));
  return with_etag(call, json_response(200, payload), kRevalidate);
}

Result<Response> replay_decision(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ReplayAnswer answer,
               replay(api.services, call.capture("id"), call.request.deadline));
  return json_response(200, Json{{"reproduced", answer.reproduced},
                                 {"recorded", answer.recorded.text()},
                                 {"recomputed", answer.recomputed.text()},
                                 {"verdict", to_json(answer.verdict)}});
}

Result<Response> get_decision_export(Api& api, const Call& call) {
  // An export reads and holds up to 64 MiB.
  const auto turn = api.services.long_manifests.try_take(call.principal.name);
  if (turn == nullptr) {
    return fail(ErrorCode::kBusy, "another long answer to this principal is being made");
  }
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const DecisionExport file, export_decision(*snapshot, call.capture("id")));
  return json_response(200, to_json(file));
}

}  // namespace assay::server
