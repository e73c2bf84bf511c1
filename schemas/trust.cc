// SPDX-License-Identifier: Apache-2.0
// Keys, principals, appraisals and changes of trust: shape by trusted-key, principal, appraisal,
// trust-change and bootstrap.schema.json. The one decision whether a key counts is check_grant.
#include "schemas/trust.h"

#include <algorithm>
#include <set>

#include "schemas/core/json_one_of.h"
#include "schemas/core/names.h"
#include "schemas/core/sha.h"
#include "schemas/document.h"
#include "schemas/statement.h"

namespace assay {

constexpr Names<CredentialKind, 2> kCredentialKinds = {
    {{{CredentialKind::kToken, "token"},
      {CredentialKind::kClientCertificate, "client-certificate"}}}};
// Found by json::named().
static std::string_view name(CredentialKind kind) { return kCredentialKinds.of(kind); }

namespace {

Result<CredentialKind> credential_kind_from(std::string_view text) {
  return kCredentialKinds.parse(text, "a credential is token or client-certificate",
                                ErrorCode::kSchemaViolation);
}

Json roles_to_json(const AccessRoles& roles) {
  Json json = Json::array();
  for (const AccessRole role : roles) {
    json.push_back(name(role));
  }
  return json;
}
Result<AccessRoles> roles_from_json(const Json& json) {
  ASSAY_ASSIGN(const auto names, json::get<std::vector<std::string>>(json));
  AccessRoles roles;
  for (const std::string& text : names) {
    ASSAY_ASSIGN(const AccessRole role, access_role_from(text));
    roles.insert(role);
  }
  return roles;
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
  Status add(const PutTrustedRoot& root, const std::string& where) {
    return trusted_roots_.insert(root.name).second ? Status() : duplicate("trusted root", where);
  }
  Status add(const Registration& registration, const std::string& where) {
    return registrations_.insert(registration.id).second ? Status()
                                                         : duplicate("registration", where);
  }

  template <typename T>
  Status add_all(const std::vector<T>& things, const std::string& where) {
    for (std::size_t i = 0; i < things.size(); ++i) {
      ASSAY_TRY(add(things[i], where + std::to_string(i)));
    }
    return {};
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
  std::set<std::string> trusted_roots_;
};

}  // namespace

bool is_stricter(const Revocation& after, const Revocation& before) {
  return before.since && (!after.since || *after.since < *before.since);
}

bool is_revoked(const TrustedKey& key, Timestamp signed_at) {
  return key.revoked && (!key.revoked->since || signed_at >= *key.revoked->since);
}

Result<KeyId> certificate_id(const CertificateIdentity& identity, KeyPurpose purpose) {
  ASSAY_ASSIGN(const std::string text,
               canonical_json({{"certificate", to_json(identity)}, {"purpose", name(purpose)}}));
  return KeyId(sha256(as_bytes(text)));
}

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
  if (is_revoked(key, signed_at) && key.revoked->at <= now) {
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

static auto members_of(json::As<SignerRole>) {
  using T = SignerRole;
  return std::tuple(json::always("stage", &T::stage),
                    json::always("predicate_type", &T::predicate_type),
                    json::always("namespace", &T::name_space));
}
static auto members_of(json::As<Revocation>) {
  return std::tuple(json::always("at", &Revocation::at),
                    json::always("reason", &Revocation::reason),
                    json::if_set("since", &Revocation::since));
}
Json to_json(const SignerRole& role) { return json::write(role); }
Result<SignerRole> read_json(json::As<SignerRole> /*type*/, const Json& json) {
  return json::read<SignerRole>(json);
}
Json to_json(const Revocation& revocation) { return json::write(revocation); }
Result<Revocation> read_json(json::As<Revocation> /*type*/, const Json& json) {
  return json::read<Revocation>(json);
}

static auto members_of(json::As<TrustedKey>) {
  using T = TrustedKey;
  return std::tuple(json::or_default("id", &T::id),
                    json::if_set("algorithm", &T::algorithm, json::named(signature_algorithm_from)),
                    json::if_set("public_key", &T::public_key),
                    json::if_set("certificate", &T::certificate),
                    json::always("purpose", &T::purpose, json::named(key_purpose_from)),
                    json::always("identity", &T::identity), json::or_default("roles", &T::roles),
                    json::always("not_before", &T::not_before),
                    json::always("not_after", &T::not_after), json::if_set("revoked", &T::revoked));
}
static TrustedKey start(json::As<TrustedKey>) {
  return {json::unread<KeyId>(), {}, {}, {}, {}, {}, {}, {}, {}};
}
// A change of trust, a policy or evidence of a node is never signed by certificate: whoever issues
// certificates would govern.
static Status check_form(const TrustedKey& key) {
  if (key.certificate ? key.algorithm || !key.public_key.empty()
                      : !key.algorithm || key.public_key.empty()) {
    return fail(ErrorCode::kSchemaViolation,
                "a trusted key has 'algorithm' and 'public_key', or 'certificate'");
  }
  if (key.certificate && key.purpose != KeyPurpose::kPublisher &&
      key.purpose != KeyPurpose::kSigner) {
    return fail(ErrorCode::kSchemaViolation,
                "an identity by certificate is a publisher or a signer; others need a key",
                "/purpose");
  }
  return {};
}
Json to_json(const TrustedKey& key) { return json::write(key); }
Result<TrustedKey> read_json(json::As<TrustedKey> /*type*/, const Json& json) {
  ASSAY_ASSIGN(TrustedKey key, json::read<TrustedKey>(json));
  ASSAY_TRY(check_form(key));
  ASSAY_ASSIGN(const KeyId id, key.certificate ? certificate_id(*key.certificate, key.purpose)
                                               : Result<KeyId>(sha256(key.public_key)));
  if (json.contains("id") && key.id != id) {
    return fail(ErrorCode::kSchemaViolation,
                "the id is not the SHA-256 of the public key, or of the identity", "/id");
  }
  key.id = id;
  if (key.not_after < key.not_before) {
    return fail(ErrorCode::kSchemaViolation, "the key ends before it begins", "/not_after");
  }
  return key;
}
Result<TrustedKey> trusted_key_from_json(const Json& json) {
  ASSAY_TRY(validate("trusted-key", json));
  return json::get<TrustedKey>(json);
}

static auto members_of(json::As<Credential>) {
  return std::tuple(json::always("kind", &Credential::kind, json::named(credential_kind_from)),
                    json::always("sha256", &Credential::sha256, document::kSha256Hex));
}
static Credential start(json::As<Credential>) { return {{}, json::unread<Digest>()}; }
static auto members_of(json::As<Principal>) {
  using T = Principal;
  return std::tuple(json::always("name", &T::name),
                    json::always("roles", &T::roles, json::by(roles_from_json, roles_to_json)),
                    json::or_default("credentials", &T::credentials),
                    json::if_set("not_after", &T::not_after));
}
Json to_json(const Principal& principal) { return json::write(principal); }
Result<Principal> read_json(json::As<Principal> /*type*/, const Json& json) {
  return json::read<Principal>(json);
}
Result<Principal> principal_from_json(const Json& json) {
  ASSAY_TRY(validate("principal", json));
  return json::read<Principal>(json);
}

static auto members_of(json::As<Appraisal>) {
  using T = Appraisal;
  return std::tuple(json::always("evidence_type", &T::evidence_type),
                    json::or_default("policy", &T::policy),
                    json::if_set("dangerous_anchors", &T::dangerous_anchors),
                    json::if_set("dangerous_allow_missing_reference_values",
                                 &T::dangerous_allow_missing_reference_values),
                    json::if_set("stage", &T::stage));
}
std::string appraisal_name(std::string_view evidence_type, std::string_view stage) {
  std::string text(evidence_type);
  return stage.empty() ? text : text.append("/").append(stage);
}
Json to_json(const Appraisal& appraisal) { return json::write(appraisal); }
Result<Appraisal> read_json(json::As<Appraisal> /*type*/, const Json& json) {
  return json::read<Appraisal>(json);
}
Result<Appraisal> appraisal_from_json(const Json& json) {
  ASSAY_TRY(validate("appraisal", json));
  return json::read<Appraisal>(json);
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

// --- changes

static auto members_of(json::As<RevokeKey>) {
  return std::tuple(json::always("key", &RevokeKey::key),
                    json::always("reason", &RevokeKey::reason),
                    json::if_set("since", &RevokeKey::since));
}
static RevokeKey start(json::As<RevokeKey>) { return {json::unread<KeyId>(), {}}; }
static auto members_of(json::As<RemovePrincipal>) {
  return std::tuple(json::always("name", &RemovePrincipal::name));
}
static auto members_of(json::As<RevokeNode>) {
  return std::tuple(json::always("node", &RevokeNode::node),
                    json::always("reason", &RevokeNode::reason));
}
static auto members_of(json::As<RemoveRegistration>) {
  return std::tuple(json::always("id", &RemoveRegistration::id));
}
static auto members_of(json::As<PutTrustedRoot>) {
  return std::tuple(json::always("name", &PutTrustedRoot::name),
                    json::always("document", &PutTrustedRoot::document));
}

constexpr auto kOperations = std::tuple(
    json::alternative("add_key", &AddKey::key), json::alternative<RevokeKey>("revoke_key"),
    json::alternative("put_principal", &PutPrincipal::principal),
    json::alternative<RemovePrincipal>("remove_principal"),
    json::alternative("put_appraisal", &PutAppraisal::appraisal),
    json::alternative<RevokeNode>("revoke_node"),
    json::alternative("put_registration", &PutRegistration::registration),
    json::alternative<RemoveRegistration>("remove_registration"),
    json::alternative("withdraw_statement", &WithdrawStatement::withdrawal),
    json::alternative<PutReferenceValues>("put_reference_values"),
    json::alternative<RemoveReferenceValues>("remove_reference_values"),
    json::alternative<PutTrustedRoot>("put_trusted_root"));

static auto members_of(json::As<TrustChange>) {
  const auto read = [](const Json& json) {
    return json::read_one<TrustOperation>(json, kOperations);
  };
  const auto write = [](const TrustOperation& one) { return json::write_one(one, kOperations); };
  return std::tuple(json::always("sequence", &TrustChange::sequence),
                    json::always("operations", &TrustChange::operations, json::each(read, write)));
}
static Status together(const TrustChange& change) {
  Uniqueness unique;
  for (std::size_t i = 0; i < change.operations.size(); ++i) {
    const std::string where = "/operations/" + std::to_string(i);
    const TrustOperation& operation = change.operations[i];
    if (const auto* add = std::get_if<AddKey>(&operation)) {
      ASSAY_TRY(unique.add(add->key, where + "/add_key"));
    } else if (const auto* put = std::get_if<PutPrincipal>(&operation)) {
      ASSAY_TRY(unique.add(put->principal, where + "/put_principal"));
    } else if (const auto* how = std::get_if<PutAppraisal>(&operation)) {
      ASSAY_TRY(unique.add(how->appraisal, where + "/put_appraisal"));
    } else if (const auto* node = std::get_if<PutRegistration>(&operation)) {
      ASSAY_TRY(unique.add(node->registration, where + "/put_registration"));
    } else if (const auto* root = std::get_if<PutTrustedRoot>(&operation)) {
      ASSAY_TRY(unique.add(*root, where + "/put_trusted_root"));
    }
  }
  return {};
}
Json to_json(const TrustChange& change) { return json::write(change); }
Result<TrustChange> parse_trust_change(ByteView payload) {
  return document::parse<TrustChange>(payload, "trust-change");
}

static auto members_of(json::As<Bootstrap>) {
  using T = Bootstrap;
  return std::tuple(json::always("keys", &T::keys), json::always("principals", &T::principals),
                    json::if_set("appraisals", &T::appraisals),
                    json::if_set("registrations", &T::registrations),
                    json::if_set("trusted_roots", &T::trusted_roots));
}
static Status together(const Bootstrap& bootstrap) {
  Uniqueness unique;
  ASSAY_TRY(unique.add_all(bootstrap.keys, "/keys/"));
  ASSAY_TRY(unique.add_all(bootstrap.principals, "/principals/"));
  ASSAY_TRY(unique.add_all(bootstrap.appraisals, "/appraisals/"));
  ASSAY_TRY(unique.add_all(bootstrap.registrations, "/registrations/"));
  return unique.add_all(bootstrap.trusted_roots, "/trusted_roots/");
}
Json to_json(const Bootstrap& bootstrap) { return json::write(bootstrap); }
Result<Bootstrap> parse_bootstrap(ByteView document) {
  return document::parse<Bootstrap>(document, "bootstrap");
}

}  // namespace assay
