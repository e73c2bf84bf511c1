// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/case_file.h"

#include <algorithm>

#include "schemas/core/sha.h"

namespace assay::server {
namespace {

std::unexpected<Error> broken() {
  return fail(ErrorCode::kDataLoss, "a stored case cannot be read");
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

Json precondition_to_json(const ConditionResult& result) {
  return {{"id", result.id},
          {"outcome", name(result.outcome)},
          {"code", result.code ? Json(info(*result.code).code) : Json(nullptr)},
          {"expected", result.expected},
          {"actual", result.actual},
          {"evidence", result.evidence.to_json()}};
}

Result<std::string> text_at(const Json& json, const char* member) {
  if (!json.is_object() || !json.contains(member) || !json[member].is_string()) {
    return broken();
  }
  return json[member].get<std::string>();
}

Result<DocumentId> id_at(const Json& json, const char* member) {
  ASSAY_ASSIGN(const std::string text, text_at(json, member));
  auto id = DocumentId::parse(text);
  return id ? std::move(id) : Result<DocumentId>(broken());
}

Result<ConditionResult> precondition_from_json(const Json& json) {
  ASSAY_ASSIGN(std::string id, text_at(json, "id"));
  ASSAY_ASSIGN(const std::string outcome_name, text_at(json, "outcome"));
  ASSAY_ASSIGN(const Outcome outcome, outcome_from(outcome_name));
  ASSAY_ASSIGN(EvidenceIds evidence, EvidenceIds::from_json(json.value("evidence", Json())));
  if (!json.contains("code") || !json.contains("expected") || !json.contains("actual")) {
    return broken();
  }
  std::optional<Reason> code;
  if (!json["code"].is_null()) {
    ASSAY_ASSIGN(const std::string code_name, text_at(json, "code"));
    code = reason_from(code_name);
    if (!code) {
      return broken();
    }
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

// What is known of the node, its reports and the pod's claims: the members of the facts document
// that were not signed about the artifact.
Json node_members(const policy::Facts& facts) {
  policy::Facts rest;
  rest.node = facts.node;
  rest.reports = facts.reports;
  rest.claims = facts.claims;
  rest.asked_locations = facts.asked_locations;
  rest.pod = facts.pod;
  rest.instances = facts.instances;
  Json json = policy::to_json(rest);
  json.erase("format");
  json.erase("manifests");
  json.erase("statements");
  return json;
}

// Makes `json` a part of the case and returns its id.
Result<Json> add_part(StoredCase& stored, const Json& json) {
  ASSAY_ASSIGN(Part part, make_part(json));
  Json id = part.id.text();
  stored.parts.push_back(std::move(part));
  return id;
}

Result<Json> encode_model(StoredCase& stored, const CaseModel& model) {
  Json json = Json::object();
  if (!model.facts.name.empty()) {
    json["name"] = model.facts.name;
  }
  if (Json node = node_members(model.facts); !node.empty()) {
    ASSAY_ASSIGN(json["node"], add_part(stored, node));
  }
  if (model.known) {
    json["artifact"] = model.facts.artifact->text();
    json["statements"] = model.known->statements.root().text();
    json["keys"] = model.known->keys.id.text();
    stored.models.push_back(model.known);
  }
  if (model.lineage) {
    json["lineage"] = model.lineage->head.id.text();
    stored.lineages.push_back(model.lineage);
  }
  return json;
}

Result<std::vector<StatementId>> read_ids(const Json& json) {
  std::vector<StatementId> ids;
  if (!json.is_array()) {
    return broken();
  }
  for (const Json& text : json) {
    auto id = text.is_string() ? StatementId::parse(text.get_ref<const std::string&>())
                               : Result<StatementId>(broken());
    if (!id) {
      return broken();
    }
    ids.push_back(*std::move(id));
  }
  return ids;
}

Json write_ids(const std::vector<StatementId>& ids) {
  Json json = Json::array();
  for (const StatementId& id : ids) {
    json.push_back(id.text());
  }
  return json;
}

// A list of policies; with reference sets an object that has both lists.
Json policies_part(const CaseFile& file) {
  Json policies = write_ids(file.policies);
  return file.sets.empty()
             ? policies
             : Json{{"policies", std::move(policies)}, {"sets", write_ids(file.sets)}};
}

Status load_policies(storage::Snapshot& snapshot, const DocumentId& id, CaseFile& file) {
  ASSAY_ASSIGN(const Json json, load_part(snapshot, id));
  if (!json.is_object()) {
    ASSAY_ASSIGN(file.policies, read_ids(json));
    return {};
  }
  if (json.size() != 2 || !json.contains("policies") || !json.contains("sets")) {
    return broken();
  }
  ASSAY_ASSIGN(file.policies, read_ids(json["policies"]));
  ASSAY_ASSIGN(file.sets, read_ids(json["sets"]));
  return {};
}

Result<std::optional<std::vector<std::string>>> bare_names_in(const Json& json) {
  if (!json.contains("bare_names")) {
    return std::nullopt;
  }
  if (!json["bare_names"].is_array()) {
    return broken();
  }
  std::vector<std::string> names;
  for (const Json& one : json["bare_names"]) {
    if (!one.is_string()) {
      return broken();
    }
    names.push_back(one.get<std::string>());
  }
  return names;
}

Status load_workload(storage::Snapshot& snapshot, const Json& json, CaseFile& file) {
  ASSAY_ASSIGN(const DocumentId id, id_at(json, "workload"));
  ASSAY_ASSIGN(const Json document, load_part(snapshot, id));
  auto workload = policy::workload_from_json(document);
  if (!workload) {
    return broken();
  }
  file.workload = *std::move(workload);
  if (json.contains("node")) {
    ASSAY_ASSIGN(file.workload.node, text_at(json, "node"));
  }
  return {};
}

}  // namespace

Result<StoredCase> encode(const CaseFile& file) {
  StoredCase stored{{DocumentId(sha256({})), {}}, {}, {}};
  Json json = {{"format", kDecisionFormat},
               {"evaluator", kEvaluator},
               {"models", Json::array()},
               {"preconditions", Json::array()},
               {"point", name(file.point)}};
  for (const CaseModel& model : file.models) {
    ASSAY_ASSIGN(Json encoded, encode_model(stored, model));
    json["models"].push_back(std::move(encoded));
  }
  if (file.bare_names) {
    json["bare_names"] = *file.bare_names;
  }
  for (const ConditionResult& result : file.preconditions) {
    json["preconditions"].push_back(precondition_to_json(result));
  }
  ASSAY_ASSIGN(json["policies"], add_part(stored, policies_part(file)));
  // The node stands beside the workload, so that a pod is one document wherever it goes.
  Json workload = policy::to_json(file.workload);
  workload.erase("node");
  if (!file.workload.node.empty()) {
    json["node"] = file.workload.node;
  }
  ASSAY_ASSIGN(json["workload"], add_part(stored, workload));
  if (stored.parts.back().bytes.size() > kMaxWorkloadBytes) {
    return fail(ErrorCode::kLimitExceeded,
                "what the pod says of its mounts, containers and resources has more than 512 KiB");
  }
  ASSAY_ASSIGN(stored.file, make_part(json));
  return stored;
}

Status put_case(storage::Transaction& transaction, const StoredCase& stored) {
  // The file is stored last, so all that it names is there when it is.
  ASSAY_ASSIGN(const bool known, transaction.has_document(stored.file.id));
  if (known) {
    return {};
  }
  for (const auto& model : stored.models) {
    ASSAY_TRY(model->statements.put(transaction));
    ASSAY_TRY(put_part(transaction, model->keys));
  }
  for (const auto& lineage : stored.lineages) {
    ASSAY_TRY(put_lineage(transaction, *lineage));
  }
  for (const Part& part : stored.parts) {
    ASSAY_TRY(put_part(transaction, part));
  }
  return put_part(transaction, stored.file);
}

Result<CaseModel> load_model(storage::Snapshot& snapshot, const Json& member) {
  Json document = {{"manifests", Json::array()}, {"statements", Json::array()}};
  Envelopes envelopes;
  if (member.contains("artifact")) {
    ASSAY_ASSIGN(const DocumentId statements, id_at(member, "statements"));
    ASSAY_ASSIGN(const DocumentId keys, id_at(member, "keys"));
    ASSAY_ASSIGN(LoadedFacts loaded, load_facts(snapshot, statements, keys));
    document = std::move(loaded.members);
    document["artifact"] = member["artifact"];
    envelopes = std::move(loaded.envelopes);
  }
  if (member.contains("lineage")) {
    ASSAY_ASSIGN(const DocumentId id, id_at(member, "lineage"));
    ASSAY_ASSIGN(document["lineage"], load_lineage(snapshot, id));
  }
  if (member.contains("node")) {
    ASSAY_ASSIGN(const DocumentId id, id_at(member, "node"));
    ASSAY_ASSIGN(const Json node, load_part(snapshot, id));
    if (!node.is_object()) {
      return broken();
    }
    document.update(node);
  }
  if (member.contains("name")) {
    document["name"] = member["name"];
  }
  document["format"] = policy::kFactsFormat;
  auto facts = policy::facts_from_json(document);
  if (!facts) {
    return broken();
  }
  return CaseModel{*std::move(facts), std::move(envelopes), {}};
}

Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id) {
  return load_case(snapshot, id, [&](const Json& member) { return load_model(snapshot, member); });
}

Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id,
                           const ReadModel& read_model) {
  ASSAY_ASSIGN(const Json json, load_part(snapshot, id));
  ASSAY_TRY(check_versions(json));
  ASSAY_ASSIGN(const std::string point_name, text_at(json, "point"));
  const auto point = decision_point_from(point_name);
  if (!point || !json.contains("models") || !json["models"].is_array() || json["models"].empty() ||
      !json.contains("preconditions") || !json["preconditions"].is_array()) {
    return broken();
  }
  CaseFile file{{}, {}, {}, {}, *point};
  ASSAY_ASSIGN(file.bare_names, bare_names_in(json));
  for (const Json& item : json["models"]) {
    ASSAY_ASSIGN(CaseModel model, read_model(item));
    file.models.push_back(std::move(model));
  }
  ASSAY_ASSIGN(const DocumentId policies, id_at(json, "policies"));
  ASSAY_TRY(load_policies(snapshot, policies, file));
  ASSAY_TRY(load_workload(snapshot, json, file));
  for (const Json& item : json["preconditions"]) {
    ASSAY_ASSIGN(ConditionResult result, precondition_from_json(item));
    file.preconditions.push_back(std::move(result));
  }
  return file;
}

}  // namespace assay::server
