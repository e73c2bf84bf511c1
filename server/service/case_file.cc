// SPDX-License-Identifier: Apache-2.0
#include "server/service/case_file.h"

#include <algorithm>

namespace assay::server {
namespace {

// Predicates sit deeper here than in their own statements, and there may be many.
constexpr JsonLimits kCaseFileLimits{.max_bytes = 512U << 20, .max_depth = 96};

std::unexpected<Error> broken() {
  return fail(ErrorCode::kDataLoss, "a stored case file cannot be read");
}

Result<Outcome> outcome_from(std::string_view text) {
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kFail, Outcome::kError, Outcome::kDeferred}) {
    if (name(outcome) == text) {
      return outcome;
    }
  }
  return broken();
}

Result<ErrorCode> error_code_from(std::string_view text) {
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (info(code).code == text) {
      return code;
    }
  }
  return broken();
}

Json precondition_to_json(const ConditionResult& result) {
  return {{"id", result.id},
          {"outcome", name(result.outcome)},
          {"code", result.code ? Json(info(*result.code).code) : Json(nullptr)},
          {"expected", result.expected},
          {"actual", result.actual},
          {"evidence", result.evidence}};
}

Result<std::string> text_at(const Json& json, const char* member) {
  if (!json.is_object() || !json.contains(member) || !json[member].is_string()) {
    return broken();
  }
  return json[member].get<std::string>();
}

Result<std::vector<std::string>> texts_at(const Json& json, const char* member) {
  if (!json.is_object() || !json.contains(member) || !json[member].is_array() ||
      !std::all_of(json[member].begin(), json[member].end(),
                   [](const Json& item) { return item.is_string(); })) {
    return broken();
  }
  return json[member].get<std::vector<std::string>>();
}

Result<ConditionResult> precondition_from_json(const Json& json) {
  ASSAY_ASSIGN(std::string id, text_at(json, "id"));
  ASSAY_ASSIGN(const std::string outcome_name, text_at(json, "outcome"));
  ASSAY_ASSIGN(const Outcome outcome, outcome_from(outcome_name));
  ASSAY_ASSIGN(auto evidence, texts_at(json, "evidence"));
  if (!json.contains("code") || !json.contains("expected") || !json.contains("actual")) {
    return broken();
  }
  std::optional<ErrorCode> code;
  if (!json["code"].is_null()) {
    ASSAY_ASSIGN(const std::string code_name, text_at(json, "code"));
    ASSAY_ASSIGN(code, error_code_from(code_name));
  }
  return ConditionResult{std::move(id),       outcome, code, json["expected"], json["actual"],
                         std::move(evidence), {}};
}

// Judging an old case by new rules would not show what was decided then.
Status check_versions(const Json& json) {
  if (!json.is_object()) {
    return broken();
  }
  const bool same = json.contains("format") && json["format"] == kDecisionFormat &&
                    json.contains("evaluator") && json["evaluator"] == kEvaluator;
  return same
             ? Status()
             : fail(ErrorCode::kCaseUnsupported,
                    "the case has another format, or was judged by other rules, than this service");
}

Result<std::vector<policy::Facts>> models_from_json(const Json& json) {
  if (!json.is_array() || json.empty()) {
    return broken();
  }
  std::vector<policy::Facts> models;
  for (const Json& item : json) {
    ASSAY_ASSIGN(policy::Facts model, policy::facts_from_json(item));
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace

Result<std::string> encode(const CaseFile& file) {
  Json preconditions = Json::array();
  for (const ConditionResult& result : file.preconditions) {
    preconditions.push_back(precondition_to_json(result));
  }
  Json policies = Json::array();
  for (const StatementId& id : file.policies) {
    policies.push_back(id.text());
  }
  Json models = Json::array();
  for (const policy::Facts& model : file.models) {
    models.push_back(policy::to_json(model));
  }
  return canonical_json({{"format", kDecisionFormat},
                         {"evaluator", kEvaluator},
                         {"models", std::move(models)},
                         {"workload", policy::to_json(file.workload)},
                         {"preconditions", std::move(preconditions)},
                         {"policies", std::move(policies)},
                         {"point", name(file.point)},
                         {"now", to_rfc3339(file.now)}});
}

Result<CaseFile> parse_case_file(ByteView bytes) {
  ASSAY_ASSIGN(const Json json, parse_json(bytes, kCaseFileLimits));
  ASSAY_TRY(check_versions(json));
  for (const char* member : {"models", "workload", "preconditions", "policies", "point", "now"}) {
    if (!json.contains(member)) {
      return broken();
    }
  }
  ASSAY_ASSIGN(std::vector<policy::Facts> models, models_from_json(json["models"]));
  ASSAY_ASSIGN(policy::Workload workload, policy::workload_from_json(json["workload"]));
  ASSAY_ASSIGN(const std::string point_name, text_at(json, "point"));
  ASSAY_ASSIGN(const DecisionPoint point, decision_point_from(point_name));
  ASSAY_ASSIGN(const std::string now_text, text_at(json, "now"));
  ASSAY_ASSIGN(const Timestamp now, parse_rfc3339(now_text));
  CaseFile file{std::move(models), std::move(workload), {}, {}, point, now};
  ASSAY_ASSIGN(const auto policies, texts_at(json, "policies"));
  for (const std::string& text : policies) {
    ASSAY_ASSIGN(StatementId id, StatementId::parse(text));
    file.policies.push_back(std::move(id));
  }
  if (!json["preconditions"].is_array()) {
    return broken();
  }
  for (const Json& item : json["preconditions"]) {
    ASSAY_ASSIGN(ConditionResult result, precondition_from_json(item));
    file.preconditions.push_back(std::move(result));
  }
  return file;
}

}  // namespace assay::server
