// SPDX-License-Identifier: Apache-2.0
#include "server/service/admission.h"

#include "schemas/log_record.h"
#include "server/service/decide.h"
#include "server/service/pod.h"

namespace assay::server {
namespace {

// The API server's own objects nest deeper than our documents.
constexpr JsonLimits kReviewLimits{.max_bytes = 8U << 20, .max_depth = 128};
// kubectl shows the message as it is: enough for every condition, bounded against hostile names.
constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxWarning = 120;
constexpr std::size_t kMaxObjectName = 253;

// Who asks for what, and until when.
struct Asking {
  Services& services;
  AdmissionCall call;
  const std::string& principal;
  std::optional<Timestamp> deadline;
};

struct Review {
  std::string uid;
  std::string group;
  std::string kind;
  std::string name_space;
  std::string object_name;
  std::string operation;
  std::string user;
  Json object;
  Json old_object;
  bool dry_run;
};

// At most `limit` bytes, cut between characters.
std::string clip(std::string text, std::size_t limit) {
  if (text.size() > limit) {
    text.resize(limit);
    while (!text.empty() && !is_utf8(text)) {
      text.pop_back();
    }
  }
  return text;
}

std::unexpected<Error> malformed(const char* why) {
  return fail(ErrorCode::kMalformedAdmissionReview, why);
}

std::string text_at(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) && json[name].is_string()
             ? json[name].get<std::string>()
             : std::string();
}

Json value_at(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) ? json[name] : Json(nullptr);
}

Result<Review> parse_review(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kReviewLimits));
  if (text_at(json, "apiVersion") != "admission.k8s.io/v1" ||
      text_at(json, "kind") != "AdmissionReview") {
    return malformed("apiVersion must be admission.k8s.io/v1 and kind AdmissionReview");
  }
  const Json request = value_at(json, "request");
  const std::string uid = text_at(request, "uid");
  if (uid.empty() || uid.size() > 256) {
    return malformed("the review has no request with a uid");
  }
  const Json dry_run = value_at(request, "dryRun");
  return Review{.uid = uid,
                .group = text_at(value_at(request, "kind"), "group"),
                .kind = text_at(value_at(request, "kind"), "kind"),
                .name_space = text_at(request, "namespace"),
                .object_name = text_at(request, "name"),
                .operation = text_at(request, "operation"),
                .user = text_at(value_at(request, "userInfo"), "username"),
                .object = value_at(request, "object"),
                .old_object = value_at(request, "oldObject"),
                .dry_run = dry_run.is_boolean() && dry_run.get<bool>()};
}

