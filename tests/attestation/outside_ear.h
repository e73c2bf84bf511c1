// SPDX-License-Identifier: Apache-2.0
// One token of each generation of names that counts, the policy that it counts under, and what the
// service asked for.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "attestation/outside_verifier.h"
#include "schemas/core/sha.h"
#include "schemas/report_data.h"
#include "tests/attestation/support.h"
#include "tests/attestation/tokens.h"

namespace assay::attestation::outside {

using test::at;
using test::jwk_of;
using test::signer;
using test::token_of;

inline constexpr const char* kNow = "2026-03-01T12:00:00Z";
inline constexpr std::int64_t kIssued = 1'772'366'400;  // kNow
inline constexpr const char* kReportData =
    "/submods/cpu0/ear.veraison.annotated-evidence/tdx/quote/report_data";

inline const Signer& p256() { return signer(SignatureAlgorithm::kEcdsaP256); }
inline const Signer& p384() { return signer(SignatureAlgorithm::kEcdsaP384); }

// What the node asked for, and what the service expects of it.
struct Asked {
  Nonce nonce{};
  Digest key = sha256(p256().public_key());
  Digest request = sha256(as_bytes("request"));
  std::string_view domain = kChallengeDomains[0];

  Asked() { nonce.fill(7); }
  [[nodiscard]] ReportDataBytes expected() const {
    return report_data_of(domain, {nonce, key, request});
  }
};

inline Json old_policy() {
  Json jwk = jwk_of(p256());
  jwk["kid"] = "verifier-1";
  return {{"issuer", "https://verifier.example"},
          {"profile", "tag:github.com,2024:confidential-containers/Trustee"},
          {"algorithm", "ES256"},
          {"jwks", {{"keys", {jwk}}}},
          {"max_age_seconds", 600},
          {"submods", {"cpu0"}},
          {"report_data", kReportData}};
}

inline Json old_claims() {
  const std::string data = hex_encode(Asked().expected());
  return {
      {"eat_profile", "tag:github.com,2024:confidential-containers/Trustee"},
      {"iss", "https://verifier.example"},
      {"iat", kIssued},
      {"exp", kIssued + 300},
      {"eat_nonce", base64url_encode(Asked().nonce)},
      {"submods",
       {{"cpu0",
         {{"ear.status", "affirming"},
          {"ear.trustworthiness-vector", {{"executables", 3}, {"hardware", 2}}},
          {"ear.veraison.annotated-evidence", {{"tdx", {{"quote", {{"report_data", data}}}}}}}}},
        {"gpu0",
         {{"ear.status", "affirming"}, {"ear.trustworthiness-vector", {{"hardware", 4}}}}}}}};
}

inline Json new_policy() {
  Json policy = old_policy();
  policy["profile"] = "tag:ietf.org,2026:rats/ear#04";
  policy.erase("report_data");
  policy["key"] = "/submods/cpu0/ear_attester_claims/cnf/jwk";
  return policy;
}

inline Json new_claims() {
  Json claims = old_claims();
  claims["eat_profile"] = "tag:ietf.org,2026:rats/ear#04";
  claims["ear_status"] = "affirming";
  claims["submods"] = {{"cpu0",
                        {{"ear_status", "affirming"},
                         {"ear_trustworthiness_vector", {{"executables", 3}}},
                         {"ear_attester_claims", {{"cnf", {{"jwk", jwk_of(p256())}}}}}}}};
  return claims;
}

inline Json header() { return {{"alg", "ES256"}, {"kid", "verifier-1"}, {"typ", "JWT"}}; }

inline EarVerdict judge(const Json& claims, const Json& policy, const Asked& asked = {},
                        const Json& head = header(), const char* now = kNow) {
  const auto verifier = parse_outside_verifier(policy);
  EXPECT_TRUE(verifier) << (verifier ? "" : verifier.error().detail + verifier.error().where);
  return verify_outside_ear({token_of(head, claims, p256()), asked.key, asked.request}, *verifier,
                            asked.expected(), at(now));
}
inline std::string error_of(const EarVerdict& verdict) {
  return verdict.error.empty() ? "OK:" + verdict.status : verdict.error;
}

using Change = std::function<void(Json&)>;
inline std::string old_changed(const Change& change) {
  Json claims = old_claims();
  change(claims);
  return error_of(judge(claims, old_policy()));
}
inline std::string new_changed(const Change& change) {
  Json claims = new_claims();
  change(claims);
  return error_of(judge(claims, new_policy()));
}

}  // namespace assay::attestation::outside
