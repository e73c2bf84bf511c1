// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/policy_suite.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/verbs/workload.h"
#include "client/files.h"

namespace assay::cli {

namespace {

// Facts of one model, or a list with those of several.
Result<std::vector<policy::Facts>> models_from(const Json& json) {
  std::vector<policy::Facts> models;
  for (const Json& item : json.is_array() ? json : Json::array({json})) {
    ASSAY_ASSIGN(policy::Facts facts, policy::facts_from_json(item));
    models.push_back(std::move(facts));
  }
  return models;
}

// Members of a case in a file of cases; what is absent comes from the flags.
Status read_case(const Json& json, PolicyCase& one) {
  for (const auto& [name, value] : json.items()) {
    if (name == "facts") {
      ASSAY_ASSIGN(one.models, models_from(value));
    } else if (name == "workload") {
      ASSAY_ASSIGN(one.workload, workload_from(value));
    } else if (name == "expect_reasons" && value.is_array()) {
      for (const Json& reason : value) {
        one.reasons.push_back(reason.is_string() ? reason.get<std::string>() : "");
      }
    } else if (!value.is_string()) {
      return fail(ErrorCode::kSchemaViolation, "A case has no member of this kind", "/" + name);
    } else if (name == "name") {
      one.name = value.get<std::string>();
    } else if (name == "point") {
      ASSAY_ASSIGN(one.point, decision_point_from(value.get<std::string>()));
    } else if (name == "now") {
      ASSAY_ASSIGN(one.now, parse_rfc3339(value.get<std::string>()));
    } else if (name == "expect" && (value == "allow" || value == "deny")) {
      one.expect = value.get<std::string>();
    } else {
      return fail(ErrorCode::kSchemaViolation, "A case has no such member or value", "/" + name);
    }
  }
  return {};
}

bool has_reason(const Verdict& verdict, const std::string& reason) {
  return std::ranges::any_of(verdict.reasons,
                             [&](Reason code) { return info(code).code == reason; });
}

// Empty when the answer is as expected; without an expectation an allow is the good answer.
std::string problem_of(const PolicyCase& one, const Verdict& verdict, bool selected) {
  const bool wanted = one.expect != "deny";
  if (verdict.allowed != wanted) {
    return wanted ? "expected allow, the answer is deny" : "expected deny, the answer is allow";
  }
  for (const std::string& reason : one.reasons) {
    if (!has_reason(verdict, reason)) {
      return "the answer has no reason " + reason;
    }
  }
  // A policy denies nothing that it does not select: the deny would be there without the policy,
  // and in a cluster the workload would run.
  const std::string_view unmatched = info(Reason::kNoMatchingPolicy).code;
  if (!wanted && !selected && std::ranges::find(one.reasons, unmatched) == one.reasons.end()) {
    return "the policy does not select this workload, see its match and mode; when that is what "
           "the case is about, name no-matching-policy in expect_reasons";
  }
  return "";
}

}  // namespace

Result<std::vector<PolicyCase>> read_cases(const std::string& file, const PolicyCase& base) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
  JsonLimits limits;
  limits.max_bytes = client::kMaxDocumentBytes;
  limits.max_depth = 128;
  ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes), limits));
  std::vector<PolicyCase> cases;
  if (json.is_object() && json.contains("cases") && json.at("cases").is_array()) {
    for (const Json& item : json.at("cases")) {
      PolicyCase one = base;
      ASSAY_TRY(read_case(item, one));
      cases.push_back(std::move(one));
    }
  } else if (json.is_object() && json.contains("facts")) {
    PolicyCase one = base;
    ASSAY_TRY(read_case(json, one));
    cases.push_back(std::move(one));
  } else if (!json.is_array() || !json.empty()) {
    PolicyCase one = base;
    ASSAY_ASSIGN(one.models, models_from(json));
    cases.push_back(std::move(one));
  }
  if (cases.empty()) {
    return fail(ErrorCode::kUsage, "The file holds no case, so nothing is tested; give one or more",
                file);
  }
  return cases;
}

CaseResult judge_case(const PolicyCase& one, std::span<const policy::ActivePolicy> policies) {
  CaseResult result{policy::selected(policies, one.workload, one.point),
                    policy::evaluate(policies, one.workload, one.models, {}, one.point, one.now),
                    {}};
  result.problem = problem_of(one, result.verdict, result.selected);
  return result;
}

std::optional<std::string> suite_beside(const std::string& policy_file) {
  std::filesystem::path path(policy_file);
  while (!path.extension().empty()) {
    std::filesystem::path suite = path;
    suite.replace_extension(".tests.json");
    std::error_code unreadable;
    if (std::filesystem::exists(suite, unreadable)) {
      return suite.string();
    }
    path.replace_extension();
  }
  return std::nullopt;
}

}  // namespace assay::cli
