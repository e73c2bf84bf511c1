// SPDX-License-Identifier: Apache-2.0
// long-file: the codec of one document, whose parts call each other.
// The canonical document of facts.
#include "policy/facts.h"

#include <algorithm>
#include <string_view>

#include "policy/facts/fact_codec.h"
#include "policy/facts/json_reader.h"
#include "policy/facts/signer_json.h"
#include "policy/lineage.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"

namespace assay::policy {
namespace {

using reading::at;
using reading::check_members;
using reading::Reader;
using reading::text_of;
using reading::violation;

// --- writing

// The order of the documents: log order, for signers that of their keys. Whole values break ties.
template <typename Before>
void sort_json(Json& list, Before before) {
  std::sort(list.begin(), list.end(), [&](const Json& a, const Json& b) {
    const auto left = before(a);
    const auto right = before(b);
    return left != right ? left < right : a < b;
  });
}

// What manifests and other statements share.
Json common_to_json(const StatementFact& fact) {
  Json json = {{"id", fact.id.text()},
               {"signers", Json::array()},
               {"accepted_at", to_rfc3339(fact.accepted_at)},
               {"log_index", fact.log_index}};
  for (const SignerFact& signer : fact.signers) {
    json["signers"].push_back(to_json(signer));
  }
  sort_json(json["signers"], [](const Json& one) { return one["key"]; });
  if (fact.withdrawn) {
    json["withdrawn"] = to_json(*fact.withdrawn);
  }
  return json;
}

Json sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

Json to_json(const ManifestFact& manifest) {
  Json json = common_to_json(manifest.statement);
  json["name"] = manifest.name;
  json["parameters"] = assay::to_json(manifest.parameters);
  json["locations"] = sorted(manifest.locations);
  json["objects"] = name(manifest.objects);
  return json;
}

Json to_json(const PlacementFact& placement) {
  Json json = common_to_json(placement.statement);
  json["name"] = placement.name;
  json["locations"] = sorted(placement.locations);
  return json;
}

}  // namespace

Json to_json(const StatementFact& fact) {
  Json json = common_to_json(fact);
  json["predicate_type"] = fact.predicate_type;
  json["stage"] = fact.stage;
  json["names"] = sorted(fact.names);
  json["predicate"] = fact.predicate;
  put_stage_evidence(fact.evidence, json);
  return json;
}

namespace {

template <typename Fact>
Json list_to_json(const SharedList<Fact>& facts) {
  Json list = Json::array();
  for (const Fact& fact : facts) {
    list.push_back(to_json(fact));
  }
  sort_json(list, [](const Json& one) { return one["log_index"]; });
  return list;
}

Json to_json(const NodeFact& node) {
  Json json = {{"name", node.name},
               {"enrolled_at", to_rfc3339(node.enrolled_at)},
               {"expires_at", to_rfc3339(node.expires_at)},
               {"worker_measured", node.worker_measured}};
  if (node.revoked) {
    json["revoked"] = policy::to_json(*node.revoked);
  }
  if (node.appraised_at) {
    Json evidence = {{"type", node.evidence_type},
                     {"appraised_at", to_rfc3339(*node.appraised_at)},
                     {"tcb_status", node.tcb_status},
                     {"anchor_is_vendor", node.anchor_is_vendor},
                     {"current", node.appraisal_current}};
    if (node.anchor) {
      evidence["anchor"] = node.anchor->text();
    }
    if (node.appraisal) {
      evidence["appraisal"] = node.appraisal->text();
    }
    if (node.appraisal_policy) {
      evidence["policy"] = node.appraisal_policy->text();
    }
    if (!node.appraisal_error.empty()) {
      evidence["error"] = node.appraisal_error;
    }
    put_matched(node.matched, evidence);
    if (node.boot) {
      evidence["boot"] = to_json(*node.boot);
    }
    json["evidence"] = std::move(evidence);
  }
  return json;
}

Json to_json(const ReportFact& report) {
  Json json = {{"job", report.job},
               {"scope", report.scope},
               {"location", report.location},
               {"result", report.result},
               {"reported_at", to_rfc3339(report.reported_at)},
               {"read_since", to_rfc3339(report.read_since)},
               {"worker_measured", report.worker_measured},
               {"appraisal_current", report.appraisal_current},
               {"device_attested", report.device_attested},
               {"spot_checks", report.spot_checks}};
  if (report.evidence_valid_until) {
    json["evidence_valid_until"] = to_rfc3339(*report.evidence_valid_until);
  }
  if (!report.volume.empty()) {
    json["volume"] = report.volume;
  }
  if (!report.instance.empty()) {
    json["instance"] = {{"pod", report.pod}, {"name", report.instance}};
  } else if (!report.pod.empty()) {
    json["pod"] = {{"uid", report.pod}, {"volume", report.pod_volume}};
  }
  if (!report.differing.empty()) {
    json["differing"] = report.differing;
  }
  if (report.memory) {
    json["memory"] = to_json(*report.memory);
  }
  if (report.report) {
    json["report"] = report.report->text();
  }
  return json;
}

Json list_to_json(const std::vector<ClaimFact>& claims) {
  Json list = Json::array();
  for (const ClaimFact& claim : claims) {
    list.push_back({{"claim", claim.claim}, {"uid", claim.uid}, {"volume", claim.volume}});
  }
  sort_json(list, [](const Json& one) { return one["claim"]; });
  return list;
}

Json list_to_json(const std::vector<InstanceFact>& instances) {
  Json list = Json::array();
  for (const InstanceFact& instance : instances) {
    list.push_back(to_json(instance));
  }
  sort_json(list, [](const Json& one) { return one["instance"]; });
  return list;
}

// The order of the document: by scope, then by time.
Json list_to_json(const std::vector<ReportFact>& reports) {
  Json list = Json::array();
  for (const ReportFact& report : reports) {
    list.push_back(to_json(report));
  }
  sort_json(list,
            [](const Json& one) { return Json{one["scope"], one["reported_at"], one["job"]}; });
  return list;
}

// --- reading

// Fills what manifests and other statements share; members have been checked.
Result<StatementFact> common_from_json(const Json& json, const std::string& where) {
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementId id, in.parsed("id", StatementId::parse));
  ASSAY_ASSIGN(auto signers, in.list<SignerFact>("signers", signer_from_json));
  ASSAY_ASSIGN(const Timestamp accepted_at, in.time("accepted_at"));
  ASSAY_ASSIGN(const LeafIndex index, in.number("log_index"));
  StatementFact fact{std::move(id), {}, {}, nullptr, std::move(signers), accepted_at, index};
  if (json.contains("withdrawn")) {
    ASSAY_ASSIGN(fact.withdrawn, withdrawn_from_json(json["withdrawn"], in.place("withdrawn")));
  }
  return fact;
}

Result<ManifestFact> manifest_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"id", "signers", "accepted_at", "log_index", "name", "parameters", "locations", "objects"},
      {"withdrawn"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementFact statement, common_from_json(json, where));
  statement.predicate_type = kManifestPredicateType;
  ASSAY_ASSIGN(std::string model, in.text("name"));
  auto parameters = tree_parameters_from_json(json["parameters"]);
  if (!parameters) {
    return at(in.place("parameters"), std::move(parameters).error());
  }
  ASSAY_ASSIGN(auto locations, in.list<std::string>("locations", text_of));
  ASSAY_ASSIGN(const std::string kinds, in.text("objects"));
  const auto objects = parse_objects(kinds);
  if (!objects) {
    return at(in.place("objects"), objects.error());
  }
  return ManifestFact{std::move(statement), std::move(model), *std::move(parameters),
                      std::move(locations), *objects};
}

