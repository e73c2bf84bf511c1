// SPDX-License-Identifier: Apache-2.0
// The appraisal policy of outside verifiers, and what a node hands in. What a token comes to:
// outside_ear.cc.
#include "attestation/outside_verifier.h"

#include <algorithm>
#include <array>
#include <set>

#include "attestation/jwks.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kMaxKeys = 16;
constexpr std::size_t kMaxSubmods = 16;
constexpr std::size_t kMaxText = 512;
constexpr std::int64_t kLongestAge = 3600;  // an hour: results age quickly

struct Profile {
  std::string_view name;
  EarNames names;
};
constexpr std::array<Profile, 3> kProfiles = {{
    {"tag:ietf.org,2026:rats/ear#04", EarNames::kUnderscores},
    {"tag:github.com,2023:veraison/ear", EarNames::kDots},
    {"tag:github.com,2024:confidential-containers/Trustee", EarNames::kDots},
}};

std::unexpected<Error> violation(std::string why, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), std::move(where));
}

// A text that must be there, unless it may be left out.
Status read_text(const Json& json, const char* name, bool needed, std::string& out) {
  const auto found = json.find(name);
  if (found == json.end() && !needed) {
    return {};
  }
  if (found == json.end() || !found->is_string() || found->get_ref<const std::string&>().empty() ||
      found->get_ref<const std::string&>().size() > kMaxText) {
    return violation("a text of 1 to 512 bytes is needed", "/" + std::string(name));
  }
  out = found->get<std::string>();
  return {};
}

// RFC 6901. A pointer to the whole token would be compared with nothing.
Status read_pointer(const Json& json, const char* name, std::string& out) {
  ASSAY_TRY(read_text(json, name, false, out));
  bool well_formed = out.empty() || out.front() == '/';
  for (std::size_t at = out.find('~'); at != std::string::npos; at = out.find('~', at + 1)) {
    const char escaped = at + 1 < out.size() ? out[at + 1] : '\0';
    well_formed = well_formed && (escaped == '0' || escaped == '1');
  }
  return well_formed ? Status() : violation("write a JSON Pointer", "/" + std::string(name));
}

Status read_profile(const Json& json, OutsideVerifier& verifier) {
  ASSAY_TRY(read_text(json, "profile", true, verifier.profile));
  const auto* found = std::ranges::find(kProfiles, verifier.profile, &Profile::name);
  if (found == kProfiles.end()) {
    return violation("no such profile of results is known", "/profile");
  }
  verifier.names = found->names;
  return {};
}

Status read_key(const Json& json, const std::string& where, OutsideVerifier& verifier) {
  auto key = ec_key_from_jwk(json);
  if (!key) {
    return fail(key.error().code, key.error().detail, where);
  }
  if (jws_algorithm(*key) != verifier.algorithm) {
    return fail(ErrorCode::kUnsupportedKey, "the key is not of the algorithm", where);
  }
  const auto kid = json.find("kid");
  if (kid != json.end() && (!kid->is_string() || kid->get_ref<const std::string&>().empty())) {
    return violation("a kid is a text", where + "/kid");
  }
  verifier.keys.push_back(
      {kid == json.end() ? std::string() : kid->get<std::string>(), *std::move(key)});
  return {};
}

Status read_keys(const Json& json, OutsideVerifier& verifier) {
  const auto set = json.find("jwks");
  if (set == json.end() || !set->is_object() || set->size() != 1 || !set->contains("keys") ||
      !(*set)["keys"].is_array() || (*set)["keys"].empty() || (*set)["keys"].size() > kMaxKeys) {
    return violation("a key set has keys, 1 to 16, and nothing else", "/jwks");
  }
  const Json& keys = (*set)["keys"];
  std::set<std::string> names;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string where = "/jwks/keys/" + std::to_string(i);
    ASSAY_TRY(read_key(keys[i], where, verifier));
    const std::string& kid = verifier.keys.back().kid;
    if (!names.insert(kid).second || (kid.empty() && keys.size() > 1)) {
      return violation("each of several keys has a kid of its own", where + "/kid");
    }
  }
  return {};
}

