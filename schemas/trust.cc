// SPDX-License-Identifier: Apache-2.0
// Keys, principals, appraisals and changes of trust: shape by trusted-key, principal, appraisal,
// trust-change and bootstrap.schema.json. The one decision whether a key counts is check_grant.
#include "schemas/trust.h"

#include <algorithm>
#include <array>
#include <set>

#include "schemas/core/sha.h"
#include "schemas/members.h"
#include "schemas/statement.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::array<std::pair<CredentialKind, std::string_view>, 2> kCredentialKinds = {{
    {CredentialKind::kToken, "token"},
    {CredentialKind::kClientCertificate, "client-certificate"},
}};

std::string_view name(CredentialKind kind) {
  return kind == CredentialKind::kToken ? kCredentialKinds[0].second : kCredentialKinds[1].second;
}

bool role_covers(const SignerRole& role, const SigningContext& context) {
  if (!namespace_covers(role.name_space, context.name)) {
    return false;
  }
  if (context.purpose == KeyPurpose::kPublisher) {
    return true;
  }
  return (role.stage == "*" || role.stage == context.stage) &&
         role.predicate_type == context.predicate_type;
}

Json roles_to_json(const std::vector<SignerRole>& roles) {
  Json out = Json::array();
  for (const SignerRole& role : roles) {
    out.push_back({{"stage", role.stage},
                   {"predicate_type", role.predicate_type},
                   {"namespace", role.name_space}});
  }
  return out;
}

// --- keys, after validation

Result<std::optional<Revocation>> read_revocation(const Json& json) {
  const auto revoked = json.find("revoked");
  if (revoked == json.end()) {
    return std::optional<Revocation>();
  }
  auto at = members::time(*revoked, "at");
  if (!at) {
    return members::under("/revoked", std::move(at).error());
  }
  return Revocation{*at, members::text(*revoked, "reason")};
}

Result<TrustedKey> read_key(const Json& json) {
  auto der = base64_decode(members::text(json, "public_key"));
  if (!der) {
    return members::under("/public_key", std::move(der).error());
  }
  const KeyId id(sha256(*der));
  if (json.contains("id") && members::text(json, "id") != id.text()) {
    return fail(ErrorCode::kSchemaViolation, "the id is not the SHA-256 of the public key", "/id");
  }
  ASSAY_ASSIGN(const SignatureAlgorithm algorithm,
               signature_algorithm_from(members::text(json, "algorithm")));
  ASSAY_ASSIGN(const KeyPurpose purpose, key_purpose_from(members::text(json, "purpose")));
  ASSAY_ASSIGN(const Timestamp not_before, members::time(json, "not_before"));
  ASSAY_ASSIGN(const Timestamp not_after, members::time(json, "not_after"));
  ASSAY_ASSIGN(std::optional<Revocation> revoked, read_revocation(json));
  if (not_after < not_before) {
    return fail(ErrorCode::kSchemaViolation, "the key ends before it begins", "/not_after");
  }
  TrustedKey key{
      id, algorithm,  *std::move(der), purpose,           members::text(json, "identity"),
      {}, not_before, not_after,       std::move(revoked)};
  const Json none = Json::array();
  for (const Json& role : members::child(json, "roles", none)) {
    key.roles.push_back({members::text(role, "stage"), members::text(role, "predicate_type"),
                         members::text(role, "namespace")});
  }
  return key;
}

// --- principals, after validation

Result<Credential> read_credential(const Json& json) {
  const std::string kind = members::text(json, "kind");
  const bool token = kind == name(CredentialKind::kToken);
  ASSAY_ASSIGN(Digest digest,
               Digest::from_hex(HashAlgorithm::kSha256, members::text(json, "sha256")));
  return Credential{token ? CredentialKind::kToken : CredentialKind::kClientCertificate,
                    std::move(digest)};
}

Result<Principal> read_principal(const Json& json) {
  Principal principal;
  principal.name = members::text(json, "name");
  for (const std::string& role : members::texts(json, "roles")) {
    ASSAY_ASSIGN(const AccessRole value, access_role_from(role));
    principal.roles.insert(value);
  }
  const Json none = Json::array();
  for (const Json& item : members::child(json, "credentials", none)) {
    ASSAY_ASSIGN(Credential credential, read_credential(item));
    principal.credentials.push_back(std::move(credential));
  }
  if (json.contains("not_after")) {
    ASSAY_ASSIGN(principal.not_after, members::time(json, "not_after"));
  }
  return principal;
}

// --- appraisals, after validation