Result<PlacementFact> placement_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where,
                          {"id", "signers", "accepted_at", "log_index", "name", "locations"},
                          {"withdrawn"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementFact statement, common_from_json(json, where));
  statement.predicate_type = kPlacementPredicateType;
  ASSAY_ASSIGN(std::string model, in.text("name"));
  ASSAY_ASSIGN(auto locations, in.list<std::string>("locations", text_of));
  return PlacementFact{std::move(statement), std::move(model), std::move(locations)};
}

}  // namespace

Result<StatementFact> statement_fact_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where,
                          {"id", "signers", "accepted_at", "log_index", "predicate_type", "stage",
                           "names", "predicate"},
                          {"evidence", "withdrawn"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementFact statement, common_from_json(json, where));
  ASSAY_ASSIGN(statement.predicate_type, in.text("predicate_type"));
  ASSAY_ASSIGN(statement.stage, in.text("stage"));
  ASSAY_ASSIGN(statement.names, in.list<std::string>("names", text_of));
  statement.predicate = json["predicate"];
  ASSAY_ASSIGN(statement.evidence, read_stage_evidence(json, where));
  return statement;
}

namespace {

Status evidence_from_json(const Json& json, const std::string& where, NodeFact& node) {
  ASSAY_TRY(check_members(json, where,
                          {"type", "appraised_at", "tcb_status", "anchor_is_vendor", "current"},
                          {"anchor", "appraisal", "policy", "error", "reference_values", "boot"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(node.evidence_type, in.text("type"));
  ASSAY_ASSIGN(node.appraised_at, in.time("appraised_at"));
  ASSAY_ASSIGN(node.tcb_status, in.text("tcb_status"));
  ASSAY_ASSIGN(node.anchor_is_vendor, in.flag("anchor_is_vendor"));
  ASSAY_ASSIGN(node.anchor, in.parsed_if_there("anchor", Anchor::parse));
  ASSAY_ASSIGN(node.appraisal, in.parsed_if_there("appraisal", DocumentId::parse));
  ASSAY_ASSIGN(node.appraisal_policy, in.parsed_if_there("policy", DocumentId::parse));
  ASSAY_ASSIGN(node.appraisal_current, in.flag("current"));
  ASSAY_ASSIGN(node.appraisal_error,
               json.contains("error") ? in.text("error") : Result<std::string>(""));
  ASSAY_ASSIGN(node.matched, read_matched(json, where));
  ASSAY_ASSIGN(node.boot, reading::boot_if_there(json, where));
  return {};
}

Result<NodeFact> node_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"name", "enrolled_at", "expires_at", "worker_measured"},
                          {"revoked", "evidence"}));
  const Reader in{json, where};
  NodeFact node;
  ASSAY_ASSIGN(node.name, in.text("name"));
  ASSAY_ASSIGN(node.enrolled_at, in.time("enrolled_at"));
  ASSAY_ASSIGN(node.expires_at, in.time("expires_at"));
  ASSAY_ASSIGN(node.worker_measured, in.flag("worker_measured"));
  if (json.contains("revoked")) {
    ASSAY_ASSIGN(node.revoked, revocation_from_json(json["revoked"], in.place("revoked")));
  }
  if (json.contains("evidence")) {
    ASSAY_TRY(evidence_from_json(json["evidence"], in.place("evidence"), node));
  }
  return node;
}

