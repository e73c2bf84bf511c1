// SPDX-License-Identifier: Apache-2.0
// The document that names all others of a case.
#include "policy/case_documents.h"
#include "policy/cases/members.h"

namespace assay::policy {
namespace {

Result<Outcome> outcome_from(std::string_view text) {
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kFail, Outcome::kError, Outcome::kDeferred}) {
    if (name(outcome) == text) {
      return outcome;
    }
  }
  return broken_case();
}

Result<std::string> case_text(const Json& json, const char* member) {
  const Json& text = member_at(json, member);
  return text.is_string() ? Result<std::string>(text.get<std::string>())
                          : Result<std::string>(broken_case());
}

Result<ConditionResult> precondition_from_json(const Json& json) {
  ASSAY_ASSIGN(std::string id, case_text(json, "id"));
  ASSAY_ASSIGN(const std::string outcome_name, case_text(json, "outcome"));
  ASSAY_ASSIGN(const Outcome outcome, outcome_from(outcome_name));
  ASSAY_ASSIGN(EvidenceIds evidence, EvidenceIds::from_json(member_at(json, "evidence")));
  if (!json.contains("code") || !json.contains("expected") || !json.contains("actual")) {
    return broken_case();
  }
  std::optional<Reason> code;
  if (!json["code"].is_null()) {
    ASSAY_ASSIGN(const std::string code_name, case_text(json, "code"));
    code = reason_from(code_name);
    if (!code) {
      return broken_case();
    }
  }
  return ConditionResult{std::move(id),       outcome, code, json["expected"], json["actual"],
                         std::move(evidence), {}};
}

// Judging an old case by new rules would not show what was decided then.
Status check_case_versions(const Json& json) {
  if (!json.is_object()) {
    return broken_case();
  }
  const bool same = json.contains("format") && json["format"] == kDecisionFormat &&
                    json.contains("evaluator") && json["evaluator"] == kEvaluator;
  return same
             ? Status()
             : fail(ErrorCode::kCaseUnsupported,
                    "the case has another format, or was judged by other rules, than this service");
}

Result<std::vector<StatementId>> read_ids(const Json& json) {
  std::vector<StatementId> ids;
  if (!json.is_array()) {
    return broken_case();
  }
  for (const Json& text : json) {
    ASSAY_ASSIGN(const DocumentId id, case_id(text));
    ids.emplace_back(id.digest());
  }
  return ids;
}

// A list of policies; with reference sets an object that has both lists.
Status read_policies(const ReadPart& read, const DocumentId& id, CaseHead& head) {
  ASSAY_ASSIGN(const Json json, read(id));
  if (!json.is_object()) {
    ASSAY_ASSIGN(head.policies, read_ids(json));
    return {};
  }
  if (json.size() != 2 || !json.contains("policies") || !json.contains("sets")) {
    return broken_case();
  }
  ASSAY_ASSIGN(head.policies, read_ids(json["policies"]));
  ASSAY_ASSIGN(head.sets, read_ids(json["sets"]));
  return {};
}

Result<std::optional<std::vector<std::string>>> bare_names_in(const Json& json) {
  if (!json.contains("bare_names")) {
    return std::nullopt;
  }
  if (!json["bare_names"].is_array()) {
    return broken_case();
  }
  std::vector<std::string> names;
  for (const Json& one : json["bare_names"]) {
    if (!one.is_string()) {
      return broken_case();
    }
    names.push_back(one.get<std::string>());
  }
  return names;
}

Status read_workload(const ReadPart& read, const Json& json, CaseHead& head) {
  ASSAY_ASSIGN(const DocumentId id, case_id(member_at(json, "workload")));
  ASSAY_ASSIGN(const Json document, read(id));
  auto workload = workload_from_json(document);
  if (!workload) {
    return broken_case();
  }
  head.workload = *std::move(workload);
  if (json.contains("node")) {
    ASSAY_ASSIGN(head.workload.node, case_text(json, "node"));
  }
  return {};
}

}  // namespace

Result<CaseHead> read_case(const ReadPart& read, const DocumentId& id) {
  ASSAY_ASSIGN(const Json json, read(id));
  ASSAY_TRY(check_case_versions(json));
  ASSAY_ASSIGN(const std::string point_name, case_text(json, "point"));
  const auto point = decision_point_from(point_name);
  const Json& models = array_at(json, "models");
  if (!point || models.empty() || !member_at(json, "preconditions").is_array()) {
    return broken_case();
  }
  CaseHead head{{models.begin(), models.end()}, {}, {}, {}, {}, *point, {}};
  ASSAY_ASSIGN(head.bare_names, bare_names_in(json));
  ASSAY_ASSIGN(const DocumentId policies, case_id(member_at(json, "policies")));
  ASSAY_TRY(read_policies(read, policies, head));
  ASSAY_TRY(read_workload(read, json, head));
  for (const Json& item : json["preconditions"]) {
    ASSAY_ASSIGN(ConditionResult result, precondition_from_json(item));
    head.preconditions.push_back(std::move(result));
  }
  return head;
}

}  // namespace assay::policy
