// SPDX-License-Identifier: Apache-2.0
// What the token of an outside verifier comes to. The first check that fails names the error.
#include <algorithm>
#include <array>

#include "attestation/ear_status.h"
#include "attestation/jwks.h"
#include "attestation/jws.h"
#include "attestation/outside_verifier.h"
#include "schemas/core/sha.h"
#include "schemas/report_data.h"

namespace assay::attestation {
namespace {

// Clocks of two machines differ a little.
constexpr std::chrono::seconds kSkew{60};
constexpr std::uint64_t kLastSecond = 253'402'300'799;  // of the year 9999

// Names of one generation.
struct Names {
  const char* status;
  const char* vector;
  const char* other_status;
  const char* other_vector;
};
constexpr Names kUnderscores = {"ear_status", "ear_trustworthiness_vector", "ear.status",
                                "ear.trustworthiness-vector"};
constexpr Names kDots = {"ear.status", "ear.trustworthiness-vector", "ear_status",
                         "ear_trustworthiness_vector"};

// An error and what somebody should know of it.
struct Refused {
  std::string error;
  std::string detail;
};
template <typename T>
using Checked = std::expected<T, Refused>;
using Outcome = Checked<std::monostate>;

std::unexpected<Refused> refuse(std::string error, std::string detail) {
  return std::unexpected(Refused{std::move(error), std::move(detail)});
}

#define ASSAY_EAR_TRY(expression)                                          \
  if (auto outcome_of_step = (expression); !outcome_of_step.has_value()) { \
    return std::unexpected(std::move(outcome_of_step).error());            \
  }

// --- the signature

// RFC 8725 section 3.1: keys and algorithm are known beforehand. Keys that a token brings along
// (jwk, x5c) are not looked at; what must be understood and is not (crit) makes it no token of
// ours.
Checked<Json> verified_claims(const std::string& text, const OutsideVerifier& verifier) {
  constexpr TokenLimits kLimits{.token = kMaxOutsideTokenBytes,
                                .header = kMaxOutsideHeaderBytes,
                                .header_depth = 3};  // a key with its x5c (RFC 7517 section 4.7)
  const auto token = parse_token(text, kLimits);
  if (!token) {
    return refuse("EAR_FORMAT", token.error().detail);
  }
  constexpr auto kHeader = std::to_array<std::string_view>({"alg", "kid", "typ", "jwk", "x5c"});
  for (const auto& [name, value] : token->header.items()) {
    if (std::ranges::find(kHeader, std::string_view(name)) == kHeader.end()) {
      return refuse("EAR_FORMAT", "the header has a member that is not understood: " + name);
    }
  }
  if (token->header.value("alg", Json()) != verifier.algorithm) {
    return refuse("EAR_ALG", "the token is signed with another algorithm");
  }
  const Json kid = token->header.value("kid", Json());
  const auto key = std::ranges::find_if(verifier.keys, [&](const OutsideVerifier::Key& own) {
    return kid.is_null() ? verifier.keys.size() == 1 : kid == own.kid;
  });
  if (key == verifier.keys.end()) {
    return refuse("EAR_KEY", "no key of the verifier has the token's kid");
  }
  if (!verify_ecdsa(*token, key->key)) {
    return refuse("EAR_SIGNATURE", "the signature of the token does not verify");
  }
  auto claims = claims_of(*token);
  if (!claims) {
    return refuse("EAR_FORMAT", claims.error().detail);
  }
  return *std::move(claims);
}

// --- whose result it is, and of when

bool is_text(const Json& claims, const char* name, std::string_view value) {
  const auto found = claims.find(name);
  return found != claims.end() && found->is_string() &&
         found->get_ref<const std::string&>() == value;
}

// RFC 7519 section 4.1.3: a token for others is not for us.
bool is_for(const Json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end() || audience.empty()) {
    return found == claims.end() && audience.empty();
  }
  return *found == audience ||
         (found->is_array() && std::ranges::find(*found, Json(audience)) != found->end());
}

Outcome check_origin(const Json& claims, const OutsideVerifier& verifier) {
  if (!is_text(claims, "eat_profile", verifier.profile)) {
    return refuse("EAR_PROFILE", "the token is of another profile");
  }
  if (!is_text(claims, "iss", verifier.issuer)) {
    return refuse("EAR_ISSUER", "the token is from another issuer");
  }
  if (!is_for(claims, verifier.audience)) {
    return refuse("EAR_AUDIENCE", "the token is for somebody else");
  }
  return {};
}

// NumericDate as a whole number of seconds. Nothing when the claim is something else.
std::optional<Timestamp> time_at(const Json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() > kLastSecond) {
    return std::nullopt;
  }
  return Timestamp(std::chrono::seconds(found->get<std::uint64_t>()));
}

