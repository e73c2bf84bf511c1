// SPDX-License-Identifier: Apache-2.0
// Demands on stage evidence: shape by policy.schema.json.
#include "schemas/evidence_demands.h"

#include "schemas/members.h"

namespace assay {
namespace {

std::optional<std::uint64_t> optional_number(const Json& json, std::string_view name) {
  return json.contains(name) ? std::optional(members::number(json, name)) : std::nullopt;
}

void put(Json& json, const char* name, const std::vector<std::string>& texts) {
  if (!texts.empty()) {
    json[name] = texts;
  }
}

}  // namespace

std::string_view name(AppraisedWhen when) {
  switch (when) {
    case AppraisedWhen::kThen:
      return "then";
    case AppraisedWhen::kNow:
      return "now";
    case AppraisedWhen::kBoth:
      break;
  }
  return "both";
}

Json to_json(const EvidenceDemands& demands) {
  Json json = {{"appraised", name(demands.appraised)}};
  if (!demands.type.empty()) {
    json["type"] = demands.type;
  }
  put(json, "tcb_status_then", demands.tcb_status_then);
  put(json, "tcb_status_now", demands.tcb_status_now);
  put(json, "anchors", demands.anchors);
  if (!demands.reference_values.empty()) {
    json["reference_values"] = demands.reference_values;
  }
  if (demands.max_age_seconds) {
    json["max_age_seconds"] = *demands.max_age_seconds;
  }
  if (demands.made_within_seconds) {
    json["made_within_seconds"] = *demands.made_within_seconds;
  }
  if (demands.allow_missing_reference_values) {
    json["dangerous_allow_missing_reference_values"] = true;
  }
  if (demands.boot) {
    json["boot"] = to_json(*demands.boot);
  }
  return json;
}

EvidenceDemands read_evidence_demands(const Json& json) {
  EvidenceDemands demands;
  demands.type = members::text(json, "type");
  for (const AppraisedWhen when : {AppraisedWhen::kThen, AppraisedWhen::kNow}) {
    if (members::text(json, "appraised") == name(when)) {
      demands.appraised = when;
    }
  }
  demands.tcb_status_then = members::texts(json, "tcb_status_then");
  demands.tcb_status_now = members::texts(json, "tcb_status_now");
  demands.anchors = members::texts(json, "anchors");
  const Json none = Json::object();
  for (const auto& [measurement, values] : members::child(json, "reference_values", none).items()) {
    demands.reference_values[measurement] = values.get<std::vector<std::string>>();
  }
  demands.max_age_seconds = optional_number(json, "max_age_seconds");
  demands.made_within_seconds = optional_number(json, "made_within_seconds");
  demands.allow_missing_reference_values =
      json.value("dangerous_allow_missing_reference_values", false);
  if (json.contains("boot")) {
    demands.boot = read_boot_demands(json["boot"]);
  }
  return demands;
}

}  // namespace assay
