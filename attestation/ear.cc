// SPDX-License-Identifier: Apache-2.0
#include "attestation/ear.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attestation/ear_status.h"
#include "attestation/jws.h"

namespace assay::attestation {
namespace {

// Tokens of ours name their tiers.
std::optional<Tier> named_tier(const Json& text) {
  return text.is_string() ? tier_from(text) : std::nullopt;
}

// Aspects about which nothing is claimed are left out.
Json vector_json(const Trustworthiness& trustworthiness) {
  Json json = Json::object();
  for (const auto& [aspect, member] : kAspects) {
    if (trustworthiness.*member != 0) {
      json[aspect] = trustworthiness.*member;
    }
  }
  return json;
}

Tier status_of(const AppraisedEvidence& appraised) {
  if (!appraised.accepted) {
    return Tier::kContraindicated;
  }
  Tier worst = tier_of(appraised.trustworthiness);
  for (const EvidencePart& part : appraised.parts) {
    worst = std::max(worst, tier_of(part.trustworthiness));
  }
  return worst;
}

// What the verifier found out itself: all of the result but the measurements, which the attester
// claims, the list of checks, and what identifies one machine for good.
Json verifier_claims(Json claims) {
  claims.erase("checks");
  claims.erase("measurements");
  if (const auto platform = claims.find("platform");
      platform != claims.end() && platform->is_object()) {
    for (const char* identifier : {"ppid", "platform_instance_id", "pck_certificate"}) {
      platform->erase(identifier);
    }
  }
  return claims;
}

Json submodule(const AppraisedEvidence& appraised, const EarContext& context, Tier status) {
  Json policies = Json::array();
  if (!context.policy.empty()) {
    policies.push_back(context.policy);
  }
  const Json result = appraised.result.is_object() ? appraised.result : Json::object();
  return {{"ear_status", tier_name(status)},
          {"ear_trustworthiness_vector", vector_json(appraised.trustworthiness)},
          {"ear_appraisal_policy_ids", std::move(policies)},
          {"ear_attester_claims", result.value("measurements", Json::object())},
          {"ear_verifier_claims", verifier_claims(result)}};
}

// One for the evidence, under its type, and one for each of its parts, under the type and the
// part's name: kebab-case names hold no dot, so the labels differ.
Json submodules(const AppraisedEvidence& appraised, const EarContext& context) {
  const Tier own = appraised.accepted ? tier_of(appraised.trustworthiness) : Tier::kContraindicated;
  Json modules = {{appraised.type, submodule(appraised, context, own)}};
  for (const EvidencePart& part : appraised.parts) {
    const Tier tier = appraised.accepted ? tier_of(part.trustworthiness) : Tier::kContraindicated;
    modules[appraised.type + "." + part.name] = {
        {"ear_status", tier_name(tier)},
        {"ear_trustworthiness_vector", vector_json(part.trustworthiness)},
        {"ear_attester_claims", part.measurements}};
  }
  return modules;
}

std::int64_t seconds_of(Timestamp time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

// --- reading

std::unexpected<Error> shape(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}
std::unexpected<Error> rejected(std::string detail, std::string where) {
  return fail(ErrorCode::kEvidenceRejected, std::move(detail), std::move(where));
}

Result<std::int64_t> time_at(const Json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number_integer()) {
    return shape("a time in whole seconds is needed", "/" + std::string(name));
  }
  return found->get<std::int64_t>();
}

Status check_times(const Json& claims, Timestamp now) {
  // Clocks of two machines differ a little; a token from further ahead was not made by now.
  constexpr std::int64_t kSkew = 60;
  ASSAY_ASSIGN(const std::int64_t issued, time_at(claims, "iat"));
  ASSAY_ASSIGN(const std::int64_t expires, time_at(claims, "exp"));
  const std::int64_t current = seconds_of(now);
  if (issued < 0 || expires <= issued || expires > issued + kMaxEarLifetime.count()) {
    return rejected("the token's lifetime is not between a second and an hour", "/exp");
  }
  if (issued > current + kSkew) {
    return rejected("the token is from the future", "/iat");
  }
  if (expires <= current) {
    return rejected("the token has expired", "/exp");
  }
  return {};
}

Status check_origin(const Json& claims, std::string_view issuer) {
  const auto is = [&](const char* claim, std::string_view value) {
    const auto found = claims.find(claim);
    return found != claims.end() && found->is_string() && found->get<std::string>() == value;
  };
  if (!is("eat_profile", kEarProfile)) {
    return shape("the token is of another profile", "/eat_profile");
  }
  if (!is("iss", issuer)) {
    return rejected("the token is from another issuer", "/iss");
  }
  return {};
}

Result<Tier> check_submodule(const Json& submodule, const std::string& where) {
  const Json empty = Json::object();
  const auto status =
      submodule.is_object() ? named_tier(submodule.value("ear_status", Json())) : std::nullopt;
  if (!status) {
    return shape("a submodule has a status of a known tier", where + "/ear_status");
  }
  const auto worst = worst_claim(submodule.value("ear_trustworthiness_vector", empty));
  if (!worst) {
    return shape("a trustworthiness vector is an object of numbers from -128 to 127",
                 where + "/ear_trustworthiness_vector");
  }
  const auto counted = counted_tier(*status, *worst);
  if (!counted) {
    return rejected("the status is better than the worst aspect", where + "/ear_status");
  }
  return *counted;
}

Result<Tier> check_status(const Json& claims) {
  const auto submodules = claims.find("submods");
  if (submodules == claims.end() || !submodules->is_object() || submodules->empty()) {
    return shape("a token has at least one submodule", "/submods");
  }
  Tier worst = Tier::kAffirming;
  for (const auto& [label, submodule] : submodules->items()) {
    ASSAY_ASSIGN(const Tier tier, check_submodule(submodule, "/submods/" + label));
    worst = std::max(worst, tier);
  }
  const auto overall = named_tier(claims.value("ear_status", Json()));
  if (!overall) {
    return shape("the overall status is of no known tier", "/ear_status");
  }
  if (*overall != worst) {
    return rejected("the overall status is not the worst submodule's", "/ear_status");
  }
  return worst;
}

}  // namespace

Result<std::string> make_ear(const AppraisedEvidence& appraised, const EarContext& context,
                             const Signer& signer) {
  if (context.lifetime < std::chrono::seconds(1) || context.lifetime > kMaxEarLifetime) {
    return fail(ErrorCode::kInvalidParameter, "a token lasts from a second to an hour");
  }
  const Tier status = status_of(appraised);
  const std::int64_t issued = seconds_of(context.now);
  Json claims = {{"eat_profile", kEarProfile},
                 {"iss", context.issuer},
                 {"iat", issued},
                 {"exp", issued + context.lifetime.count()},
                 {"ear_verifier_id", {{"developer", kEarDeveloper}, {"build", context.build}}},
                 {"ear_status", tier_name(status)},
                 {"submods", submodules(appraised, context)}};
  if (!context.nonce.empty()) {
    claims["eat_nonce"] = context.nonce;
  }
  if (!context.node.empty()) {
    claims["sub"] = context.node;
  }
  return sign_jws(claims, signer);
}

Result<EarClaims> verify_ear(std::string_view token, const PublicKey& key, std::string_view issuer,
                             Timestamp now) {
  ASSAY_ASSIGN(Json claims, verify_jws(token, key));
  ASSAY_TRY(check_origin(claims, issuer));
  ASSAY_TRY(check_times(claims, now));
  ASSAY_ASSIGN(const Tier status, check_status(claims));
  return EarClaims{std::move(claims), std::string(tier_name(status))};
}

}  // namespace assay::attestation
