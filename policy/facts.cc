// SPDX-License-Identifier: Apache-2.0
// The canonical document of facts.
#include "policy/facts.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <tuple>

#include "schemas/manifest.h"

namespace assay::policy {
namespace {

// Named in the document, so that a later form can be told from this one.
constexpr std::string_view kFormat = "assay-facts-v1";

// --- writing

std::vector<SignerRole> in_order(std::vector<SignerRole> roles) {
  std::sort(roles.begin(), roles.end(), [](const SignerRole& a, const SignerRole& b) {
    return std::tie(a.predicate_type, a.stage, a.name_space) <
           std::tie(b.predicate_type, b.stage, b.name_space);
  });
  return roles;
}

// The order of the documents: log order, for signers that of their keys. Whole values break ties.
template <typename Before>
void sort_json(Json& list, Before before) {
  std::sort(list.begin(), list.end(), [&](const Json& a, const Json& b) {
    const auto left = before(a);
    const auto right = before(b);
    return left != right ? left < right : a < b;
  });
}

Json to_json(const Revocation& revoked) {
  return {{"at", to_rfc3339(revoked.at)}, {"reason", revoked.reason}};
}

Json to_json(const SignerFact& signer) {
  const TrustedKey& key = signer.key;
  Json json = {{"key", key.id.text()},
               {"algorithm", name(key.algorithm)},
               {"purpose", name(key.purpose)},
               {"identity", key.identity},
               {"roles", Json::array()},
               {"not_before", to_rfc3339(key.not_before)},
               {"not_after", to_rfc3339(key.not_after)},
               {"signed_at", to_rfc3339(signer.signed_at)}};
  for (const SignerRole& role : in_order(key.roles)) {
    json["roles"].push_back({{"stage", role.stage},
                             {"predicate_type", role.predicate_type},
                             {"namespace", role.name_space}});
  }
  if (key.revoked) {
    json["revoked"] = to_json(*key.revoked);
  }
  return json;
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
  return json;
}

Json to_json(const ManifestFact& manifest) {
  Json json = common_to_json(manifest.statement);
  json["name"] = manifest.name;
  json["parameters"] = assay::to_json(manifest.parameters);
  std::vector<std::string> locations = manifest.locations;
  std::sort(locations.begin(), locations.end());
  json["locations"] = std::move(locations);
  return json;
}

Json to_json(const StatementFact& fact) {
  Json json = common_to_json(fact);
  json["predicate_type"] = fact.predicate_type;
  json["stage"] = fact.stage;
  json["predicate"] = fact.predicate;
  return json;
}

template <typename Fact>
Json list_to_json(const std::vector<Fact>& facts) {
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
    json["revoked"] = to_json(*node.revoked);
  }
  if (node.appraised_at) {
    Json evidence = {{"type", node.evidence_type},
                     {"appraised_at", to_rfc3339(*node.appraised_at)},
                     {"tcb_status", node.tcb_status},
                     {"anchor_is_vendor", node.anchor_is_vendor}};
    if (node.anchor) {
      evidence["anchor"] = node.anchor->text();
    }
    if (node.appraisal) {
      evidence["appraisal"] = node.appraisal->text();
    }
    json["evidence"] = std::move(evidence);
  }
  return json;
}

Json to_json(const ReportFact& report) {
  Json json = {{"job", report.job},
               {"scope", report.scope},
               {"result", report.result},
               {"reported_at", to_rfc3339(report.reported_at)},
               {"worker_measured", report.worker_measured},
               {"device_attested", report.device_attested},
               {"spot_checks", report.spot_checks}};
  if (!report.differing.empty()) {
    json["differing"] = report.differing;
  }
  if (report.report) {
    json["report"] = report.report->text();
  }
  return json;
}

// The order of the document: by scope, then by time.
Json list_to_json(const std::vector<ReportFact>& reports) {
  Json list = Json::array();
  for (const ReportFact& report : reports) {
    list.push_back(to_json(report));
  }
  sort_json(list, [](const Json& one) { return Json{one["scope"], one["reported_at"]}; });
  return list;
}

// --- reading

std::unexpected<Error> violation(std::string why, const std::string& where) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), where);
}

