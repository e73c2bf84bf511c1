// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/answer.h"

#include <algorithm>

namespace assay::server {
namespace {

bool stands_in_the_way(const ConditionResult& result) {
  return result.outcome == Outcome::kFail || result.outcome == Outcome::kError;
}

void add(const PolicyResult* policy, const ConditionResult& result, std::vector<Cause>& causes) {
  const Reason reason = result.code.value_or(Reason::kConditionUndecided);
  Cause cause{policy == nullptr ? std::string() : policy->name,
              policy == nullptr ? 0 : policy->version, result.id, std::string(info(reason).code)};
  if (causes.size() < kMaxCauses && std::ranges::find(causes, cause) == causes.end()) {
    causes.push_back(std::move(cause));
  }
}

// The innermost parts that explain `result`; itself when none of its parts does (a `not`).
void add_causes(const PolicyResult& policy, const ConditionResult& result,
                std::vector<Cause>& causes) {
  if (!stands_in_the_way(result)) {
    return;
  }
  bool explained = false;
  for (const ConditionResult& part : result.parts) {
    explained = explained || stands_in_the_way(part);
    add_causes(policy, part, causes);
  }
  if (!explained) {
    add(&policy, result, causes);
  }
}

}  // namespace

Answer answer_of(const Verdict& verdict) {
  Answer answer{true, verdict.allowed, {}, {}, verdict.valid_until};
  if (verdict.allowed) {
    return answer;
  }
  for (const Reason reason : verdict.reasons) {
    answer.reasons.emplace_back(info(reason).code);
  }
  for (const ConditionResult& precondition : verdict.preconditions) {
    if (precondition.outcome != Outcome::kPass) {
      add(nullptr, precondition, answer.causes);
    }
  }
  for (const PolicyResult& policy : verdict.policies) {
    for (const ConditionResult& condition : policy.conditions) {
      if (policy.mode == PolicyMode::kEnforce) {
        add_causes(policy, condition, answer.causes);
      }
    }
  }
  return answer;
}

Json to_json(const Cause& cause) {
  Json json = {{"condition", cause.condition}, {"code", cause.code}};
  if (!cause.policy.empty()) {
    json["policy"] = cause.policy;
    json["version"] = cause.version;
  }
  return json;
}

Json to_json(const Answer& answer) {
  const char* const verdict =
      !answer.selected ? "not-applicable" : (answer.allowed ? "allow" : "deny");
  return {{"verdict", verdict}, {"reasons", answer.reasons}};
}

Json to_json(const std::vector<Cause>& causes) {
  Json json = Json::array();
  for (const Cause& cause : causes) {
    json.push_back(to_json(cause));
  }
  return json;
}

}  // namespace assay::server
