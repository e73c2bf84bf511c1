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

struct Review {
  std::string uid;
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

// RFC 6902 operations that pin the model; empty when the pod names it pinned already, so that a
// second call changes nothing (reinvocationPolicy IfNeeded).
Json pin_model(const PodView& pod, const Decision& decision) {
  const std::string pinned = decision.model_name.empty()
                                 ? decision.artifact->text()
                                 : decision.model_name + "@" + decision.artifact->text();
  Json patch = Json::array();
  if (annotation(pod, kModelAnnotation) == pinned) {
    return patch;
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
  return patch;
}

std::string allowed(const Review& review, AdmissionCall call, const PodView& pod,
                    const DecisionAnswer& decided) {
  Json response = {{"allowed", true}, {"auditAnnotations", audit_annotations(decided)}};
  const Decision& decision = *decided.decision;
  if (!decision.verdict.warnings.empty()) {
    Json warnings = Json::array();
    for (const std::string& warning : decision.verdict.warnings) {
      warnings.push_back(clip(warning, kMaxWarning));
    }
    response["warnings"] = std::move(warnings);
  }
  if (call == AdmissionCall::kMutate && decision.artifact) {
    if (const Json patch = pin_model(pod, decision); !patch.empty()) {
      response["patchType"] = "JSONPatch";
      response["patch"] = base64_encode(as_bytes(patch.dump()));
    }
  }
  return answer(review, std::move(response));
}

// What no policy selects is allowed, and the log says so.
Result<std::string> not_applicable(Services& services, const Review& review,
                                   const std::string& principal) {
  if (!review.dry_run) {
    const auto logged = services.store.write([&](storage::Transaction& transaction) -> Status {
      LogRecord record{.type = std::string(event::kNotApplicable),
                       .time = transaction.now(),
                       .actor = principal,
                       .subjects = {},
                       .documents = {},
                       .detail = {{"uid", review.uid},
                                  {"kind", clip(review.kind, 256)},
                                  {"namespace", clip(review.name_space, 256)},
                                  {"name", clip(review.object_name, 256)}}};
      ASSAY_TRY(transaction.append(std::move(record)));
      return {};
    });
    if (!logged) {
      return std::unexpected(logged.error());
    }
  }
  return answer(review, {{"allowed", true}, {"auditAnnotations", {{"verdict", "not-applicable"}}}});
}

DecisionRequest request_for(const Review& review, AdmissionCall call, const PodView& pod,
                            const std::string& principal) {
  return {.point = DecisionPoint::kCreate,
          .model = {.text = annotation(pod, kModelAnnotation),
                    .places = places_of(pod, review.name_space),
                    .must_be_bound = true},
          .workload = workload_of(pod, review.name_space),
          .context = {{"via",
                       call == AdmissionCall::kMutate ? "admission-mutate" : "admission-validate"},
                      {"uid", review.uid},
                      {"kind", clip(review.kind, 256)},
                      {"namespace", clip(review.name_space, 256)},
                      {"name", clip(review.object_name, 256)},
                      {"operation", clip(review.operation, 32)},
                      {"user", clip(review.user, 256)},
                      {"principal", principal}},
          .principal = principal,
          .dry_run = review.dry_run,
          .skip_unselected = true};
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

Result<std::string> judge(Services& services, AdmissionCall call, const Review& review,
                          const std::string& principal) {
  const auto pod = pod_of(review.kind, review.object);
  if (!pod || (review.operation != "CREATE" && review.operation != "UPDATE")) {
    return fail(ErrorCode::kConditionUndecided,
                "objects of this kind or operation are not understood here; send only pods and "
                "workload templates");
  }
  if (unchanged(review, *pod)) {
    return answer(review, {{"allowed", true}, {"auditAnnotations", {{"verdict", "unchanged"}}}});
  }
  ASSAY_ASSIGN(const DecisionAnswer decided,
               decide(services, request_for(review, call, *pod, principal)));
  if (!decided.selected) {
    return not_applicable(services, review, principal);
  }
  if (decided.decision->verdict.allowed) {
    return allowed(review, call, *pod, decided);
  }
  return denied(review, deny_message(*decided.decision), audit_annotations(decided));
}

}  // namespace

Result<std::string> review(Services& services, AdmissionCall call, ByteView body,
                           const std::string& principal) {
  ASSAY_ASSIGN(const Review parsed, parse_review(body));
  if (parsed.operation == "DELETE" || parsed.operation == "CONNECT") {
    return answer(parsed,
                  {{"allowed", true}, {"auditAnnotations", {{"verdict", "not-applicable"}}}});
  }
  auto result = judge(services, call, parsed, principal);
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
