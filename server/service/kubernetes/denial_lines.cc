// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/denial_lines.h"

#include <algorithm>

#include "policy/evaluate.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {
namespace {

bool stands_in_the_way(const ConditionResult& result) {
  return result.outcome == Outcome::kFail || result.outcome == Outcome::kError;
}

Reason reason_for(const ConditionResult& result) {
  return result.code.value_or(Reason::kConditionUndecided);
}

// Nothing is assumed of what a condition wrote: what is not there is null.
const Json& first_of(const Json& json) {
  static const Json none;
  return json.is_array() && !json.empty() ? json.front() : none;
}

std::string join(const std::string& a, const std::string& b, const char* between) {
  return a.empty() || b.empty() ? a + b : a + between + b;
}

// "2 of 3 signed": how many of the identities that count, of how many that are asked for.
std::string signed_by(const ConditionResult& result) {
  const Json& identities = member_at(result.actual, "identities");
  const Json& wanted = member_at(result.expected, "at_least");
  return identities.is_array() && wanted.is_number()
             ? std::to_string(identities.size()) + " of " + one_line(wanted) + " signed"
             : "";
}

// "/metrics/accuracy is 0.71, not >= 0.9": the first test that does not hold.
std::string first_test(const ConditionResult& result) {
  const Json& failure = first_of(member_at(result.actual, "failures"));
  std::string pointer = one_line(member_at(failure, "pointer"));
  if (pointer.empty() || !failure.contains("actual")) {
    return pointer;
  }
  return pointer + " is " + one_line(failure["actual"]) + ", not " +
         one_line(member_at(failure, "op")) + " " + one_line(member_at(failure, "expected"));
}

// "on gpu-1 at pvc://inference/good".
std::string place_of(const ConditionResult& result) {
  const std::string node = one_line(member_at(result.actual, "node"));
  const std::string location = one_line(member_at(result.actual, "location"));
  return join(node.empty() ? node : "on " + node, location.empty() ? location : "at " + location,
              " ");
}

// "needed: a mounted location of the model; volumes that an init container fills need ...". Empty
// when it would only repeat the sentence.
std::string needs_of(const ConditionResult& result) {
  const std::string needs = one_line(member_at(result.expected, "needs"));
  return needs.empty() || needs == policy::kNeedsMountedLocation ? "" : "needed: " + needs;
}

// What the sentence is about, in few words; empty when there are none.
std::string particulars(const ConditionResult& result) {
  switch (reason_for(result)) {
    case Reason::kModelReferenceMissing:
    case Reason::kSubjectMismatch:
      return result.actual.is_string() ? one_line(result.actual) : "";
    case Reason::kReferenceUnbound:
      return needs_of(result);
    case Reason::kVolumeUnaccounted:
      return one_line(first_of(member_at(result.actual, "unaccounted")));
    case Reason::kMountOverlaps:
      return one_line(first_of(member_at(result.actual, "overlaps")));
    case Reason::kMountPathNotAllowed:
      return one_line(first_of(member_at(result.actual, "elsewhere")));
    case Reason::kMountWritable:
      return one_line(first_of(member_at(result.actual, "writable")));
    case Reason::kImageNotAllowed:
      return one_line(first_of(result.actual));
    case Reason::kSignersInsufficient:
      return signed_by(result);
    case Reason::kPredicateMismatch:
    case Reason::kValueMissing:
      return first_test(result);
    case Reason::kModelMismatch:
      return join(place_of(result), one_line(member_at(result.actual, "differing")), ": ");
    case Reason::kTcbNotAccepted:
      return join(place_of(result),
                  one_line(member_at(member_at(result.actual, "evidence"), "tcb_status")), ": ");
    default:
      return place_of(result);
  }
}

// Every code of a condition with several demands; the sentence is about the first.
std::string codes_of(const ConditionResult& result) {
  std::string codes(info(reason_for(result)).code);
  const Json& failed = member_at(result.actual, "failed");
  for (const Json& code : failed.is_array() ? failed : Json::array()) {
    if (code != info(reason_for(result)).code) {
      codes += ", " + one_line(code);
    }
  }
  return " [" + codes + "]";
}

std::string sentence_of(const ConditionResult& result) {
  return ": " + inside_line(info(reason_for(result)).title);
}

// Whatever does not fit is left out from the back of the sentence; the code always stands.
std::string warning_of(const std::string& before, const ConditionResult& result) {
  const std::string name = before + result.id;
  const std::string codes = codes_of(result);
  std::string full = before + condition_words(result);
  if (full.size() <= kMaxWarning) {
    return full;
  }
  const std::string shorter = name + sentence_of(result) + codes;
  return shorter.size() <= kMaxWarning ? shorter : clip(name + codes, kMaxWarning);
}

void add_once(std::vector<std::string>& lines, std::string line) {
  if (std::ranges::find(lines, line) == lines.end()) {
    lines.push_back(std::move(line));
  }
}

// " (acme/lora)" where a line has to say which model it is about. What is judged of the pod as a
// whole stands with the first model, and names none.
std::string about(const Decision& decision, const PolicyResult& policy,
                  const ConditionResult& result) {
  if (decision.models.size() < 2 || result.id == "volumes" || result.id == "images") {
    return "";
  }
  const auto model = std::ranges::find(decision.models, policy.model,
                                       [](const DecidedModel& one) { return one.artifact.text(); });
  return model == decision.models.end()
             ? ""
             : " (" + (model->name.empty() ? policy.model : model->name) + ")";
}

template <typename Say>
void for_each_failure(const Decision& decision, PolicyMode mode, const Say& say) {
  for (const PolicyResult& policy : decision.verdict.policies) {
    for (const ConditionResult& result : policy.conditions) {
      if (policy.mode == mode && stands_in_the_way(result)) {
        say(policy, result);
      }
    }
  }
}

void add_with_parts(const ConditionResult& result, const std::string& indent,
                    const std::string& behind_id, std::vector<std::string>& lines) {
  if (!stands_in_the_way(result)) {
    return;
  }
  std::string line = condition_words(result);
  line.insert(result.id.size(), behind_id);
  add_once(lines, indent + line);
  for (const ConditionResult& part : result.parts) {
    add_with_parts(part, indent + "  ", behind_id, lines);
  }
}

}  // namespace

