// SPDX-License-Identifier: Apache-2.0
#include "schemas/impact_request.h"

#include <set>

#include "schemas/validate.h"

namespace assay {
namespace {

// A policy has up to 32 levels of conditions, below three levels of the request.
constexpr std::size_t kMaxDepth = 160;

std::vector<std::string> texts(const Json& json, const char* member) {
  return json.contains(member) ? json[member].get<std::vector<std::string>>()
                               : std::vector<std::string>();
}

template <typename Id>
Result<std::vector<Id>> ids(const Json& json, const char* member) {
  std::vector<Id> parsed;
  for (const std::string& text : texts(json, member)) {
    ASSAY_ASSIGN(Id id, Id::parse(text));
    parsed.push_back(std::move(id));
  }
  return parsed;
}

Result<std::vector<TcbLevel>> levels(const Json& json) {
  std::vector<TcbLevel> parsed;
  for (const Json& item :
       json.contains("tcb_levels_lost") ? json["tcb_levels_lost"] : Json::array()) {
    ASSAY_ASSIGN(const Timestamp date, parse_rfc3339(item["date"].get_ref<const std::string&>()));
    parsed.push_back({item["fmspc"].get<std::string>(), date});
  }
  return parsed;
}

Result<Hypothesis> hypothesis_from(const Json& json) {
  Hypothesis hypothesis;
  std::set<std::string> names;
  PatternBudget budget;  // of all policies of the question
  for (const Json& item : json.contains("activate") ? json["activate"] : Json::array()) {
    ASSAY_ASSIGN(const std::string text, canonical_json(item));
    ASSAY_ASSIGN(PolicyDocument policy, parse_policy(as_bytes(text), budget));
    if (!names.insert(policy.name).second) {
      return fail(ErrorCode::kPolicyInvalid, "two policies to activate have one name",
                  "/hypothesis/activate");
    }
    hypothesis.activate.push_back(std::move(policy));
  }
  names.clear();
  for (const Json& item : json.contains("sets") ? json["sets"] : Json::array()) {
    ASSAY_ASSIGN(const std::string text, canonical_json(item));
    ASSAY_ASSIGN(ReferenceSet set, parse_reference_set(as_bytes(text)));
    if (!names.insert(set.name).second) {
      return fail(ErrorCode::kPolicyInvalid, "two sets have one name", "/hypothesis/sets");
    }
    hypothesis.sets.push_back(std::move(set));
  }
  hypothesis.deactivate = texts(json, "deactivate");
  ASSAY_ASSIGN(hypothesis.revoke_keys, ids<KeyId>(json, "revoke_keys"));
  ASSAY_ASSIGN(hypothesis.withdraw_statements, ids<StatementId>(json, "withdraw_statements"));
  hypothesis.without_artifacts = texts(json, "without_artifacts");
  hypothesis.tcb_status_lost = texts(json, "tcb_status_lost");
  ASSAY_ASSIGN(hypothesis.tcb_levels_lost, levels(json));
  hypothesis.reject_advisories = texts(json, "reject_advisories");
  hypothesis.revoke_nodes = texts(json, "revoke_nodes");
  return hypothesis;
}

template <typename Id>
void put_ids(Json& json, const char* member, const std::vector<Id>& ids) {
  for (const Id& id : ids) {
    json[member].push_back(id.text());
  }
}

void put_texts(Json& json, const char* member, const std::vector<std::string>& values) {
  if (!values.empty()) {
    json[member] = values;
  }
}

Json hypothesis_json(const Hypothesis& hypothesis) {
  Json json = Json::object();
  for (const PolicyDocument& policy : hypothesis.activate) {
    json["activate"].push_back(to_json(policy));
  }
  for (const ReferenceSet& set : hypothesis.sets) {
    json["sets"].push_back(to_json(set));
  }
  put_texts(json, "deactivate", hypothesis.deactivate);
  put_ids(json, "revoke_keys", hypothesis.revoke_keys);
  put_ids(json, "withdraw_statements", hypothesis.withdraw_statements);
  put_texts(json, "without_artifacts", hypothesis.without_artifacts);
  put_texts(json, "tcb_status_lost", hypothesis.tcb_status_lost);
  for (const TcbLevel& level : hypothesis.tcb_levels_lost) {
    json["tcb_levels_lost"].push_back({{"fmspc", level.fmspc}, {"date", to_rfc3339(level.date)}});
  }
  put_texts(json, "reject_advisories", hypothesis.reject_advisories);
  put_texts(json, "revoke_nodes", hypothesis.revoke_nodes);
  return json;
}

Result<std::optional<Timestamp>> time_at(const Json& json, const char* member) {
  if (!json.contains(member)) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Timestamp time, parse_rfc3339(json[member].get_ref<const std::string&>()));
  return time;
}

}  // namespace

Result<ImpactRequest> parse_impact_request(ByteView body) {
  JsonLimits limits;
  limits.max_depth = kMaxDepth;
  ASSAY_ASSIGN(const Json json, parse_json(body, limits));
  ASSAY_TRY(validate("impact-request", json));
  ImpactRequest request;
  ASSAY_ASSIGN(request.hypothesis, hypothesis_from(json["hypothesis"]));
  ASSAY_ASSIGN(request.since, time_at(json, "since"));
  ASSAY_ASSIGN(request.until, time_at(json, "until"));
  request.limit = json.value("limit", ImpactRequest::kDefaultLimit);
  request.after = json.value("after", std::string());
  return request;
}

Json to_json(const ImpactRequest& request) {
  Json json = {{"hypothesis", hypothesis_json(request.hypothesis)}, {"limit", request.limit}};
  if (request.since) {
    json["since"] = to_rfc3339(*request.since);
  }
  if (request.until) {
    json["until"] = to_rfc3339(*request.until);
  }
  if (!request.after.empty()) {
    json["after"] = request.after;
  }
  return json;
}

}  // namespace assay
