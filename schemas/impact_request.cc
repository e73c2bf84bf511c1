// SPDX-License-Identifier: Apache-2.0
#include "schemas/impact_request.h"

#include <set>

#include "schemas/document.h"

namespace assay {

static auto members_of(json::As<TcbLevel>) {
  return std::tuple(json::always("fmspc", &TcbLevel::fmspc), json::always("date", &TcbLevel::date));
}

namespace {

// Without policies and sets, which are documents of their own.
auto of_hypothesis() {
  using T = Hypothesis;
  return std::tuple(json::if_set("deactivate", &T::deactivate),
                    json::if_set("revoke_keys", &T::revoke_keys),
                    json::if_set("withdraw_statements", &T::withdraw_statements),
                    json::if_set("without_artifacts", &T::without_artifacts),
                    json::if_set("tcb_status_lost", &T::tcb_status_lost),
                    json::if_set("tcb_levels_lost", &T::tcb_levels_lost),
                    json::if_set("reject_advisories", &T::reject_advisories),
                    json::if_set("revoke_nodes", &T::revoke_nodes));
}

auto of_request() {
  using T = ImpactRequest;
  return std::tuple(json::if_set("since", &T::since), json::if_set("until", &T::until),
                    json::or_default("limit", &T::limit), json::if_set("after", &T::after));
}

// A policy has up to 32 levels of conditions, below three levels of the request.
constexpr std::size_t kMaxDepth = 160;

Result<Hypothesis> hypothesis_from(const Json& json) {
  Hypothesis hypothesis;
  ASSAY_TRY(json::read_members(json, of_hypothesis(), hypothesis));
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
  return hypothesis;
}

}  // namespace

Result<ImpactRequest> parse_impact_request(ByteView body) {
  JsonLimits limits;
  limits.max_depth = kMaxDepth;
  ASSAY_ASSIGN(const Json json, parse_json(body, limits));
  ASSAY_TRY(validate("impact-request", json));
  ImpactRequest request;
  ASSAY_TRY(json::read_members(json, of_request(), request));
  ASSAY_ASSIGN(request.hypothesis, hypothesis_from(json["hypothesis"]));
  return request;
}

Json to_json(const ImpactRequest& request) {
  Json json = json::write_object(request, of_request());
  json["hypothesis"] = json::write_object(request.hypothesis, of_hypothesis());
  for (const PolicyDocument& policy : request.hypothesis.activate) {
    json["hypothesis"]["activate"].push_back(to_json(policy));
  }
  for (const ReferenceSet& set : request.hypothesis.sets) {
    json["hypothesis"]["sets"].push_back(to_json(set));
  }
  return json;
}

}  // namespace assay