Result<Appraisal> read_appraisal(const Json& json) {
  Appraisal appraisal;
  appraisal.evidence_type = members::text(json, "evidence_type");
  const Json none = Json::object();
  appraisal.policy = members::child(json, "policy", none);
  for (const std::string& anchor : members::texts(json, "dangerous_anchors")) {
    auto der = base64_decode(anchor);
    if (!der) {
      return members::under(
          "/dangerous_anchors/" + std::to_string(appraisal.dangerous_anchors.size()),
          std::move(der).error());
    }
    appraisal.dangerous_anchors.push_back(*std::move(der));
  }
  appraisal.dangerous_allow_missing_reference_values =
      json.value("dangerous_allow_missing_reference_values", false);
  appraisal.stage = members::text(json, "stage");
  return appraisal;
}

// --- changes, after validation

Json to_json(const TrustOperation& operation) {
  if (const auto* add = std::get_if<AddKey>(&operation)) {
    return {{"add_key", to_json(add->key)}};
  }
  if (const auto* revoke = std::get_if<RevokeKey>(&operation)) {
    return {{"revoke_key", {{"key", revoke->key.text()}, {"reason", revoke->reason}}}};
  }
  if (const auto* put = std::get_if<PutPrincipal>(&operation)) {
    return {{"put_principal", to_json(put->principal)}};
  }
  if (const auto* put = std::get_if<PutAppraisal>(&operation)) {
    return {{"put_appraisal", to_json(put->appraisal)}};
  }
  if (const auto* revoke = std::get_if<RevokeNode>(&operation)) {
    return {{"revoke_node", {{"node", revoke->node}, {"reason", revoke->reason}}}};
  }
  if (const auto* put = std::get_if<PutRegistration>(&operation)) {
    return {{"put_registration", to_json(put->registration)}};
  }
  if (const auto* remove = std::get_if<RemoveRegistration>(&operation)) {
    return {{"remove_registration", {{"id", remove->id}}}};
  }
  if (const auto* withdraw = std::get_if<WithdrawStatement>(&operation)) {
    return {{"withdraw_statement", to_json(withdraw->withdrawal)}};
  }
  if (const auto* put = std::get_if<PutReferenceValues>(&operation)) {
    return {{"put_reference_values", to_json(*put)}};
  }
  if (const auto* remove = std::get_if<RemoveReferenceValues>(&operation)) {
    return {{"remove_reference_values", to_json(*remove)}};
  }
  return {{"remove_principal", {{"name", std::get<RemovePrincipal>(operation).name}}}};
}

Result<TrustOperation> read_reference_operation(const Json& json) {
  const auto put = json.find("put_reference_values");
  if (put == json.end()) {
    return read_remove_reference_values(json["remove_reference_values"]);
  }
  auto values = read_put_reference_values(*put);
  if (!values) {
    return members::under("/put_reference_values", std::move(values).error());
  }
  return *std::move(values);
}

Result<TrustOperation> read_operation(const Json& json) {
  if (const auto add = json.find("add_key"); add != json.end()) {
    auto key = read_key(*add);
    if (!key) {
      return members::under("/add_key", std::move(key).error());
    }
    return AddKey{*std::move(key)};
  }
  if (const auto revoke = json.find("revoke_key"); revoke != json.end()) {
    auto key = KeyId::parse(members::text(*revoke, "key"));
    if (!key) {
      return members::under("/revoke_key/key", std::move(key).error());
    }
    return RevokeKey{*std::move(key), members::text(*revoke, "reason")};
  }
  if (const auto put = json.find("put_principal"); put != json.end()) {
    auto principal = read_principal(*put);
    if (!principal) {
      return members::under("/put_principal", std::move(principal).error());
    }
    return PutPrincipal{*std::move(principal)};
  }
  if (const auto put = json.find("put_appraisal"); put != json.end()) {
    auto appraisal = read_appraisal(*put);
    if (!appraisal) {
      return members::under("/put_appraisal", std::move(appraisal).error());
    }
    return PutAppraisal{*std::move(appraisal)};
  }
  if (const auto revoke = json.find("revoke_node"); revoke != json.end()) {
    return RevokeNode{members::text(*revoke, "node"), members::text(*revoke, "reason")};
  }
  if (const auto put = json.find("put_registration"); put != json.end()) {
    auto registration = read_registration(*put);
    if (!registration) {
      return members::under("/put_registration", std::move(registration).error());
    }
    return PutRegistration{*std::move(registration)};
  }
  if (const auto remove = json.find("remove_registration"); remove != json.end()) {
    return RemoveRegistration{members::text(*remove, "id")};
  }
  if (const auto withdraw = json.find("withdraw_statement"); withdraw != json.end()) {
    auto withdrawal = read_withdrawal(*withdraw);
    if (!withdrawal) {
      return members::under("/withdraw_statement", std::move(withdrawal).error());
    }
    return WithdrawStatement{*std::move(withdrawal)};
  }
  if (json.contains("put_reference_values") || json.contains("remove_reference_values")) {
    return read_reference_operation(json);
  }
  const Json none = Json::object();
  return RemovePrincipal{members::text(members::child(json, "remove_principal", none), "name")};
}