std::string answer(const Review& review, Json response) {
  response["uid"] = review.uid;
  const Json json = {{"apiVersion", "admission.k8s.io/v1"},
                     {"kind", "AdmissionReview"},
                     {"response", std::move(response)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string denied(const Review& review, const std::string& message, Json annotations) {
  return answer(review, {{"allowed", false},
                         {"status",
                          {{"status", "Failure"},
                           {"code", 403},
                           {"reason", "Forbidden"},
                           {"message", clip(message, kMaxMessage)}}},
                         {"auditAnnotations", std::move(annotations)}});
}

std::string short_json(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 200 ? text : text.substr(0, 197) + "...";
}

// Appends "id: code (expected ..., actual ...)" for every leaf that does not pass.
void describe(const std::vector<ConditionResult>& results, std::string& text) {
  for (const ConditionResult& result : results) {
    if (result.outcome == Outcome::kPass || result.outcome == Outcome::kDeferred) {
      continue;
    }
    text += text.empty() ? "" : "; ";
    text += result.id + ": " + std::string(result.code ? info(*result.code).code : "failed");
    if (!result.expected.is_null()) {
      text += " (expected " + short_json(result.expected) + ", actual " +
              short_json(result.actual) + ")";
    }
    describe(result.parts, text);
  }
}

std::string deny_message(const Decision& decision) {
  std::string failures;
  describe(decision.verdict.preconditions, failures);
  for (const PolicyResult& policy : decision.verdict.policies) {
    if (policy.mode == PolicyMode::kEnforce) {
      describe(policy.conditions, failures);
    }
  }
  if (failures.empty()) {
    for (const ErrorCode code : decision.verdict.reasons) {
      failures += (failures.empty() ? "" : "; ") + std::string(info(code).code);
    }
  }
  return "assay: this model may not run here (decision " + decision.id + "): " + failures;
}

Json audit_annotations(const DecisionAnswer& decided) {
  const Decision& decision = *decided.decision;
  std::string reasons;
  for (const ErrorCode code : decision.verdict.reasons) {
    reasons += (reasons.empty() ? "" : ",") + std::string(info(code).code);
  }
  Json annotations = {{"decision-id", decision.id},
                      {"verdict", decision.verdict.allowed ? "allow" : "deny"},
                      {"reasons", reasons}};
  if (decided.receipt) {
    annotations["log-index"] = std::to_string((*decided.receipt)["index"].get<LeafIndex>());
  }
  return annotations;
}

std::string escaped_pointer(std::string_view name) {
  std::string text;
  for (const char c : name) {
    text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return text;
}

// Appends the operations that pin the model; none when the pod names it pinned already, so that a
// second call changes nothing (reinvocationPolicy IfNeeded).
void pin_model(const PodView& pod, const Decision& decision, Json& patch) {
  const std::string pinned = decision.model_name.empty()
                                 ? decision.artifact->text()
                                 : decision.model_name + "@" + decision.artifact->text();
  if (annotation(pod, kModelAnnotation) == pinned) {
    return;
  }
  const std::string metadata = pod.pointer + "/metadata";
  if (!pod.metadata.contains("annotations") || !pod.metadata["annotations"].is_object()) {
    if (pod.metadata.empty()) {
      patch.push_back({{"op", "add"}, {"path", metadata}, {"value", Json::object()}});
    }
    patch.push_back(
        {{"op", "add"}, {"path", metadata + "/annotations"}, {"value", Json::object()}});
  }
  const std::string annotations = metadata + "/annotations/";
  patch.push_back({{"op", "add"},
                   {"path", annotations + escaped_pointer(kModelAnnotation)},
                   {"value", pinned}});
  patch.push_back({{"op", "add"},
                   {"path", annotations + escaped_pointer(kDecisionAnnotation)},
                   {"value", decision.id}});
}

// Of pods alone, and only when they are made: later the API server refuses another affinity, and
// the pods of a template come by themselves.
void add_affinity(const Review& review, const PodView& pod, const DecisionAnswer& decided,
                  Json& patch) {
  if (review.kind != "Pod" || review.operation != "CREATE" || decided.node_affinity.empty()) {
    return;
  }
  Json affinity = with_node_affinity(pod, decided.node_affinity);
  if (!pod.spec.contains("affinity") || pod.spec["affinity"] != affinity) {
    patch.push_back({{"op", "add"}, {"path", "/spec/affinity"}, {"value", std::move(affinity)}});
  }
}

// RFC 6902 operations.
Json patch_of(const Review& review, const PodView& pod, const DecisionAnswer& decided) {
  Json patch = Json::array();
  if (decided.decision->artifact) {
    pin_model(pod, *decided.decision, patch);
  }
  add_affinity(review, pod, decided, patch);
  return patch;
}

std::string allowed(const Review& review, const DecisionAnswer& decided, const Json& patch) {
  Json response = {{"allowed", true}, {"auditAnnotations", audit_annotations(decided)}};
  const Decision& decision = *decided.decision;
  if (!decision.verdict.warnings.empty()) {
    Json warnings = Json::array();
    for (const std::string& warning : decision.verdict.warnings) {
      warnings.push_back(clip(warning, kMaxWarning));
    }
    response["warnings"] = std::move(warnings);
  }
  if (!patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base64_encode(as_bytes(patch.dump()));
  }
  return answer(review, std::move(response));
}

// What no policy selects is allowed, and the log says so. `pod` is kept when it is there.
Result<std::string> not_applicable(const Asking& asking, const Review& review,
                                   const std::optional<storage::PodRow>& pod) {
  if (!review.dry_run) {
    const auto logged =
        asking.services.store.write([&](storage::Transaction& transaction) -> Status {
          LogRecord record{.type = std::string(event::kNotApplicable),
                           .time = transaction.now(),
                           .actor = asking.principal,
                           .subjects = {},
                           .documents = {},
                           .detail = {{"uid", review.uid},
                                      {"kind", clip(review.kind, 256)},
                                      {"namespace", clip(review.name_space, 256)},
                                      {"name", clip(review.object_name, 256)}}};
          ASSAY_TRY(transaction.append(std::move(record)));
          if (!pod) {
            return {};
          }
          storage::PodRow row = *pod;
          row.admitted_at = transaction.now();
          return transaction.put_pod(row);
        });
    if (!logged) {
      return std::unexpected(logged.error());
    }
  }
  return answer(review, {{"allowed", true}, {"auditAnnotations", {{"verdict", "not-applicable"}}}});
}

Json context_of(const Asking& asking, const Review& review) {
  return {
      {"via", asking.call == AdmissionCall::kMutate ? "admission-mutate" : "admission-validate"},
      {"uid", review.uid},
      {"kind", clip(review.kind, 256)},
      {"namespace", clip(review.name_space, 256)},
      {"name", clip(review.object_name, 256)},
      {"operation", clip(review.operation, 32)},
      {"user", clip(review.user, 256)},
      {"principal", asking.principal}};
}

// What is the same for every kind of object.
DecisionRequest base_request(const Asking& asking, const Review& review, DecisionPoint point,
                             policy::Workload workload) {
  return {.point = point,
          .model = {},
          .workload = std::move(workload),
          .context = context_of(asking, review),
          .principal = asking.principal,
          .dry_run = review.dry_run,
          .skip_unselected = true,
          .deadline = asking.deadline};
}

// The pod to remember: validation sees it as it will be stored, with its name and uid, mutation
// does not yet.
std::optional<PodKey> pod_key(const Asking& asking, const Review& review) {
  const std::string name = metadata_text(review.object, "name");
  const std::string uid = metadata_text(review.object, "uid");
  if (asking.call != AdmissionCall::kValidate || review.kind != "Pod" || name.empty() ||
      name.size() > kMaxObjectName || uid.size() > kMaxObjectName) {
    return std::nullopt;
  }
  return PodKey{uid, review.name_space, name};
}

// A pod that names its node goes there without a binding.
DecisionRequest request_for(const Asking& asking, const Review& review, const PodView& pod) {
  policy::Workload workload = workload_of(pod, review.name_space);
  if (review.kind == "Pod") {
    workload.node = node_of(pod);
  }
  const DecisionPoint point = workload.node.empty() ? DecisionPoint::kCreate : DecisionPoint::kBind;
  DecisionRequest request = base_request(asking, review, point, std::move(workload));
  request.model = {.text = annotation(pod, kModelAnnotation),
                   .places = places_of(pod, review.name_space),
                   .must_be_bound = true};
  request.admits = pod_key(asking, review);
  return request;
}

std::optional<storage::PodRow> unselected_pod(const DecisionRequest& request) {
  if (!request.admits) {
    return std::nullopt;
  }
  storage::PodRow row;
  row.uid = request.admits->uid;
  row.name_space = request.admits->name_space;
  row.name = request.admits->name;
  row.workload = policy::to_json(request.workload);
  return row;
}

// An update that touches neither the pod's spec nor what names its model was judged before.
bool unchanged(const Review& review, const PodView& pod) {
  if (review.operation != "UPDATE") {
    return false;
  }
  const auto before = pod_of(review.kind, review.old_object);
  return before && !before->spec.empty() && before->spec == pod.spec &&
         annotation(*before, kModelAnnotation) == annotation(pod, kModelAnnotation) &&
         workload_of(*before, review.name_space).labels ==
             workload_of(pod, review.name_space).labels;
}

Result<std::string> conclude(const Review& review, const DecisionAnswer& decided,
                             const Json& patch) {
  return decided.decision->verdict.allowed
             ? allowed(review, decided, patch)
             : denied(review, deny_message(*decided.decision), audit_annotations(decided));
}

Result<std::string> judge_pod(const Asking& asking, const Review& review, const PodView& pod) {
  if (unchanged(review, pod)) {
    return answer(review, {{"allowed", true}, {"auditAnnotations", {{"verdict", "unchanged"}}}});
  }
  const DecisionRequest request = request_for(asking, review, pod);
  ASSAY_ASSIGN(const DecisionAnswer decided, decide(asking.services, request));
  if (!decided.selected) {
    return not_applicable(asking, review, unselected_pod(request));
  }
  const bool mutates = asking.call == AdmissionCall::kMutate && decided.decision->verdict.allowed;
  return conclude(review, decided, mutates ? patch_of(review, pod, decided) : Json::array());
}

// The newest pod admitted under the name that the binding is about; nothing when there is none, or
// when that was another pod.
Result<std::optional<storage::PodRow>> admitted_pod(Services& services, const Review& review,
                                                    const BindingView& binding) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  auto row = snapshot->pod(review.name_space, binding.name);
  if (!row && row.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(row).error());
  }
  const bool other = row && !binding.uid.empty() && !row->uid.empty() && binding.uid != row->uid;
  return row && !other ? std::optional(std::move(*row)) : std::nullopt;
}

ConditionResult pod_condition(const BindingView& binding,
                              const std::optional<storage::PodRow>& pod) {
  ConditionResult result{"pod",
                         Outcome::kFail,
                         ErrorCode::kPodUnknown,
                         "a pod that was admitted under this name and uid",
                         nullptr,
                         {},
                         {}};
  result.actual = {{"name", binding.name}, {"uid", binding.uid}};
  if (pod) {
    result.outcome = Outcome::kPass;
    result.code.reset();
    result.actual["uid"] = pod->uid;
    result.actual["admitted_at"] = to_rfc3339(pod->admitted_at);
    if (!pod->decision.empty()) {
      result.evidence.push_back(pod->decision);
    }
  }
  return result;
}

// Which model the pod runs was settled when it was admitted, and so was where it comes from.
std::string model_of(const storage::PodRow& pod) {
  if (!pod.artifact) {
    return {};
  }
  return pod.model_name.empty() ? pod.artifact->text()
                                : pod.model_name + "@" + pod.artifact->text();
}

Result<DecisionRequest> request_for(const Asking& asking, const Review& review,
                                    const BindingView& binding) {
  ASSAY_ASSIGN(const auto pod, admitted_pod(asking.services, review, binding));
  policy::Workload workload{review.name_space, {}, {}, {}};
  if (pod) {
    ASSAY_ASSIGN(workload, policy::workload_from_json(pod->workload));
  }
  workload.node = binding.node;
  DecisionRequest request = base_request(asking, review, DecisionPoint::kBind, std::move(workload));
  request.model.text = pod ? model_of(*pod) : std::string();
  request.workload_known = pod.has_value();
  request.preconditions = {pod_condition(binding, pod)};
  return request;
}

Result<std::string> judge_binding(const Asking& asking, const Review& review) {
  const auto binding = binding_of(review.object);
  const bool same_name =
      binding && (review.object_name.empty() || review.object_name == binding->name);
  if (!same_name || binding->name.size() > kMaxObjectName || binding->uid.size() > kMaxObjectName) {
    return fail(ErrorCode::kInvalidParameter, "the binding does not name one pod and one node");
  }
  ASSAY_ASSIGN(const DecisionRequest request, request_for(asking, review, *binding));
  ASSAY_ASSIGN(const DecisionAnswer decided, decide(asking.services, request));
  return decided.selected ? conclude(review, decided, Json::array())
                          : not_applicable(asking, review, std::nullopt);
}

Result<std::string> judge(const Asking& asking, const Review& review) {
  if (review.kind == "Binding" && review.group.empty() && review.operation == "CREATE") {
    return judge_binding(asking, review);
  }
  const auto pod = pod_of(review.kind, review.object);
  if (!pod || (review.operation != "CREATE" && review.operation != "UPDATE")) {
    return fail(ErrorCode::kConditionUndecided,
                "objects of this kind or operation are not understood here; send only pods, their "
                "bindings and workload templates");
  }
  return judge_pod(asking, review, *pod);
}

}  // namespace

Result<std::string> review(Services& services, AdmissionCall call, ByteView body,
                           const std::string& principal, std::optional<Timestamp> deadline) {
  ASSAY_ASSIGN(const Review parsed, parse_review(body));
  if (parsed.operation == "DELETE" || parsed.operation == "CONNECT") {
    return answer(parsed,
                  {{"allowed", true}, {"auditAnnotations", {{"verdict", "not-applicable"}}}});
  }
  auto result = judge({services, call, principal, deadline}, parsed);
  if (!result) {
    // Fail closed: what could not be decided is denied, with the code and nothing internal.
    const ErrorInfo& why = info(result.error().code);
    const std::string detail = why.http_status >= 500 || result.error().detail.empty()
                                   ? std::string(why.title)
                                   : result.error().detail;
    return denied(parsed,
                  "assay: not decided, hence denied: " + std::string(why.code) + ": " + detail,
                  {{"verdict", "error"}, {"reasons", why.code}});
  }
  return result;
}

}  // namespace assay::server
