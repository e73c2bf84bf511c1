// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/review_answer.h"

#include <algorithm>

namespace assay::server {
namespace {

// kubectl shows the message as it is: enough for every condition, bounded against hostile names.
constexpr std::size_t kMaxMessage = 4096;
// The API server cuts warnings at about these bounds.
constexpr std::size_t kMaxWarning = 120;
constexpr std::size_t kMaxWarnings = 32;

std::string answer(const Review& review, Json response) {
  response["uid"] = review.uid;
  const Json json = {{"apiVersion", "admission.k8s.io/v1"},
                     {"kind", "AdmissionReview"},
                     {"response", std::move(response)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string allowed(const Review& review, Json annotations, const Json& patch,
                    const std::vector<std::string>& warnings) {
  Json response = {{"allowed", true}, {"auditAnnotations", std::move(annotations)}};
  if (!warnings.empty()) {
    Json list = Json::array();
    for (const std::string& warning : warnings) {
      if (list.size() < kMaxWarnings) {
        list.push_back(clip(warning, kMaxWarning));
      }
    }
    response["warnings"] = std::move(list);
  }
  if (!patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base64_encode(as_bytes(patch.dump()));
  }
  return answer(review, std::move(response));
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
  return text.size() <= 200 ? text : clip(std::move(text), 197) + "...";
}

std::string short_text(const ConditionResult& result) {
  std::string text =
      result.id + ": " + std::string(result.code ? info(*result.code).code : "failed");
  if (!result.expected.is_null()) {
    text +=
        " (expected " + short_json(result.expected) + ", actual " + short_json(result.actual) + ")";
  }
  return text;
}

// Adds a text for every condition that does not pass, parts included; each one once, since a policy
// is judged for each model.
void describe(const std::vector<ConditionResult>& results, std::vector<std::string>& texts) {
  for (const ConditionResult& result : results) {
    if (result.outcome == Outcome::kPass || result.outcome == Outcome::kDeferred) {
      continue;
    }
    std::string text = short_text(result);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
      texts.push_back(std::move(text));
    }
    describe(result.parts, texts);
  }
}

std::vector<std::string> failures_of(const Decision& decision) {
  std::vector<std::string> texts;
  describe(decision.verdict.preconditions, texts);
  for (const PolicyResult& policy : decision.verdict.policies) {
    if (policy.mode == PolicyMode::kEnforce) {
      describe(policy.conditions, texts);
    }
  }
  if (texts.empty()) {
    for (const ErrorCode code : decision.verdict.reasons) {
      texts.emplace_back(info(code).code);
    }
  }
  return texts;
}

std::string deny_message(const DecisionAnswer& decided) {
  const Decision& decision = *decided.decision;
  std::string message = "assay: this model may not run here (decision " + decision.id + "): ";
  std::string separator;
  for (const std::string& text : failures_of(decision)) {
    message += separator + text;
    separator = "; ";
  }
  for (const OrderedJob& job : decided.ordered) {
    message +=
        "; job " + job.id + " was ordered on " + job.location + ", try again when it is done";
  }
  return message;
}

std::string reasons_of(const Decision& decision) {
  std::string reasons;
  for (const ErrorCode code : decision.verdict.reasons) {
    reasons += (reasons.empty() ? "" : ",") + std::string(info(code).code);
  }
  return reasons;
}

Json audit_annotations(const DecisionAnswer& decided) {
  const Decision& decision = *decided.decision;
  Json annotations = {{"decision-id", decision.id},
                      {"verdict", decision.verdict.allowed ? "allow" : "deny"},
                      {"reasons", reasons_of(decision)}};
  if (decided.receipt) {
    annotations["log-index"] = std::to_string((*decided.receipt)["index"].get<LeafIndex>());
  }
  return annotations;
}

}  // namespace

std::string allow_unjudged(const Review& review, std::string_view verdict, const Json& patch,
                           const std::vector<std::string>& warnings) {
  return allowed(review, {{"verdict", verdict}}, patch, warnings);
}

std::string answer_decision(const Review& review, const DecisionAnswer& decided,
                            const Json& patch) {
  const Decision& decision = *decided.decision;
  return decision.verdict.allowed
             ? allowed(review, audit_annotations(decided), patch, decision.verdict.warnings)
             : denied(review, deny_message(decided), audit_annotations(decided));
}

std::string answer_advice(const Review& review, const Decision& decision) {
  std::vector<std::string> warnings = decision.verdict.warnings;
  if (!decision.verdict.allowed) {
    warnings = {"assay: pods of this template would be denied"};
    for (const std::string& text : failures_of(decision)) {
      warnings.push_back("assay: " + text);
    }
  }
  return allowed(review, {{"verdict", "advice"}, {"reasons", reasons_of(decision)}}, Json::array(),
                 warnings);
}

std::string refuse(const Review& review, ErrorCode code, const std::string& detail) {
  const std::string name(info(code).code);
  return denied(review, "assay: " + name + ": " + detail, {{"verdict", "deny"}, {"reasons", name}});
}

std::string refuse_undecided(const Review& review, const Error& error) {
  const ErrorInfo& why = info(error.code);
  const std::string detail =
      why.http_status >= 500 || error.detail.empty() ? std::string(why.title) : error.detail;
  return denied(review,
                "assay: not decided, hence denied: " + std::string(why.code) + ": " + detail,
                {{"verdict", "error"}, {"reasons", why.code}});
}

}  // namespace assay::server
