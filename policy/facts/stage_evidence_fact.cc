// SPDX-License-Identifier: Apache-2.0
// The part of the facts document about stage evidence.
#include "policy/stage_evidence_fact.h"

#include <algorithm>

#include "policy/facts/json_reader.h"

namespace assay::policy {
namespace {

using reading::check_members;
using reading::Reader;
using reading::violation;

void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) {
    json[name] = text;
  }
}

template <typename Id>
void put(Json& json, const char* name, const std::optional<Id>& id) {
  if (id) {
    json[name] = id->text();
  }
}

Json appraised(const std::string& status, const std::string& error) {
  Json json = {{"tcb_status", status}};
  put(json, "error", error);
  return json;
}

Status read_appraised(const Json& json, const std::string& where, std::string& status,
                      std::string& error) {
  ASSAY_TRY(check_members(json, where, {"tcb_status"}, {"error"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(status, in.text("tcb_status"));
  if (json.contains("error")) {
    ASSAY_ASSIGN(error, in.text("error"));
  }
  return {};
}

Status read_measurements(const Json& json, const std::string& where,
                         std::map<std::string, std::string>& measurements) {
  if (!json.is_object()) {
    return violation("this must be an object", where);
  }
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) {
      return violation("this must be a string", where + "/" + name);
    }
    measurements.emplace(name, value.get<std::string>());
  }
  return {};
}

Json to_json(const StageEvidenceFact& evidence) {
  Json json = {{"key", evidence.key.text()},
               {"type", evidence.type},
               {"accepted_at", to_rfc3339(evidence.accepted_at)},
               {"anchor_is_vendor", evidence.anchor_is_vendor},
               {"then", appraised(evidence.status_then, evidence.error_then)},
               {"now", appraised(evidence.status_now, evidence.error_now)},
               {"current", evidence.current},
               {"has_reference_values", evidence.has_reference_values}};
  if (evidence.made_after) {
    json["made_after"] = to_rfc3339(*evidence.made_after);
  }
  if (evidence.valid_until) {
    json["valid_until"] = to_rfc3339(*evidence.valid_until);
  }
  put(json, "anchor", evidence.anchor);
  if (!evidence.measurements.empty()) {
    json["measurements"] = evidence.measurements;
  }
  if (evidence.boot) {
    json["boot"] = to_json(*evidence.boot);
  }
  put(json, "appraisal", evidence.appraisal);
  put(json, "policy", evidence.appraisal_policy);
  put_matched(evidence.matched, json);
  return json;
}

Result<StageEvidenceFact> from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where,
                          {"key", "type", "accepted_at", "anchor_is_vendor", "then", "now",
                           "current", "has_reference_values"},
                          {"made_after", "anchor", "measurements", "appraisal", "policy",
                           "reference_values", "boot", "valid_until"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(KeyId key, in.parsed("key", KeyId::parse));
  ASSAY_ASSIGN(std::string type, in.text("type"));
  ASSAY_ASSIGN(const Timestamp accepted_at, in.time("accepted_at"));
  StageEvidenceFact fact{std::move(key), std::move(type), accepted_at};
  ASSAY_ASSIGN(fact.made_after, in.parsed_if_there("made_after", parse_rfc3339));
  ASSAY_ASSIGN(fact.valid_until, in.parsed_if_there("valid_until", parse_rfc3339));
  ASSAY_ASSIGN(fact.anchor, in.parsed_if_there("anchor", Anchor::parse));
  ASSAY_ASSIGN(fact.anchor_is_vendor, in.flag("anchor_is_vendor"));
  ASSAY_TRY(read_appraised(json["then"], in.place("then"), fact.status_then, fact.error_then));
  ASSAY_TRY(read_appraised(json["now"], in.place("now"), fact.status_now, fact.error_now));
  ASSAY_ASSIGN(fact.current, in.flag("current"));
  ASSAY_ASSIGN(fact.has_reference_values, in.flag("has_reference_values"));
  if (json.contains("measurements")) {
    ASSAY_TRY(read_measurements(json["measurements"], in.place("measurements"), fact.measurements));
  }
  ASSAY_ASSIGN(fact.boot, reading::boot_if_there(json, where));
  ASSAY_ASSIGN(fact.appraisal, in.parsed_if_there("appraisal", DocumentId::parse));
  ASSAY_ASSIGN(fact.appraisal_policy, in.parsed_if_there("policy", DocumentId::parse));
  ASSAY_ASSIGN(fact.matched, read_matched(json, where));
  return fact;
}

}  // namespace

void put_matched(const MatchedReferences& matched, Json& json) {
  if (!matched.empty()) {
    json["reference_values"] = matched;
  }
}

Result<MatchedReferences> read_matched(const Json& json, const std::string& where) {
  MatchedReferences matched;
  const auto member = json.find("reference_values");
  if (member == json.end()) {
    return matched;
  }
  const std::string place = where + "/reference_values";
  if (!member->is_object() || member->empty()) {
    return violation("this must be an object with members", place);
  }
  for (const auto& [measurement, names] : member->items()) {
    if (!names.is_array() || names.empty()) {
      return violation("this must be a list of names", place + "/" + measurement);
    }
    for (const Json& name : names) {
      if (!name.is_string()) {
        return violation("this must be a string", place + "/" + measurement);
      }
      matched[measurement].push_back(name.get<std::string>());
    }
  }
  return matched;
}

void put_stage_evidence(const std::vector<StageEvidenceFact>& evidence, Json& statement) {
  std::vector<Json> list;
  list.reserve(evidence.size());
  for (const StageEvidenceFact& one : evidence) {
    list.push_back(to_json(one));
  }
  std::sort(list.begin(), list.end());
  if (!list.empty()) {
    statement["evidence"] = std::move(list);
  }
}

Result<std::vector<StageEvidenceFact>> read_stage_evidence(const Json& statement,
                                                           const std::string& where) {
  const Reader in{statement, where};
  return statement.contains("evidence")
             ? in.list<StageEvidenceFact>("evidence", from_json)
             : Result<std::vector<StageEvidenceFact>>(std::vector<StageEvidenceFact>());
}

}  // namespace assay::policy
