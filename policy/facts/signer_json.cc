// SPDX-License-Identifier: Apache-2.0
#include "policy/facts/signer_json.h"

#include <algorithm>
#include <tuple>

#include "policy/facts/json_reader.h"

namespace assay::policy {
namespace {

using reading::check_members;
using reading::Reader;
using reading::text_of;

std::vector<SignerRole> in_order(std::vector<SignerRole> roles) {
  std::sort(roles.begin(), roles.end(), [](const SignerRole& a, const SignerRole& b) {
    return std::tie(a.predicate_type, a.stage, a.name_space) <
           std::tie(b.predicate_type, b.stage, b.name_space);
  });
  return roles;
}

Result<SignerRole> role_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"stage", "predicate_type", "namespace"}));
  const Reader in{json, where};
  SignerRole role;
  ASSAY_ASSIGN(role.stage, in.text("stage"));
  ASSAY_ASSIGN(role.predicate_type, in.text("predicate_type"));
  ASSAY_ASSIGN(role.name_space, in.text("namespace"));
  return role;
}

}  // namespace

Json to_json(const Revocation& revoked) {
  return {{"at", to_rfc3339(revoked.at)}, {"reason", revoked.reason}};
}

Json to_json(const SignerFact& signer) {
  const TrustedKey& key = signer.key;
  Json json = {{"key", key.id.text()},
               {"algorithm", name(key.algorithm)},
               {"purpose", name(key.purpose)},
               {"identity", key.identity},
               {"roles", Json::array()},
               {"not_before", to_rfc3339(key.not_before)},
               {"not_after", to_rfc3339(key.not_after)},
               {"signed_at", to_rfc3339(signer.signed_at)}};
  for (const SignerRole& role : in_order(key.roles)) {
    json["roles"].push_back({{"stage", role.stage},
                             {"predicate_type", role.predicate_type},
                             {"namespace", role.name_space}});
  }
  if (key.revoked) {
    json["revoked"] = to_json(*key.revoked);
  }
  return json;
}

Json to_json(const WithdrawnFact& withdrawn) {
  std::vector<std::string> by = withdrawn.by;
  std::sort(by.begin(), by.end());
  Json json = {{"reason", withdrawn.reason}, {"since", to_rfc3339(withdrawn.since)}, {"by", by}};
  if (!withdrawn.whole) {
    json["signers_only"] = true;
  }
  return json;
}

Result<Revocation> revocation_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"at", "reason"}));
  const Reader in{json, where};
  Revocation revocation;
  ASSAY_ASSIGN(revocation.at, in.time("at"));
  ASSAY_ASSIGN(revocation.reason, in.text("reason"));
  return revocation;
}

Result<SignerFact> signer_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"key", "algorithm", "purpose", "identity", "roles", "not_before", "not_after", "signed_at"},
      {"revoked"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(KeyId id, in.parsed("key", KeyId::parse));
  ASSAY_ASSIGN(const SignatureAlgorithm algorithm,
               in.parsed("algorithm", signature_algorithm_from));
  ASSAY_ASSIGN(const KeyPurpose purpose, in.parsed("purpose", key_purpose_from));
  ASSAY_ASSIGN(std::string identity, in.text("identity"));
  ASSAY_ASSIGN(auto roles, in.list<SignerRole>("roles", role_from_json));
  ASSAY_ASSIGN(const Timestamp not_before, in.time("not_before"));
  ASSAY_ASSIGN(const Timestamp not_after, in.time("not_after"));
  ASSAY_ASSIGN(const Timestamp signed_at, in.time("signed_at"));
  SignerFact signer{{std::move(id),
                     algorithm,
                     {},
                     purpose,
                     std::move(identity),
                     std::move(roles),
                     not_before,
                     not_after,
                     std::nullopt},
                    signed_at};
  if (json.contains("revoked")) {
    ASSAY_ASSIGN(signer.key.revoked, revocation_from_json(json["revoked"], in.place("revoked")));
  }
  return signer;
}

Result<WithdrawnFact> withdrawn_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"reason", "since", "by"}, {"signers_only"}));
  const Reader in{json, where};
  WithdrawnFact withdrawn;
  ASSAY_ASSIGN(withdrawn.reason, in.text("reason"));
  ASSAY_ASSIGN(withdrawn.since, in.time("since"));
  ASSAY_ASSIGN(withdrawn.by, in.list<std::string>("by", text_of));
  if (json.contains("signers_only")) {
    ASSAY_ASSIGN(const bool signers_only, in.flag("signers_only"));
    withdrawn.whole = !signers_only;
  }
  return withdrawn;
}

}  // namespace assay::policy