// Refuses a second use of a key id, a principal's name, a credential, an evidence type or the id of
// a registration in one document.
class Uniqueness {
 public:
  Status add(const TrustedKey& key, const std::string& where) {
    return keys_.insert(key.id).second ? Status() : duplicate("key", where);
  }
  Status add(const Principal& principal, const std::string& where) {
    if (!names_.insert(principal.name).second) {
      return duplicate("principal", where);
    }
    for (const Credential& credential : principal.credentials) {
      if (!credentials_.emplace(credential.kind, credential.sha256).second) {
        return duplicate("credential", where + "/credentials");
      }
    }
    return {};
  }
  Status add(const Appraisal& appraisal, const std::string& where) {
    return appraisals_.insert(appraisal_name(appraisal.evidence_type, appraisal.stage)).second
               ? Status()
               : duplicate("appraisal", where);
  }
  Status add(const Registration& registration, const std::string& where) {
    return registrations_.insert(registration.id).second ? Status()
                                                         : duplicate("registration", where);
  }

 private:
  static Status duplicate(const std::string& what, const std::string& where) {
    return fail(ErrorCode::kSchemaViolation, "the document has the same " + what + " twice", where);
  }
  std::set<KeyId> keys_;
  std::set<std::string> names_;
  std::set<std::pair<CredentialKind, Digest>> credentials_;
  std::set<std::string> appraisals_;
  std::set<std::string> registrations_;
};

}  // namespace

Status check_grant(const TrustedKey& key, const SigningContext& context, Timestamp signed_at,
                   Timestamp now) {
  if (key.purpose != context.purpose) {
    return fail(ErrorCode::kWrongPurpose, "a " + std::string(name(key.purpose)) +
                                              " key does not count here; a " +
                                              std::string(name(context.purpose)) + " key does");
  }
  const bool by_role =
      context.purpose == KeyPurpose::kPublisher || context.purpose == KeyPurpose::kSigner;
  if (by_role && std::none_of(key.roles.begin(), key.roles.end(),
                              [&](const SignerRole& role) { return role_covers(role, context); })) {
    return fail(ErrorCode::kRoleNotGranted,
                "the key has no role for this stage, predicate type and model name");
  }
  if (key.revoked && key.revoked->at <= now) {
    return fail(ErrorCode::kKeyRevoked, "the key was revoked at " + to_rfc3339(key.revoked->at));
  }
  if (signed_at < key.not_before) {
    return fail(ErrorCode::kKeyNotYetValid, "the key is valid from " + to_rfc3339(key.not_before));
  }
  if (signed_at > key.not_after) {
    return fail(ErrorCode::kKeyExpired, "the key was valid until " + to_rfc3339(key.not_after));
  }
  return {};
}

Json to_json(const TrustedKey& key) {
  Json json = {{"id", key.id.text()},
               {"algorithm", name(key.algorithm)},
               {"public_key", base64_encode(key.public_key)},
               {"purpose", name(key.purpose)},
               {"identity", key.identity},
               {"roles", roles_to_json(key.roles)},
               {"not_before", to_rfc3339(key.not_before)},
               {"not_after", to_rfc3339(key.not_after)}};
  if (key.revoked) {
    json["revoked"] = {{"at", to_rfc3339(key.revoked->at)}, {"reason", key.revoked->reason}};
  }
  return json;
}

Result<TrustedKey> trusted_key_from_json(const Json& json) {
  ASSAY_TRY(validate("trusted-key", json));
  return read_key(json);
}

Json to_json(const Principal& principal) {
  Json roles = Json::array();
  for (const AccessRole role : principal.roles) {
    roles.push_back(name(role));
  }
  Json credentials = Json::array();
  for (const Credential& credential : principal.credentials) {
    credentials.push_back({{"kind", name(credential.kind)}, {"sha256", credential.sha256.hex()}});
  }
  Json json = {{"name", principal.name},
               {"roles", std::move(roles)},
               {"credentials", std::move(credentials)}};
  if (principal.not_after) {
    json["not_after"] = to_rfc3339(*principal.not_after);
  }
  return json;
}

Result<Principal> principal_from_json(const Json& json) {
  ASSAY_TRY(validate("principal", json));
  return read_principal(json);
}

std::string appraisal_name(std::string_view evidence_type, std::string_view stage) {
  std::string text(evidence_type);
  return stage.empty() ? text : text.append("/").append(stage);
}