Checked<Timestamp> check_times(const Json& claims, const OutsideVerifier& verifier, Timestamp now) {
  const auto issued = time_at(claims, "iat");
  const auto begins = claims.contains("nbf") ? time_at(claims, "nbf") : issued;
  const auto expires = claims.contains("exp") ? time_at(claims, "exp") : issued;
  if (!issued || !begins || !expires) {
    return refuse("EAR_FORMAT", "iat, and exp and nbf where they are, are whole seconds");
  }
  if (*issued > now + kSkew || *begins > now + kSkew) {
    return refuse("EAR_NOT_YET_VALID", "the token is from the future");
  }
  Timestamp end = *issued + verifier.max_age;
  if (claims.contains("exp")) {
    end = std::min(end, *expires);
  }
  if (end <= now) {
    return refuse("EAR_EXPIRED", "the token is too old, or has expired");
  }
  return end;
}

// --- that it is about this node, now

std::optional<Bytes> bytes_of(const std::string& text) {
  if (auto bytes = hex_decode(text); bytes && !bytes->empty()) {
    return *std::move(bytes);
  }
  std::string padded = text;
  padded.append((4 - text.size() % 4) % 4, '=');
  auto bytes = base64_decode_any(padded);
  return bytes ? std::optional(*std::move(bytes)) : std::nullopt;
}

// The one challenge that the token is an answer to, as text: 32 bytes in hex or base64.
std::optional<Nonce> nonce_of(const Json& claims) {
  const auto found = claims.find("eat_nonce");
  if (found == claims.end()) {
    return std::nullopt;
  }
  const Json& one = found->is_array() && found->size() == 1 ? found->front() : *found;
  const auto bytes = one.is_string() ? bytes_of(one.get<std::string>()) : std::nullopt;
  Nonce nonce{};
  if (!bytes || bytes->size() != nonce.size()) {
    return std::nullopt;
  }
  std::ranges::copy(*bytes, nonce.begin());
  return nonce;
}

// The expected report data are a hash over domain, challenge, key and request, each of one length
// (schemas/evidence.h): who shows what leads there shows the challenge that we gave out. Evidence
// of a stage has no challenge, and its domain is not here.
bool answers_challenge(const Nonce& nonce, const EarEvidence& evidence,
                       const ReportDataBytes& expected) {
  return std::ranges::any_of(kChallengeDomains, [&](std::string_view domain) {
    return report_data_of(domain, {nonce, evidence.key, evidence.request}) == expected;
  });
}

// RFC 6901, for members of objects alone: which item of a list is meant is nothing to rely on.
const Json* claim_at(const Json& claims, std::string_view pointer) {
  const Json* at = &claims;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view written = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(written.size());
    std::string name;
    for (std::size_t i = 0; i < written.size(); ++i) {
      const bool escaped = written[i] == '~';
      i += escaped ? 1 : 0;
      name += !escaped ? written[i] : written[i] == '1' ? '/' : '~';
    }
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end()) {
      return nullptr;
    }
    at = &*found;
  }
  return at;
}

bool is_report_data(const Json* claim, const ReportDataBytes& expected) {
  const auto bytes =
      claim != nullptr && claim->is_string() ? bytes_of(claim->get<std::string>()) : std::nullopt;
  return bytes && std::ranges::equal(*bytes, expected);
}

// A key: JSON Web Key, SubjectPublicKeyInfo, or the SHA-256 of one.
bool is_key(const Json* claim, const Digest& expected) {
  if (claim != nullptr && claim->is_object()) {
    const auto key = ec_key_from_jwk(*claim);
    return key && sha256(key->der()) == expected;
  }
  const auto bytes =
      claim != nullptr && claim->is_string() ? bytes_of(claim->get<std::string>()) : std::nullopt;
  return bytes && (std::ranges::equal(*bytes, expected.bytes()) || sha256(*bytes) == expected);
}

Outcome check_binding(const Json& claims, const EarEvidence& evidence,
                      const OutsideVerifier& verifier, const ReportDataBytes& expected) {
  const auto nonce = nonce_of(claims);
  if (!nonce || !answers_challenge(*nonce, evidence, expected)) {
    return refuse("EAR_NONCE_MISMATCH", "the token answers no challenge of this service");
  }
  if (!verifier.report_data.empty() &&
      !is_report_data(claim_at(claims, verifier.report_data), expected)) {
    return refuse("EAR_BINDING_MISMATCH", "the token is about other report data");
  }
  if (!verifier.key.empty() && !is_key(claim_at(claims, verifier.key), evidence.key)) {
    return refuse("EAR_BINDING_MISMATCH", "the token is about another key");
  }
  return {};
}

// --- what it says

Tier tier_at(const Json& aspect) { return tier_of(aspect.get<int>()); }

// Of each aspect the worst value counts. What only some submodules claim is not claimed of the
// whole.
void join_aspects(const Json& vector, Json& aspects) {
  for (auto aspect = aspects.begin(); aspect != aspects.end();) {
    const auto other = vector.find(aspect.key());
    if (other == vector.end()) {
      aspect = aspects.erase(aspect);
      continue;
    }
    if (tier_at(*other) > tier_at(*aspect)) {
      *aspect = *other;
    }
    ++aspect;
  }
}