Status pod_from_json(const Json& json, const std::string& where, ReportFact& report) {
  ASSAY_TRY(check_members(json, where, {"uid", "volume"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(report.pod, in.text("uid"));
  ASSAY_ASSIGN(report.pod_volume, in.text("volume"));
  return {};
}

Status instance_from_json(const Json& json, const std::string& where, ReportFact& report) {
  ASSAY_TRY(check_members(json, where, {"pod", "name"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(report.pod, in.text("pod"));
  ASSAY_ASSIGN(report.instance, in.text("name"));
  return {};
}

Result<ClaimFact> claim_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"claim", "uid", "volume"}));
  const Reader in{json, where};
  ClaimFact claim;
  ASSAY_ASSIGN(claim.claim, in.text("claim"));
  ASSAY_ASSIGN(claim.uid, in.text("uid"));
  ASSAY_ASSIGN(claim.volume, in.text("volume"));
  return claim;
}

Result<ReportFact> report_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"job", "scope", "location", "result", "reported_at", "read_since", "worker_measured",
       "appraisal_current", "device_attested", "spot_checks"},
      {"volume", "pod", "instance", "memory", "differing", "report", "evidence_valid_until"}));
  const Reader in{json, where};
  ReportFact report;
  ASSAY_ASSIGN(report.job, in.text("job"));
  ASSAY_ASSIGN(report.scope, in.text("scope"));
  ASSAY_ASSIGN(report.location, in.text("location"));
  ASSAY_ASSIGN(report.result, in.text("result"));
  ASSAY_ASSIGN(report.reported_at, in.time("reported_at"));
  ASSAY_ASSIGN(report.read_since, in.time("read_since"));
  ASSAY_ASSIGN(report.worker_measured, in.flag("worker_measured"));
  ASSAY_ASSIGN(report.appraisal_current, in.flag("appraisal_current"));
  ASSAY_ASSIGN(report.device_attested, in.flag("device_attested"));
  ASSAY_ASSIGN(report.spot_checks, in.number("spot_checks"));
  ASSAY_ASSIGN(report.evidence_valid_until,
               in.parsed_if_there("evidence_valid_until", parse_rfc3339));
  if (json.contains("volume")) {
    ASSAY_ASSIGN(report.volume, in.text("volume"));
  }
  if (json.contains("pod")) {
    ASSAY_TRY(pod_from_json(json["pod"], in.place("pod"), report));
  }
  if (json.contains("instance")) {
    ASSAY_TRY(instance_from_json(json["instance"], in.place("instance"), report));
  }
  if (json.contains("memory")) {
    ASSAY_ASSIGN(report.memory, memory_from_json(json["memory"], in.place("memory")));
  }
  if (json.contains("differing")) {
    ASSAY_ASSIGN(report.differing, in.text("differing"));
  }
  ASSAY_ASSIGN(report.report, in.parsed_if_there("report", DocumentId::parse));
  return report;
}

}  // namespace

