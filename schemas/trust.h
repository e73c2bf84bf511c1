// SPDX-License-Identifier: Apache-2.0
// Trust: keys with their purpose and signer roles, and principals (callers of the service) with
// their access roles. After the bootstrap, only signed changes can alter them.
// Schemas: trust-change.schema.json, bootstrap.schema.json.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/certificate_identity.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/core/signer.h"
#include "schemas/reference_values.h"
#include "schemas/registration.h"
#include "schemas/roles.h"
#include "schemas/withdrawal.h"

namespace assay {

inline constexpr std::string_view kTrustChangePayloadType =
    "application/vnd.assay.trust-change+json";
// The number of different operator identities that must sign a change of trust.
inline constexpr std::size_t kTrustChangeThreshold = 2;

// About which statements a key of purpose signer may sign. A role covers a statement only when
// every part matches.
struct SignerRole {
  std::string stage;           // lifecycle stage, or "*"; predicates other than lifecycle need "*"
  std::string predicate_type;  // must be equal
  std::string name_space;      // pattern of model names, see namespace_covers()
  bool operator==(const SignerRole&) const = default;
};

struct Revocation {
  Timestamp at;
  std::string reason;
  // Signatures that were logged before this time count on. Absent: no signature counts any more.
  std::optional<Timestamp> since{};
  bool operator==(const Revocation&) const = default;
};

// A key, or an identity by certificate (`certificate` is set). Both have purpose, roles and
// validity.
struct TrustedKey {
  KeyId id;                                     // SHA-256 of public_key, or certificate_id()
  std::optional<SignatureAlgorithm> algorithm;  // absent for an identity by certificate
  Bytes public_key;  // SubjectPublicKeyInfo DER; empty for an identity by certificate
  KeyPurpose purpose;
  std::string identity;           // holder of the key; thresholds count identities
  std::vector<SignerRole> roles;  // used for signers; for publishers only name_space is used
  Timestamp not_before;
  Timestamp not_after;
  std::optional<Revocation> revoked;
  std::optional<CertificateIdentity> certificate{};
  bool operator==(const TrustedKey&) const = default;
};
// Returns the id of an identity by certificate with this purpose: SHA-256 of the canonical JSON
// {"certificate", "purpose"}.
[[nodiscard]] Result<KeyId> certificate_id(const CertificateIdentity& identity, KeyPurpose purpose);
// Returns whether `after` covers more signatures than `before`. A revocation may become stricter,
// and never milder.
[[nodiscard]] bool is_stricter(const Revocation& after, const Revocation& before);
// Returns whether `key` is revoked for a signature that was logged at `signed_at`, whenever that is
// asked.
[[nodiscard]] bool is_revoked(const TrustedKey& key, Timestamp signed_at);

// What a signature approves.
struct SigningContext {
  KeyPurpose purpose;
  std::string stage;           // empty when not a lifecycle statement
  std::string predicate_type;  // empty when not a statement
  std::string name;            // model name; empty when not about a model
};

// Decides whether a signature of `key` is valid in `context`; no other function decides this.
// `signed_at` is when the signature was logged, or `now` for a fresh signature. The key must be
// valid at `signed_at`, must not be revoked at `now` for signatures of that time, and must have the
// purpose in `context`. For
// publishers and signers a role must cover `context`. Errors: wrong-purpose; role-not-granted;
// key-not-yet-valid; key-expired; key-revoked.
[[nodiscard]] Status check_grant(const TrustedKey& key, const SigningContext& context,
                                 Timestamp signed_at, Timestamp now);

enum class CredentialKind : std::uint8_t { kToken = 1, kClientCertificate = 2 };

// How a principal authenticates: SHA-256 of a bearer token, or of the DER SubjectPublicKeyInfo of a
// client certificate. Tokens are 256-bit random values, so storing a plain hash is enough.
struct Credential {
  CredentialKind kind;
  Digest sha256;
  bool operator==(const Credential&) const = default;
};

struct Principal {
  std::string name;
  AccessRoles roles;
  std::vector<Credential> credentials;
  std::optional<Timestamp> not_after;
  bool operator==(const Principal&) const = default;
};

struct AddKey {
  TrustedKey key;
};
struct RevokeKey {
  KeyId key;
  std::string reason;
  std::optional<Timestamp> since{};  // as Revocation::since; not after the change itself
};
struct PutPrincipal {
  Principal principal;
};
struct RemovePrincipal {
  std::string name;
};
// How evidence of one type is appraised, of nodes or of one stage: reference values, accepted
// statuses, and anchors (root certificates) in addition to the vendor's. An anchor that does not
// belong to the vendor proves nothing about hardware, because a simulator can use such an anchor.
// The JSON name of these anchors is therefore "dangerous_anchors".
struct Appraisal {
  std::string evidence_type;             // "tdx"
  Json policy = Json::object();          // schema and defaults: attestation/tdx/appraisal_policy.h
  std::vector<Bytes> dangerous_anchors;  // DER certificates
  // JSON: "dangerous_allow_missing_reference_values". Nodes may enrol without reference values.
  bool dangerous_allow_missing_reference_values = false;
  // Stage of the statements whose evidence (schemas/stage_evidence.h) is appraised this way; "*"
  // for stages without an appraisal of their own, and for statements without a stage. Empty: the
  // evidence of nodes.
  std::string stage{};
  // Imported values that count beside those of `policy`, and the measurements that are constrained
  // even when no value is left for them. Only the trust state sets these two; no document has them.
  std::vector<ImportedSet> imported{};
  std::vector<std::string> constrained{};
  bool operator==(const Appraisal&) const = default;
};
// Returns the canonical JSON over which the id of an appraisal in force is computed: to_json(), and
// what was imported.
[[nodiscard]] Result<std::string> appraisal_in_full(const Appraisal& appraisal);
// Returns the name under which the appraisal is stored: "tdx", or "tdx/train" with a stage.
[[nodiscard]] std::string appraisal_name(std::string_view evidence_type, std::string_view stage);
struct PutAppraisal {
  Appraisal appraisal;
};
// Ends a node permanently: its worker key and the leases of its jobs become invalid, and its
// reports are no longer accepted as proof.
struct RevokeNode {
  std::string node;
  std::string reason;
};
// Adds a registration, or replaces the registration with the same id.
struct PutRegistration {
  Registration registration;
};
struct RemoveRegistration {
  std::string id;
};
// Adds or replaces a trusted root: the document `trusted_root.json` of a sigstore instance, which
// keyless identities name. Its version is the trust epoch of the change that brought it.
struct PutTrustedRoot {
  std::string name;
  Json document;  // attestation/sigstore/trusted_root.h reads it
  bool operator==(const PutTrustedRoot&) const = default;
};
// Withdraws a statement of whomever, for good.
struct WithdrawStatement {
  Withdrawal withdrawal;
};
using TrustOperation =
    std::variant<AddKey, RevokeKey, PutPrincipal, RemovePrincipal, PutAppraisal, RevokeNode,
                 PutRegistration, RemoveRegistration, WithdrawStatement, PutReferenceValues,
                 RemoveReferenceValues, PutTrustedRoot>;

// A change that is applied as a whole or not at all. `sequence` is the resulting trust epoch
// (current + 1), so that a signed change cannot be replayed.
struct TrustChange {
  std::uint64_t sequence;
  std::vector<TrustOperation> operations;
};

// The initial state of a service, given to `assayd init` once.
struct Bootstrap {
  std::vector<TrustedKey> keys;
  std::vector<Principal> principals;
  std::vector<Appraisal> appraisals;        // one for each type; may be empty
  std::vector<Registration> registrations;  // may be empty
  std::vector<PutTrustedRoot> trusted_roots{};
};

// Counters that grow with every change; cached verdicts depend on them.
struct TrustEpochs {
  std::uint64_t trust = 0;       // sequence of the last applied change; 0 after init
  std::uint64_t revocation = 0;  // number of revocations so far
  bool operator==(const TrustEpochs&) const = default;
};

[[nodiscard]] Json to_json(const SignerRole& role);
[[nodiscard]] Result<SignerRole> read_json(json::As<SignerRole> type, const Json& json);
[[nodiscard]] Json to_json(const Revocation& revocation);
[[nodiscard]] Result<Revocation> read_json(json::As<Revocation> type, const Json& json);
[[nodiscard]] Json to_json(const TrustedKey& key);
[[nodiscard]] Result<TrustedKey> read_json(json::As<TrustedKey> type, const Json& json);
[[nodiscard]] Result<TrustedKey> trusted_key_from_json(const Json& json);
[[nodiscard]] Json to_json(const Principal& principal);
[[nodiscard]] Result<Principal> read_json(json::As<Principal> type, const Json& json);
[[nodiscard]] Result<Principal> principal_from_json(const Json& json);
[[nodiscard]] Json to_json(const Appraisal& appraisal);
[[nodiscard]] Result<Appraisal> read_json(json::As<Appraisal> type, const Json& json);
[[nodiscard]] Result<Appraisal> appraisal_from_json(const Json& json);
[[nodiscard]] Json to_json(const TrustChange& change);
[[nodiscard]] Result<TrustChange> parse_trust_change(ByteView payload);
[[nodiscard]] Json to_json(const Bootstrap& bootstrap);
[[nodiscard]] Result<Bootstrap> parse_bootstrap(ByteView document);

}  // namespace assay