std::string inside_line(std::string_view title) {
  std::string text(title);
  if (!text.empty() && text.front() >= 'A' && text.front() <= 'Z') {
    text.front() = static_cast<char>(text.front() - 'A' + 'a');
  }
  return text;
}

std::string one_line(const Json& value, std::size_t limit) {
  if (value.is_null()) {
    return "";
  }
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (value.is_string()) {
    text = text.substr(1, text.size() - 2);
  }
  return text.size() <= limit ? text : clip(std::move(text), limit - 3) + "...";
}

std::string condition_words(const ConditionResult& result) {
  return result.id + join(sentence_of(result), particulars(result), ": ") + codes_of(result);
}

std::vector<std::string> denial_words(const Decision& decision) {
  std::vector<std::string> lines;
  for (const ConditionResult& result : decision.verdict.preconditions) {
    add_with_parts(result, "", "", lines);
  }
  for_each_failure(decision, PolicyMode::kEnforce,
                   [&](const PolicyResult& policy, const ConditionResult& result) {
                     add_with_parts(result, "", about(decision, policy, result), lines);
                   });
  if (lines.empty()) {
    for (const Reason reason : decision.verdict.reasons) {
      lines.push_back(inside_line(info(reason).title) + " [" + std::string(info(reason).code) +
                      "]");
    }
  }
  return lines;
}

std::vector<std::string> advice_words(const Decision& decision) {
  std::vector<std::string> lines;
  for (const ConditionResult& result : decision.verdict.preconditions) {
    if (stands_in_the_way(result)) {
      add_once(lines, warning_of("assay: ", result));
    }
  }
  for_each_failure(decision, PolicyMode::kEnforce,
                   [&](const PolicyResult&, const ConditionResult& result) {
                     add_once(lines, warning_of("assay: ", result));
                   });
  return lines;
}

std::vector<std::string> warning_words(const Decision& decision) {
  std::vector<std::string> lines;
  for (const ConditionResult& result : decision.verdict.preconditions) {
    if (result.outcome != Outcome::kPass) {
      add_once(lines, warning_of("assay: ", result));
    }
  }
  for_each_failure(
      decision, PolicyMode::kWarn, [&](const PolicyResult& policy, const ConditionResult& result) {
        add_once(lines,
                 warning_of("policy " + policy.name + " v" + std::to_string(policy.version) + ", ",
                            result));
      });
  return lines;
}

}  // namespace assay::server