// Prefixes the place of an error from a codec further down.
std::unexpected<Error> at(const std::string& where, Error error) {
  error.where = where + error.where;
  return std::unexpected(std::move(error));
}

using Names = std::initializer_list<std::string_view>;

// An object with all of `required`, perhaps `optional`, and nothing else.
Status check_members(const Json& json, const std::string& where, Names required,
                     Names optional = {}) {
  if (!json.is_object()) {
    return violation("this must be an object", where);
  }
  const auto has = [](Names names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& member : json.items()) {
    if (!has(required, member.key()) && !has(optional, member.key())) {
      return fail(ErrorCode::kUnknownMember, "facts do not have this member",
                  where + "/" + member.key());
    }
  }
  for (const std::string_view name : required) {
    if (!json.contains(name)) {
      return violation("facts need this member", where + "/" + std::string(name));
    }
  }
  return {};
}

// One object of the document with its place. Members are known to be there.
struct Reader {
  const Json& json;
  const std::string& where;

  [[nodiscard]] std::string place(const char* member) const { return where + "/" + member; }

  [[nodiscard]] Result<std::string> text(const char* member) const {
    const Json& value = json[member];
    if (!value.is_string()) {
      return violation("this must be a string", place(member));
    }
    return value.get<std::string>();
  }

  // A text that `parse` turns into a value.
  template <typename Parse>
  [[nodiscard]] auto parsed(const char* member, Parse parse) const
      -> decltype(parse(std::string_view())) {
    ASSAY_ASSIGN(const std::string value, text(member));
    auto result = parse(value);
    if (!result) {
      return at(place(member), std::move(result).error());
    }
    return result;
  }

  [[nodiscard]] Result<Timestamp> time(const char* member) const {
    return parsed(member, parse_rfc3339);
  }

  [[nodiscard]] Result<bool> flag(const char* member) const {
    const Json& value = json[member];
    if (!value.is_boolean()) {
      return violation("this must be true or false", place(member));
    }
    return value.get<bool>();
  }

  [[nodiscard]] Result<std::uint64_t> number(const char* member) const {
    const Json& value = json[member];
    if (!value.is_number_unsigned()) {
      return violation("this must be a number from 0", place(member));
    }
    return value.get<std::uint64_t>();
  }

  // A text that `parse` turns into a value, if the member is there.
  template <typename Parse>
  [[nodiscard]] auto parsed_if_there(const char* member, Parse parse) const
      -> Result<std::optional<typename decltype(parse(std::string_view()))::value_type>> {
    if (!json.contains(member)) {
      return std::nullopt;
    }
    return parsed(member, parse);
  }

  // Calls `read(item, place)` for each item of an array.
  template <typename Value, typename Read>
  [[nodiscard]] Result<std::vector<Value>> list(const char* member, Read read) const {
    const Json& items = json[member];
    if (!items.is_array()) {
      return violation("this must be an array", place(member));
    }
    std::vector<Value> values;
    values.reserve(items.size());
    for (const Json& item : items) {
      Result<Value> value = read(item, place(member) + "/" + std::to_string(values.size()));
      if (!value) {
        return std::unexpected(std::move(value).error());
      }
      values.push_back(std::move(*value));
    }
    return values;
  }
};

Result<SignerRole> role_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"stage", "predicate_type", "namespace"}));
  const Reader in{json, where};
  SignerRole role;
  ASSAY_ASSIGN(role.stage, in.text("stage"));
  ASSAY_ASSIGN(role.predicate_type, in.text("predicate_type"));
  ASSAY_ASSIGN(role.name_space, in.text("namespace"));
  return role;
}

