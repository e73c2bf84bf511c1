// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/review_answer.h"

#include "server/service/kubernetes/denial_lines.h"

namespace assay::server {
namespace {

// kubectl shows the message as it is: enough for every condition, bounded against hostile names.
constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxDetail = 1024;
// The API server cuts more.
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

// As many lines as fit before `last`, which always stands.
std::string message_of(const std::string& first, const std::vector<std::string>& lines,
                       const std::string& last) {
  std::string message = first;
  std::size_t left = lines.size();
  for (const std::string& line : lines) {
    const std::string more = "\nand " + std::to_string(left) + " more";
    if (message.size() + line.size() + more.size() + last.size() + 2 > kMaxMessage) {
      message += more;
      break;
    }
    message += "\n" + line;
    --left;
  }
  return message + "\n" + last;
}

std::string deny_message(const DecisionAnswer& decided) {
  const Decision& decision = *decided.decision;
  std::vector<std::string> lines = denial_words(decision);
  for (const OrderedJob& job : decided.ordered) {
    lines.push_back("job " + job.id + " was ordered on " + one_line(job.location) +
                    ": try again when it is done");
  }
  const std::string last = decision.dry_run
                               ? "This was a dry run, so no decision is stored."
                               : "The whole decision: assay decision show " + decision.id;
  return message_of("assay: this workload may not run here:", lines, last);
}

std::string reasons_of(const Decision& decision) {
  std::string reasons;
  for (const Reason code : decision.verdict.reasons) {
    reasons += (reasons.empty() ? "" : ",") + std::string(info(code).code);
  }
  return reasons;
}

Json audit_annotations(const DecisionAnswer& decided) {
  const Decision& decision = *decided.decision;
  Json annotations = {{"decision-id", decision.id},
                      {"verdict", decision.verdict.allowed ? "allow" : "deny"},
                      {"reasons", reasons_of(decision)}};
  if (decided.index) {
    annotations["log-index"] = std::to_string(*decided.index);
  }
  return annotations;
}

}  // namespace

ReviewAnswer allow_unjudged(const Review& review, std::string_view verdict, const Json& patch,
                            const std::vector<std::string>& warnings) {
  return {allowed(review, {{"verdict", verdict}}, patch, warnings), {}};
}

ReviewAnswer answer_decision(const Review& review, const DecisionAnswer& decided,
                             const Json& patch) {
  const Decision& decision = *decided.decision;
  const bool allows = decision.verdict.allowed;
  return {allows ? allowed(review, audit_annotations(decided), patch, warning_words(decision))
                 : denied(review, deny_message(decided), audit_annotations(decided)),
          allows};
}

ReviewAnswer answer_advice(const Review& review, const Decision& decision) {
  std::vector<std::string> warnings =
      decision.verdict.allowed ? warning_words(decision) : advice_words(decision);
  if (!decision.verdict.allowed) {
    warnings.insert(warnings.begin(), "assay: pods of this template would be denied");
  }
  return {allowed(review, {{"verdict", "advice"}, {"reasons", reasons_of(decision)}}, Json::array(),
                  warnings),
          {}};
}

ReviewAnswer refuse(const Review& review, Reason reason, const std::string& detail) {
  const ReasonInfo& why = info(reason);
  const std::string code(why.code);
  return {denied(review,
                 message_of("assay: denied: " + detail + " [" + code + "]", {},
                            "What to do: " + std::string(why.next)),
                 {{"verdict", "deny"}, {"reasons", code}}),
          false};
}

ReviewAnswer refuse_undecided(const Review& review, const Error& error) {
  const ErrorInfo& why = info(error.code);
  // What failed inside is for the log of the service. What it cannot do now it says in words of its
  // own, such as that its clock is behind.
  const bool inside = why.http_status >= 500 && error.code != ErrorCode::kUnavailable;
  const std::string detail =
      inside || error.detail.empty() ? inside_line(why.title) : one_line(error.detail, kMaxDetail);
  return {denied(review,
                 message_of("assay: not decided, and therefore denied: " + detail + " [" +
                                std::string(why.code) + "]",
                            {}, "What to do: " + std::string(why.next)),
                 {{"verdict", "error"}, {"reasons", why.code}}),
          {}};
}

}  // namespace assay::server
