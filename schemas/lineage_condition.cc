// SPDX-License-Identifier: Apache-2.0
#include "schemas/lineage_condition.h"

#include "schemas/members.h"
#include "schemas/reference_set.h"
#include "schemas/spdx.h"

namespace assay {
namespace {

void put(Json& json, const char* member, const std::vector<std::string>& texts) {
  if (!texts.empty()) {
    json[member] = texts;
  }
}

Result<std::vector<std::string>> licence_ids(const Json& json, const char* member,
                                             const std::string& where) {
  std::vector<std::string> ids = members::texts(json, member);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!named_set(ids[i]) && !is_spdx_id(ids[i])) {
      return fail(ErrorCode::kPolicyInvalid,
                  "this is no SPDX identifier such as Apache-2.0, nor one WITH an exception",
                  where + "/licences/" + member + "/" + std::to_string(i));
    }
  }
  return ids;
}

LineageEdgeRule edge_from(const Json& json) {
  const Json none = Json::object();
  const Json& signers = members::child(json, "signers", none);
  LineageEdgeRule edge{members::text(json, "stage"), members::text(json, "role"),
                       members::number(signers, "at_least", 1),
                       members::texts(signers, "identities")};
  if (const auto evidence = json.find("evidence"); evidence != json.end()) {
    edge.evidence = read_evidence_demands(*evidence);
  }
  return edge;
}

Json to_json(const LineageEdgeRule& edge) {
  Json json = {{"signers", {{"at_least", edge.at_least}}}};
  put(json["signers"], "identities", edge.identities);
  if (!edge.stage.empty()) {
    json["stage"] = edge.stage;
  }
  if (!edge.role.empty()) {
    json["role"] = edge.role;
  }
  if (edge.evidence) {
    json["evidence"] = to_json(*edge.evidence);
  }
  return json;
}

}  // namespace

Result<LineageCondition> lineage_condition_from(const Json& json, const std::string& where) {
  LineageCondition condition;
  condition.roles = members::texts(json, "roles");
  condition.leaves = members::texts(json, "leaves");
  condition.stages = members::texts(json, "stages");
  const Json no_edges = Json::array();
  for (const Json& edge : members::child(json, "edges", no_edges)) {
    condition.edges.push_back(edge_from(edge));
  }
  const Json nothing = Json::object();
  const Json& deny = members::child(json, "deny", nothing);
  condition.deny = {members::texts(deny, "digests"), members::texts(deny, "names"),
                    members::texts(deny, "keys"), members::texts(deny, "identities")};
  if (json.contains("max_depth")) {
    condition.max_depth = members::number(json, "max_depth");
  }
  if (const auto licences = json.find("licences"); licences != json.end()) {
    LineageLicences rule;
    ASSAY_ASSIGN(rule.allow, licence_ids(*licences, "allow", where));
    ASSAY_ASSIGN(rule.deny, licence_ids(*licences, "deny", where));
    condition.licences = std::move(rule);
  }
  return condition;
}

Json to_json(const LineageCondition& condition) {
  Json json = Json::object();
  put(json, "roles", condition.roles);
  put(json, "leaves", condition.leaves);
  put(json, "stages", condition.stages);
  for (const LineageEdgeRule& edge : condition.edges) {
    json["edges"].push_back(to_json(edge));
  }
  Json deny = Json::object();
  put(deny, "digests", condition.deny.digests);
  put(deny, "names", condition.deny.names);
  put(deny, "keys", condition.deny.keys);
  put(deny, "identities", condition.deny.identities);
  if (!deny.empty()) {
    json["deny"] = std::move(deny);
  }
  if (condition.max_depth) {
    json["max_depth"] = *condition.max_depth;
  }
  if (condition.licences) {
    json["licences"] = Json::object();
    put(json["licences"], "allow", condition.licences->allow);
    put(json["licences"], "deny", condition.licences->deny);
  }
  return json;
}

}  // namespace assay