Result<Revocation> revocation_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"at", "reason"}));
  const Reader in{json, where};
  Revocation revocation;
  ASSAY_ASSIGN(revocation.at, in.time("at"));
  ASSAY_ASSIGN(revocation.reason, in.text("reason"));
  return revocation;
}

Result<SignerFact> signer_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"key", "algorithm", "purpose", "identity", "roles", "not_before", "not_after", "signed_at"},
      {"revoked"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(KeyId id, in.parsed("key", KeyId::parse));
  ASSAY_ASSIGN(const SignatureAlgorithm algorithm,
               in.parsed("algorithm", signature_algorithm_from));
  ASSAY_ASSIGN(const KeyPurpose purpose, in.parsed("purpose", key_purpose_from));
  ASSAY_ASSIGN(std::string identity, in.text("identity"));
  ASSAY_ASSIGN(auto roles, in.list<SignerRole>("roles", role_from_json));
  ASSAY_ASSIGN(const Timestamp not_before, in.time("not_before"));
  ASSAY_ASSIGN(const Timestamp not_after, in.time("not_after"));
  ASSAY_ASSIGN(const Timestamp signed_at, in.time("signed_at"));
  SignerFact signer{{std::move(id),
                     algorithm,
                     {},
                     purpose,
                     std::move(identity),
                     std::move(roles),
                     not_before,
                     not_after,
                     std::nullopt},
                    signed_at};
  if (json.contains("revoked")) {
    ASSAY_ASSIGN(signer.key.revoked, revocation_from_json(json["revoked"], in.place("revoked")));
  }
  return signer;
}

// Fills what manifests and other statements share; members have been checked.
Result<StatementFact> common_from_json(const Json& json, const std::string& where) {
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementId id, in.parsed("id", StatementId::parse));
  ASSAY_ASSIGN(auto signers, in.list<SignerFact>("signers", signer_from_json));
  ASSAY_ASSIGN(const Timestamp accepted_at, in.time("accepted_at"));
  ASSAY_ASSIGN(const LeafIndex index, in.number("log_index"));
  return StatementFact{std::move(id), {}, {}, nullptr, std::move(signers), accepted_at, index};
}

Result<std::string> text_of(const Json& item, const std::string& place) {
  if (!item.is_string()) {
    return violation("this must be a string", place);
  }
  return item.get<std::string>();
}

Result<ManifestFact> manifest_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"id", "signers", "accepted_at", "log_index", "name", "parameters", "locations"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementFact statement, common_from_json(json, where));
  statement.predicate_type = kManifestPredicateType;
  ASSAY_ASSIGN(std::string model, in.text("name"));
  auto parameters = tree_parameters_from_json(json["parameters"]);
  if (!parameters) {
    return at(in.place("parameters"), std::move(parameters).error());
  }
  ASSAY_ASSIGN(auto locations, in.list<std::string>("locations", text_of));
  return ManifestFact{std::move(statement), std::move(model), *parameters, std::move(locations)};
}

Result<StatementFact> statement_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"id", "signers", "accepted_at", "log_index", "predicate_type", "stage", "predicate"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementFact statement, common_from_json(json, where));
  ASSAY_ASSIGN(statement.predicate_type, in.text("predicate_type"));
  ASSAY_ASSIGN(statement.stage, in.text("stage"));
  statement.predicate = json["predicate"];
  return statement;
}

