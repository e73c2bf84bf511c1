// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/policy_cases.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace assay::cli {

namespace {

// Changes of one case; an own file of cases needs a few.
constexpr std::size_t kMaxChanges = 64;
// Members that stand beside "cases" for all of them.
constexpr std::array<std::string_view, 4> kShared = {"facts", "workload", "point", "now"};
// Operations of RFC 6902 that make nothing larger than what they are given.
constexpr std::array<std::string_view, 4> kOperations = {"add", "remove", "replace", "test"};

// Facts of one model, or a list with those of several.
Result<std::vector<policy::Facts>> models_from(const Json& json) {
  std::vector<policy::Facts> models;
  for (const Json& item : json.is_array() ? json : Json::array({json})) {
    ASSAY_ASSIGN(policy::Facts facts, policy::facts_from_json(item));
    models.push_back(std::move(facts));
  }
  return models;
}

// The form of a workload in decisions (policy/facts.h), of which each member may be absent.
Result<policy::Workload> workload_from(const Json& json) {
  if (!json.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "A workload is an object", "/workload");
  }
  Json whole = {{"namespace", ""}, {"labels", Json::object()}, {"resources", Json::array()}};
  whole.update(json);
  return policy::workload_from_json(whole);
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

bool is_known_operation(const Json& change) {
  const auto op = change.is_object() ? change.find("op") : change.end();
  return change.is_object() && op != change.end() && op->is_string() &&
         std::ranges::find(kOperations, op->get<std::string>()) != kOperations.end();
}

// Applies the JSON Patch (RFC 6902) in the member "change" to the other members of a case.
Status change_case(Json& one) {
  const auto found = one.find("change");
  if (found == one.end()) {
    return {};
  }
  const Json changes = std::move(*found);
  one.erase(found);
  if (!changes.is_array() || changes.size() > kMaxChanges) {
    return fail(ErrorCode::kSchemaViolation, "A change is a list of at most 64 operations",
                "/change");
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::string where = "/change/" + std::to_string(i);
    if (!is_known_operation(changes[i])) {
      return fail(ErrorCode::kSchemaViolation, "The operations are add, remove, replace and test",
                  where);
    }
    try {
      const Json::json_pointer path(changes[i].at("path").get<std::string>());
      // patch() ignores, or ends the program for, an operation below a text or a number.
      if (path.empty() || one.at(path.parent_pointer()).is_structured()) {
        one = one.patch(Json::array({changes[i]}));
        continue;
      }
    } catch (const Json::exception&) {
      // Said below.
    }
    return fail(ErrorCode::kSchemaViolation,
                "The operation does not fit: its path leads nowhere, or a test does not hold",
                where);
  }
  if (!one.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "What is left is no case", "/change");
  }
  return {};
}

// The cases in "cases", each with the members beside it that it does not have itself.
Result<std::vector<PolicyCase>> listed_cases(const Json& json, const PolicyCase& base) {
  for (const auto& [name, value] : json.items()) {
    if (name != "cases" && std::ranges::find(kShared, name) == kShared.end()) {
      return fail(ErrorCode::kSchemaViolation, "Beside cases there is no such member", "/" + name);
    }
  }
  std::vector<PolicyCase> cases;
  for (const Json& item : json.at("cases")) {
    const std::string where = "/cases/" + std::to_string(cases.size());
    if (!item.is_object()) {
      return fail(ErrorCode::kSchemaViolation, "A case is an object", where);
    }
    Json whole = json;
    whole.erase("cases");
    whole.update(item);
    PolicyCase one = base;
    Status read = change_case(whole);
    if (read) {
      read = read_case(whole, one);
    }
    if (!read) {
      Error error = std::move(read).error();
      error.where = where + error.where;
      return std::unexpected(std::move(error));
    }
    cases.push_back(std::move(one));
  }
  return cases;
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

Result<std::vector<PolicyCase>> parse_cases(ByteView bytes, const PolicyCase& base) {
  JsonLimits limits;
  limits.max_bytes = bytes.size();
  limits.max_depth = 128;
  ASSAY_ASSIGN(const Json json, parse_json(bytes, limits));
  std::vector<PolicyCase> cases;
  if (json.is_object() && json.contains("cases") && json.at("cases").is_array()) {
    ASSAY_ASSIGN(cases, listed_cases(json, base));
  } else if (json.is_object() && json.contains("facts")) {
    PolicyCase one = base;
    ASSAY_TRY(read_case(json, one));
    cases.push_back(std::move(one));
  } else if (json.is_object() && json.contains("evaluator") && json.contains("preconditions")) {
    return fail(ErrorCode::kUsage,
                "This document names the parts of its case by digest. Write the whole case with "
                "'assay decision export', and give that file");
  } else if (!json.is_array() || !json.empty()) {
    PolicyCase one = base;
    ASSAY_ASSIGN(one.models, models_from(json));
    cases.push_back(std::move(one));
  }
  if (cases.empty()) {
    return fail(ErrorCode::kUsage,
                "The file holds no case, so nothing is tested; give one or more");
  }
  return cases;
}

CaseResult judge_case(const PolicyCase& one, std::span<const policy::ActivePolicy> policies) {
  CaseResult result{
      policy::selected(policies, one.workload, one.point),
      policy::evaluate(policies, one.workload, one.models, one.preconditions, one.point, one.now),
      {}};
  result.problem = problem_of(one, result.verdict, result.selected);
  return result;
}

}  // namespace assay::cli