Json to_json(const Facts& facts) {
  Json json = {{"format", kFactsFormat},
               {"manifests", list_to_json(facts.manifests)},
               {"statements", list_to_json(facts.statements)}};
  if (facts.artifact) {
    json["artifact"] = facts.artifact->text();
  }
  if (!facts.name.empty()) {
    json["name"] = facts.name;
  }
  if (facts.node) {
    json["node"] = to_json(*facts.node);
  }
  if (facts.lineage) {
    json["lineage"] = to_json(*facts.lineage);
  }
  if (!facts.placements.empty()) {
    json["placements"] = list_to_json(facts.placements);
  }
  if (!facts.reports.empty()) {
    json["reports"] = list_to_json(facts.reports);
  }
  if (!facts.claims.empty()) {
    json["claims"] = list_to_json(facts.claims);
  }
  if (!facts.asked_locations.empty()) {
    json["asked_locations"] = facts.asked_locations;
  }
  if (!facts.pod.empty()) {
    json["pod"] = facts.pod;
  }
  if (!facts.instances.empty()) {
    json["instances"] = list_to_json(facts.instances);
  }
  return json;
}

Result<Facts> facts_from_json(const Json& json) {
  const std::string top;
  ASSAY_TRY(check_members(json, top, {"format", "manifests", "statements"},
                          {"artifact", "asked_locations", "claims", "instances", "lineage", "name",
                           "node", "placements", "pod", "reports"}));
  const Reader in{json, top};
  if (json["format"] != kFactsFormat) {
    return violation("the format must be assay-facts-v1", "/format");
  }
  Facts facts;
  if (json.contains("artifact")) {
    ASSAY_ASSIGN(facts.artifact, in.parsed("artifact", ArtifactId::parse));
  }
  if (json.contains("name")) {
    ASSAY_ASSIGN(facts.name, in.text("name"));
  }
  ASSAY_ASSIGN(facts.manifests, in.list<ManifestFact>("manifests", manifest_from_json));
  ASSAY_ASSIGN(facts.statements, in.list<StatementFact>("statements", statement_fact_from_json));
  if (json.contains("node")) {
    ASSAY_ASSIGN(facts.node, node_from_json(json["node"], "/node"));
  }
  if (json.contains("lineage")) {
    ASSAY_ASSIGN(facts.lineage, lineage_from_json(json["lineage"], in.place("lineage")));
  }
  if (json.contains("placements")) {
    ASSAY_ASSIGN(facts.placements, in.list<PlacementFact>("placements", placement_from_json));
  }
  if (json.contains("reports")) {
    ASSAY_ASSIGN(facts.reports, in.list<ReportFact>("reports", report_from_json));
  }
  if (json.contains("claims")) {
    ASSAY_ASSIGN(facts.claims, in.list<ClaimFact>("claims", claim_from_json));
  }
  if (json.contains("asked_locations")) {
    ASSAY_ASSIGN(facts.asked_locations, in.list<std::string>("asked_locations", text_of));
  }
  if (json.contains("pod")) {
    ASSAY_ASSIGN(facts.pod, in.text("pod"));
  }
  if (json.contains("instances")) {
    ASSAY_ASSIGN(facts.instances,
                 in.list<InstanceFact>("instances", [](const Json& one, const std::string& where) {
                   return instance_from_json(one, where);
                 }));
  }
  return facts;
}

}  // namespace assay::policy
