// SPDX-License-Identifier: Apache-2.0
// JSON form of verdicts and decisions (decision.schema.json), and what replay must reproduce.
#include "schemas/decision.h"

#include <array>

#include "schemas/core/sha.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kOutcomes = {"pass", "fail", "error", "deferred"};

Json to_json(const std::vector<ConditionResult>& results) {
  Json out = Json::array();
  for (const ConditionResult& result : results) {
    out.push_back(to_json(result));
  }
  return out;
}

Json to_json(const PolicyResult& policy) {
  return {{"name", policy.name},
          {"version", policy.version},
          {"id", policy.id.text()},
          {"mode", name(policy.mode)},
          {"model", policy.model},
          {"outcome", name(policy.outcome)},
          {"conditions", to_json(policy.conditions)}};
}

Json codes_to_json(const std::vector<ErrorCode>& codes) {
  Json out = Json::array();
  for (const ErrorCode code : codes) {
    out.push_back(info(code).code);
  }
  return out;
}

}  // namespace

std::string_view name(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

Json to_json(const ConditionResult& result) {
  Json json = {{"id", result.id}, {"outcome", name(result.outcome)}, {"evidence", result.evidence}};
  if (result.code) {
    json["code"] = info(*result.code).code;
  }
  if (!result.expected.is_null()) {
    json["expected"] = result.expected;
  }
  if (!result.actual.is_null()) {
    json["actual"] = result.actual;
  }
  if (!result.parts.empty()) {
    json["parts"] = to_json(result.parts);
  }
  return json;
}

Json to_json(const Verdict& verdict) {
  Json policies = Json::array();
  for (const PolicyResult& policy : verdict.policies) {
    policies.push_back(to_json(policy));
  }
  return {{"allowed", verdict.allowed},
          {"reasons", codes_to_json(verdict.reasons)},
          {"warnings", verdict.warnings},
          {"preconditions", to_json(verdict.preconditions)},
          {"policies", std::move(policies)}};
}

Json to_json(const Decision& decision) {
  Json models = Json::array();
  for (const DecidedModel& model : decision.models) {
    models.push_back({{"artifact", model.artifact.text()}});
    if (!model.name.empty()) {
      models.back()["name"] = model.name;
    }
  }
  return {{"format", kDecisionFormat},
          {"evaluator", kEvaluator},
          {"id", decision.id},
          {"models", std::move(models)},
          {"point", name(decision.point)},
          {"verdict", to_json(decision.verdict)},
          {"request", decision.request},
          {"dry_run", decision.dry_run},
          {"evaluated_at", to_rfc3339(decision.evaluated_at)},
          {"epochs",
           {{"trust", decision.epochs.trust},
            {"revocation", decision.epochs.revocation},
            {"policy", decision.policy_epoch}}},
          {"tree_size", decision.tree_size},
          {"facts", decision.facts.text()},
          {"replay_digest", decision.replay_digest.text()}};
}

Result<Digest> replay_digest(const Verdict& verdict, const DocumentId& facts, Timestamp now) {
  Json policies = Json::array();
  Json conditions = Json::array();
  conditions.push_back(to_json(verdict.preconditions));
  for (const PolicyResult& policy : verdict.policies) {
    policies.push_back(policy.id.text());
    conditions.push_back({{"mode", name(policy.mode)},
                          {"model", policy.model},
                          {"outcome", name(policy.outcome)},
                          {"conditions", to_json(policy.conditions)}});
  }
  ASSAY_ASSIGN(const std::string canonical,
               canonical_json({{"allowed", verdict.allowed},
                               {"reasons", codes_to_json(verdict.reasons)},
                               {"policies", std::move(policies)},
                               {"facts", facts.text()},
                               {"now", to_rfc3339(now)},
                               {"conditions", std::move(conditions)}}));
  return sha256(as_bytes(canonical));
}

}  // namespace assay
