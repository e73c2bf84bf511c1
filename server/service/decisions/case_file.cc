// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/case_file.h"

#include <algorithm>

#include "schemas/core/sha.h"

namespace assay::server {
namespace {

Json precondition_to_json(const ConditionResult& result) {
  return {{"id", result.id},
          {"outcome", name(result.outcome)},
          {"code", result.code ? Json(info(*result.code).code) : Json(nullptr)},
          {"expected", result.expected},
          {"actual", result.actual},
          {"evidence", result.evidence.to_json()}};
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
  ASSAY_ASSIGN(policy::CaseModelFacts model, policy::read_case_model(reader_of(snapshot), member));
  return CaseModel{std::move(model.facts), std::move(model.envelopes), {}};
}

Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id) {
  return load_case(snapshot, id, [&](const Json& member) { return load_model(snapshot, member); });
}

Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id,
                           const ReadModel& read_model) {
  ASSAY_ASSIGN(policy::CaseHead head, policy::read_case(reader_of(snapshot), id));
  CaseFile file{{},
                std::move(head.workload),
                std::move(head.preconditions),
                std::move(head.policies),
                head.point};
  file.bare_names = std::move(head.bare_names);
  file.sets = std::move(head.sets);
  for (const Json& item : head.models) {
    ASSAY_ASSIGN(CaseModel model, read_model(item));
    file.models.push_back(std::move(model));
  }
  return file;
}

}  // namespace assay::server