Checked<Tier> read_submod(const std::string& name, const Json& submod, const Names& names,
                          EarVerdict& verdict) {
  if (!submod.is_object() || submod.contains(names.other_status) ||
      submod.contains(names.other_vector)) {
    return refuse("EAR_PROFILE", "a submodule has names of another profile: " + name);
  }
  const auto status = tier_from(submod.value(names.status, Json()));
  const Json vector = submod.value(names.vector, Json::object());
  const auto worst = worst_claim(vector);
  if (!status || !worst) {
    return refuse("EAR_STATUS_UNKNOWN", "a submodule is of no known tier: " + name);
  }
  const auto counted = counted_tier(*status, *worst);
  if (!counted) {
    return refuse("EAR_STATUS_INCONSISTENT", "a submodule is better than an aspect of it: " + name);
  }
  const bool first = verdict.submods.empty();
  verdict.submods[name] = {{"status", tier_name(*counted)}, {"aspects", vector}};
  if (first) {
    verdict.aspects = vector;
  } else {
    join_aspects(vector, verdict.aspects);
  }
  return *counted;
}

Outcome check_status(const Json& claims, const OutsideVerifier& verifier, EarVerdict& verdict) {
  const Names& names = verifier.names == EarNames::kUnderscores ? kUnderscores : kDots;
  const Json submods = claims.value("submods", Json());
  if (claims.contains(names.other_status) || claims.contains(names.other_vector)) {
    return refuse("EAR_PROFILE", "the token has names of another profile");
  }
  for (const std::string& name : verifier.submods) {
    if (!submods.is_object() || !submods.contains(name)) {
      return refuse("EAR_SUBMOD_MISSING", "the token says nothing of " + name);
    }
  }
  Tier worst = Tier::kAffirming;
  bool unknown = false;  // a warning elsewhere hides no submodule that nobody could appraise
  for (const auto& [name, submod] : submods.items()) {
    const auto tier = read_submod(name, submod, names, verdict);
    ASSAY_EAR_TRY(tier);
    worst = std::max(worst, *tier);
    unknown = unknown || *tier == Tier::kNone;
  }
  // A status of the whole is optional.
  if (claims.contains(names.status)) {
    const auto overall = tier_from(claims.value(names.status, Json()));
    if (!overall) {
      return refuse("EAR_STATUS_UNKNOWN", "the overall status is of no known tier");
    }
    if (*overall != worst) {
      return refuse("EAR_STATUS_INCONSISTENT", "the overall status is not the worst submodule's");
    }
  }
  verdict.status = tier_name(worst);
  const bool accepted =
      worst == Tier::kAffirming || (worst == Tier::kWarning && verifier.accept_warning);
  if (!accepted) {
    return refuse("EAR_STATUS_NOT_ACCEPTED:" + verdict.status, "the verifier does not affirm");
  }
  if (unknown) {
    return refuse("EAR_STATUS_NOT_ACCEPTED:" + std::string(tier_name(Tier::kNone)),
                  "the verifier knows nothing of a submodule");
  }
  return {};
}

Outcome read_platform(const Json& claims, const OutsideVerifier& verifier, EarVerdict& verdict) {
  if (verifier.platform.empty()) {
    return {};
  }
  constexpr std::size_t kMaxPlatform = 64;
  const Json* claim = claim_at(claims, verifier.platform);
  const auto bytes =
      claim != nullptr && claim->is_string() ? bytes_of(claim->get<std::string>()) : std::nullopt;
  if (!bytes || bytes->empty() || bytes->size() > kMaxPlatform) {
    return refuse("EAR_FORMAT", "the token names no platform");
  }
  verdict.platform = *bytes;
  return {};
}

Outcome verify_all(const EarEvidence& evidence, const OutsideVerifier& verifier,
                   const ReportDataBytes& expected, Timestamp now, EarVerdict& verdict) {
  const auto claims = verified_claims(evidence.token, verifier);
  ASSAY_EAR_TRY(claims);
  ASSAY_EAR_TRY(check_origin(*claims, verifier));
  const auto end = check_times(*claims, verifier, now);
  ASSAY_EAR_TRY(end);
  verdict.valid_until = *end;
  ASSAY_EAR_TRY(check_binding(*claims, evidence, verifier, expected));
  ASSAY_EAR_TRY(read_platform(*claims, verifier, verdict));
  return check_status(*claims, verifier, verdict);
}

}  // namespace

EarVerdict verify_outside_ear(const EarEvidence& evidence, const OutsideVerifier& verifier,
                              const ReportDataBytes& expected, Timestamp now) {
  EarVerdict verdict;
  if (auto outcome = verify_all(evidence, verifier, expected, now, verdict); !outcome) {
    verdict.error = std::move(outcome.error().error);
    verdict.detail = std::move(outcome.error().detail);
  }
  return verdict;
}

}  // namespace assay::attestation