Json to_json(const Appraisal& appraisal) {
  Json json = {{"evidence_type", appraisal.evidence_type}, {"policy", appraisal.policy}};
  for (const Bytes& anchor : appraisal.dangerous_anchors) {
    json["dangerous_anchors"].push_back(base64_encode(anchor));
  }
  if (!appraisal.stage.empty()) {
    json["stage"] = appraisal.stage;
  }
  if (appraisal.dangerous_allow_missing_reference_values) {
    json["dangerous_allow_missing_reference_values"] = true;
  }
  return json;
}

Result<std::string> appraisal_in_full(const Appraisal& appraisal) {
  Json json = to_json(appraisal);
  for (const ImportedSet& set : appraisal.imported) {
    json["imported"].push_back(to_json(set));
  }
  if (!appraisal.constrained.empty()) {
    json["constrained"] = appraisal.constrained;
  }
  return canonical_json(json);
}

Result<Appraisal> appraisal_from_json(const Json& json) {
  ASSAY_TRY(validate("appraisal", json));
  return read_appraisal(json);
}

Json to_json(const TrustChange& change) {
  Json operations = Json::array();
  for (const TrustOperation& operation : change.operations) {
    operations.push_back(to_json(operation));
  }
  return {{"sequence", change.sequence}, {"operations", std::move(operations)}};
}

Result<TrustChange> parse_trust_change(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload));
  ASSAY_TRY(validate("trust-change", json));
  TrustChange change{members::number(json, "sequence"), {}};
  Uniqueness unique;
  for (const Json& item : json["operations"]) {
    const std::string where = "/operations/" + std::to_string(change.operations.size());
    auto operation = read_operation(item);
    if (!operation) {
      return members::under(where, std::move(operation).error());
    }
    if (const auto* add = std::get_if<AddKey>(&*operation)) {
      ASSAY_TRY(unique.add(add->key, where + "/add_key"));
    } else if (const auto* put = std::get_if<PutPrincipal>(&*operation)) {
      ASSAY_TRY(unique.add(put->principal, where + "/put_principal"));
    } else if (const auto* how = std::get_if<PutAppraisal>(&*operation)) {
      ASSAY_TRY(unique.add(how->appraisal, where + "/put_appraisal"));
    } else if (const auto* node = std::get_if<PutRegistration>(&*operation)) {
      ASSAY_TRY(unique.add(node->registration, where + "/put_registration"));
    }
    change.operations.push_back(*std::move(operation));
  }
  return change;
}

Json to_json(const Bootstrap& bootstrap) {
  Json keys = Json::array();
  for (const TrustedKey& key : bootstrap.keys) {
    keys.push_back(to_json(key));
  }
  Json principals = Json::array();
  for (const Principal& principal : bootstrap.principals) {
    principals.push_back(to_json(principal));
  }
  Json json = {{"keys", std::move(keys)}, {"principals", std::move(principals)}};
  for (const Appraisal& appraisal : bootstrap.appraisals) {
    json["appraisals"].push_back(to_json(appraisal));
  }
  for (const Registration& registration : bootstrap.registrations) {
    json["registrations"].push_back(to_json(registration));
  }
  return json;
}

Result<Bootstrap> parse_bootstrap(ByteView document) {
  ASSAY_ASSIGN(const Json json, parse_json(document));
  ASSAY_TRY(validate("bootstrap", json));
  Bootstrap bootstrap;
  Uniqueness unique;
  for (const Json& item : json["keys"]) {
    const std::string where = "/keys/" + std::to_string(bootstrap.keys.size());
    auto key = read_key(item);
    if (!key) {
      return members::under(where, std::move(key).error());
    }
    ASSAY_TRY(unique.add(*key, where));
    bootstrap.keys.push_back(*std::move(key));
  }
  for (const Json& item : json["principals"]) {
    const std::string where = "/principals/" + std::to_string(bootstrap.principals.size());
    auto principal = read_principal(item);
    if (!principal) {
      return members::under(where, std::move(principal).error());
    }
    ASSAY_TRY(unique.add(*principal, where));
    bootstrap.principals.push_back(*std::move(principal));
  }
  const Json none = Json::array();
  for (const Json& item : members::child(json, "appraisals", none)) {
    const std::string where = "/appraisals/" + std::to_string(bootstrap.appraisals.size());
    auto appraisal = read_appraisal(item);
    if (!appraisal) {
      return members::under(where, std::move(appraisal).error());
    }
    ASSAY_TRY(unique.add(*appraisal, where));
    bootstrap.appraisals.push_back(*std::move(appraisal));
  }
  for (const Json& item : members::child(json, "registrations", none)) {
    const std::string where = "/registrations/" + std::to_string(bootstrap.registrations.size());
    auto registration = read_registration(item);
    if (!registration) {
      return members::under(where, std::move(registration).error());
    }
    ASSAY_TRY(unique.add(*registration, where));
    bootstrap.registrations.push_back(*std::move(registration));
  }
  return bootstrap;
}

}  // namespace assay