Status read_age(const Json& json, OutsideVerifier& verifier) {
  const auto found = json.find("max_age_seconds");
  if (found == json.end()) {
    return {};
  }
  if (!found->is_number_integer() || found->get<std::int64_t>() < 1 ||
      found->get<std::int64_t>() > kLongestAge) {
    return violation("a result counts for 1 to 3600 seconds", "/max_age_seconds");
  }
  verifier.max_age = std::chrono::seconds(found->get<std::int64_t>());
  return {};
}

Status read_submods(const Json& json, OutsideVerifier& verifier) {
  const auto list = json.find("submods");
  if (list == json.end() || !list->is_array() || list->empty() || list->size() > kMaxSubmods) {
    return violation("write the names of 1 to 16 submodules", "/submods");
  }
  for (const Json& name : *list) {
    if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
      return violation("a submodule has a name", "/submods");
    }
    verifier.submods.push_back(name.get<std::string>());
  }
  return {};
}

Status refuse_unknown(const Json& json) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"issuer", "audience", "profile", "algorithm", "jwks", "max_age_seconds", "submods",
       "accept_warning", "report_data", "key", "platform"});
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(kNames, name) == kNames.end()) {
      return fail(ErrorCode::kUnknownMember, "the appraisal policy has no such member", "/" + name);
    }
  }
  return {};
}

}  // namespace

Result<OutsideVerifier> parse_outside_verifier(const Json& json) {
  if (!json.is_object()) {
    return violation("an appraisal policy is a JSON object", "");
  }
  ASSAY_TRY(refuse_unknown(json));
  ASSAY_ASSIGN(const std::string key_set, canonical_json(json.value("jwks", Json())));
  OutsideVerifier verifier{.anchor = sha256(as_bytes(key_set))};
  ASSAY_TRY(read_text(json, "issuer", true, verifier.issuer));
  ASSAY_TRY(read_text(json, "audience", false, verifier.audience));
  ASSAY_TRY(read_profile(json, verifier));
  ASSAY_TRY(read_text(json, "algorithm", true, verifier.algorithm));
  ASSAY_TRY(read_keys(json, verifier));
  ASSAY_TRY(read_age(json, verifier));
  ASSAY_TRY(read_submods(json, verifier));
  ASSAY_TRY(read_pointer(json, "report_data", verifier.report_data));
  ASSAY_TRY(read_pointer(json, "key", verifier.key));
  ASSAY_TRY(read_pointer(json, "platform", verifier.platform));
  if (verifier.report_data.empty() && verifier.key.empty()) {
    return violation("name the claim that binds the machine: report_data or key", "/report_data");
  }
  if (json.contains("accept_warning")) {
    if (!json["accept_warning"].is_boolean()) {
      return violation("write true or false", "/accept_warning");
    }
    verifier.accept_warning = json["accept_warning"].get<bool>();
  }
  return verifier;
}

Json to_json(const EarEvidence& evidence) {
  return {
      {"ear", evidence.token}, {"key", evidence.key.hex()}, {"request", evidence.request.hex()}};
}

Result<EarEvidence> parse_ear_evidence(ByteView document) {
  constexpr JsonLimits kLimits{.max_bytes = kMaxOtherEvidenceBytes, .max_depth = 2};
  ASSAY_ASSIGN(const Json json, parse_json(document, kLimits));
  const auto is_text = [&](const char* name) {
    return json.contains(name) && json[name].is_string();
  };
  if (!json.is_object() || json.size() != 3 || !is_text("ear") || !is_text("key") ||
      !is_text("request")) {
    return violation("a result of another verifier comes with ear, key and request", "");
  }
  ASSAY_ASSIGN(const Digest key,
               Digest::from_hex(HashAlgorithm::kSha256, json["key"].get<std::string>()));
  ASSAY_ASSIGN(const Digest request,
               Digest::from_hex(HashAlgorithm::kSha256, json["request"].get<std::string>()));
  return EarEvidence{json["ear"].get<std::string>(), key, request};
}

}  // namespace assay::attestation