Status evidence_from_json(const Json& json, const std::string& where, NodeFact& node) {
  ASSAY_TRY(check_members(json, where, {"type", "appraised_at", "tcb_status", "anchor_is_vendor"},
                          {"anchor", "appraisal"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(node.evidence_type, in.text("type"));
  ASSAY_ASSIGN(node.appraised_at, in.time("appraised_at"));
  ASSAY_ASSIGN(node.tcb_status, in.text("tcb_status"));
  ASSAY_ASSIGN(node.anchor_is_vendor, in.flag("anchor_is_vendor"));
  ASSAY_ASSIGN(node.anchor, in.parsed_if_there("anchor", Digest::parse));
  ASSAY_ASSIGN(node.appraisal, in.parsed_if_there("appraisal", DocumentId::parse));
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

Result<ReportFact> report_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where,
                          {"job", "scope", "result", "reported_at", "worker_measured",
                           "device_attested", "spot_checks"},
                          {"differing", "report"}));
  const Reader in{json, where};
  ReportFact report;
  ASSAY_ASSIGN(report.job, in.text("job"));
  ASSAY_ASSIGN(report.scope, in.text("scope"));
  ASSAY_ASSIGN(report.result, in.text("result"));
  ASSAY_ASSIGN(report.reported_at, in.time("reported_at"));
  ASSAY_ASSIGN(report.worker_measured, in.flag("worker_measured"));
  ASSAY_ASSIGN(report.device_attested, in.flag("device_attested"));
  ASSAY_ASSIGN(report.spot_checks, in.number("spot_checks"));
  if (json.contains("differing")) {
    ASSAY_ASSIGN(report.differing, in.text("differing"));
  }
  ASSAY_ASSIGN(report.report, in.parsed_if_there("report", DocumentId::parse));
  return report;
}

}  // namespace

Json to_json(const Workload& workload) {
  Json json = {{"namespace", workload.name_space},
               {"labels", workload.labels},
               {"resources", workload.resources}};
  if (!workload.node.empty()) {
    json["node"] = workload.node;
  }
  return json;
}

Result<Workload> workload_from_json(const Json& json) {
  const std::string top;
  ASSAY_TRY(check_members(json, top, {"namespace", "labels", "resources"}, {"node"}));
  const Reader in{json, top};
  Workload workload;
  ASSAY_ASSIGN(workload.name_space, in.text("namespace"));
  ASSAY_ASSIGN(workload.resources, in.list<std::string>("resources", text_of));
  if (!json["labels"].is_object()) {
    return violation("this must be an object", in.place("labels"));
  }
  for (const auto& [label, value] : json["labels"].items()) {
    ASSAY_ASSIGN(workload.labels[label], text_of(value, in.place("labels")));
  }
  if (json.contains("node")) {
    ASSAY_ASSIGN(workload.node, in.text("node"));
  }
  return workload;
}

Json to_json(const Facts& facts) {
  Json json = {{"format", kFormat},
               {"manifests", list_to_json(facts.manifests)},
               {"statements", list_to_json(facts.statements)}};
  if (facts.artifact) {
    json["artifact"] = facts.artifact->text();
  }
  if (facts.node) {
    json["node"] = to_json(*facts.node);
  }
  if (!facts.reports.empty()) {
    json["reports"] = list_to_json(facts.reports);
  }
  return json;
}

Result<Facts> facts_from_json(const Json& json) {
  const std::string top;
  ASSAY_TRY(check_members(json, top, {"format", "manifests", "statements"},
                          {"artifact", "node", "reports"}));
  const Reader in{json, top};
  if (json["format"] != kFormat) {
    return violation("the format must be assay-facts-v1", "/format");
  }
  Facts facts;
  if (json.contains("artifact")) {
    ASSAY_ASSIGN(facts.artifact, in.parsed("artifact", ArtifactId::parse));
  }
  ASSAY_ASSIGN(facts.manifests, in.list<ManifestFact>("manifests", manifest_from_json));
  ASSAY_ASSIGN(facts.statements, in.list<StatementFact>("statements", statement_from_json));
  if (json.contains("node")) {
    ASSAY_ASSIGN(facts.node, node_from_json(json["node"], "/node"));
  }
  if (json.contains("reports")) {
    ASSAY_ASSIGN(facts.reports, in.list<ReportFact>("reports", report_from_json));
  }
  return facts;
}

}  // namespace assay::policy
