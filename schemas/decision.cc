// SPDX-License-Identifier: Apache-2.0
// JSON form of verdicts and decisions (decision.schema.json), and what replay must reproduce.
#include "schemas/decision.h"

#include <algorithm>
#include <array>

#include "schemas/core/sha.h"

namespace assay {
namespace {

constexpr std::size_t kHashedAtOnce = 4096;  // bytes of a list of ids
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

Json codes_to_json(const std::vector<Reason>& codes) {
  Json out = Json::array();
  for (const Reason code : codes) {
    out.push_back(info(code).code);
  }
  return out;
}

Json answer_of(const Verdict& verdict) {
  Json json = {{"allowed", verdict.allowed},
               {"reasons", codes_to_json(verdict.reasons)},
               {"warnings", verdict.warnings}};
  if (verdict.valid_until) {
    json["valid_until"] = to_rfc3339(*verdict.valid_until);
  }
  return json;
}

std::unexpected<Error> no_evidence() {
  return fail(ErrorCode::kDataLoss, "stored evidence of a condition cannot be read");
}

const Digest& digest_of_none() {
  static const Digest none = sha256(as_bytes(std::string_view("[]")));
  return none;
}

// True when the JSON of `id` is `id` in quotation marks.
bool is_plain(std::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == ':' ||
           c == '-' || c == '_' || c == '.' || c == '/';
  });
}

// Of the canonical array.
Digest digest_of(const std::vector<std::string>& ids) {
  ShaStream hash(HashAlgorithm::kSha256);
  std::string text = "[";
  for (const std::string& id : ids) {
    if (text.size() >= kHashedAtOnce) {
      hash.update(as_bytes(text));
      text.clear();
    }
    text += &id == &ids.front() ? "" : ",";
    text += is_plain(id) ? '"' + id + '"' : canonical_json(Json(id)).value_or("null");
  }
  text += "]";
  hash.update(as_bytes(text));
  return hash.finish();
}

}  // namespace

EvidenceIds::EvidenceIds() : digest_(digest_of_none()) {}

EvidenceIds::EvidenceIds(const std::vector<std::string>& ids)
    : count_(ids.size()),
      first_(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kShown))),
      digest_(ids.empty() ? digest_of_none() : digest_of(ids)) {}

Json EvidenceIds::to_json() const {
  return {{"count", count_}, {"digest", digest().text()}, {"first", first_}};
}

Result<EvidenceIds> EvidenceIds::from_json(const Json& json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("count") ||
      !json.contains("digest") || !json.contains("first") || !json["count"].is_number_unsigned() ||
      !json["digest"].is_string() || !json["first"].is_array()) {
    return no_evidence();
  }
  EvidenceIds ids;
  ids.count_ = json["count"].get<std::uint64_t>();
  auto digest = Digest::parse(json["digest"].get_ref<const std::string&>());
  if (!digest || json["first"].size() != std::min<std::uint64_t>(ids.count_, kShown)) {
    return no_evidence();
  }
  ids.digest_ = *std::move(digest);
  for (const Json& id : json["first"]) {
    if (!id.is_string()) {
      return no_evidence();
    }
    ids.first_.push_back(id.get<std::string>());
  }
  return ids;
}

std::string_view name(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

Json to_json(const ConditionResult& result) {
  Json json = {{"id", result.id}, {"outcome", name(result.outcome)}};
  if (!result.evidence.empty()) {
    json["evidence"] = result.evidence.to_json();
  }
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

Json results_of(const Verdict& verdict) {
  Json policies = Json::array();
  for (const PolicyResult& policy : verdict.policies) {
    policies.push_back(to_json(policy));
  }
  return {{"preconditions", to_json(verdict.preconditions)}, {"policies", std::move(policies)}};
}

Json to_json(const Verdict& verdict) {
  Json json = answer_of(verdict);
  json.update(results_of(verdict));
  return json;
}

Json signed_form(const Decision& decision) {
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
          {"verdict", answer_of(decision.verdict)},
          {"request", decision.request},
          {"dry_run", decision.dry_run},
          {"evaluated_at", to_rfc3339(decision.evaluated_at)},
          {"epochs",
           {{"trust", decision.epochs.trust},
            {"revocation", decision.epochs.revocation},
            {"policy", decision.policy_epoch}}},
          {"tree_size", decision.tree_size},
          {"facts", decision.facts.text()},
          {"results", decision.results.text()},
          {"replay_digest", decision.replay_digest.text()}};
}

Json to_json(const Decision& decision) {
  Json json = signed_form(decision);
  json["verdict"].update(results_of(decision.verdict));
  return json;
}

}  // namespace assay
