// SPDX-License-Identifier: Apache-2.0
// Statements in sigstore bundles: whose certificates count, what the store and the log keep of
// them, and what a decision says of them.
#include <functional>

#include "attestation/x509/certificate.h"
#include "schemas/core/json_values.h"
#include "schemas/core/sha.h"
#include "schemas/stage_evidence.h"
#include "server/service/documents/accept.h"
#include "server/service/documents/store_statement.h"
#include "server/service/nodes/stage_evidence.h"
#include "server/service/upkeep/rebuild.h"
#include "tests/attestation/x509/test_pki.h"
#include "tests/server/service/fixture.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

namespace pki = assay::test;

constexpr const char* kSlsa = "https://slsa.dev/provenance/v1";

Bytes sigstore_file(const std::string& name) {
  return to_bytes(
      assay::test::read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/vectors/sigstore/" + name));
}

class CertificateSigners : public ServiceTest {
 protected:
  // The identity of the workflow that signed rekor2-dsse.bundle.json.
  static CertificateIdentity workflow() {
    return {.roots = {},
            .issuer = "https://token.actions.githubusercontent.com",
            .trusted_root = "sigstore",
            .subject = {SubjectKind::kUri,
                        "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-"
                        "beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/"
                        "main"}};
  }
  // Whom ca_spec() issues certificates for.
  static CertificateIdentity team() {
    return {.roots = {pki::certificate(pki::root_spec()).der()},
            .issuer = {},
            .trusted_root = {},
            .subject = {SubjectKind::kEmail, "*@example.com"}};
  }

  static TrustedKey trusted(const CertificateIdentity& identity, KeyPurpose purpose,
                            std::vector<SignerRole> roles) {
    const TestKey key = make_key(purpose, "by-certificate", std::move(roles));
    TrustedKey record = key.record;
    record.certificate = identity;
    record.algorithm.reset();
    record.public_key.clear();
    record.id = certificate_id(identity, purpose).value();
    return record;
  }

  Status change(std::vector<TrustOperation> operations) {
    ++sequence_;
    const auto applied = apply_trust_change(
        *services_, trust_change(sequence_, std::move(operations), {&operator1_, &operator2_}),
        actor_);
    sequence_ -= applied ? 0U : 1U;
    return applied ? Status() : std::unexpected(applied.error());
  }

  static PutTrustedRoot root(const std::string& file) {
    return {"sigstore", parse_json(sigstore_file(file)).value()};
  }

  // A bundle with a certificate chain over a statement, as model_signing makes it.
  static Bytes bundle(ByteView envelope, const pki::CertificateSpec& leaf) {
    const auto parsed = attestation::parse_envelope(envelope).value();
    const Bytes message =
        attestation::pre_authentication_encoding(parsed.payload_type, parsed.payload);
    Json chain = Json::array();
    for (const auto& spec : {leaf, pki::ca_spec()}) {
      chain.push_back({{"rawBytes", base64_encode(pki::make_certificate(spec))}});
    }
    const Json json = {
        {"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
        {"verificationMaterial", {{"x509CertificateChain", {{"certificates", chain}}}}},
        {"dsseEnvelope",
         {{"payload", base64_encode(parsed.payload)},
          {"payloadType", parsed.payload_type},
          {"signatures",
           Json::array({{{"sig", base64_encode(pki::sign_with(leaf.key, message))}}})}}}};
    return to_bytes(json.dump());
  }

  std::uint64_t sequence_ = 0;
};

TEST_F(CertificateSigners, KeylessStatement_IsAcceptedWithIssuerNameAndTime) {
  const TrustedKey key = trusted(workflow(), KeyPurpose::kSigner, {{"*", kSlsa, "*"}});
  ASSERT_TRUE(change({root("staging.trusted-root.json"), AddKey{key}}));
  const Bytes bytes = sigstore_file("rekor2-dsse.bundle.json");
  const auto accepted = accept_attestation(*services_, bytes, actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());

  ASSERT_EQ(accepted->row.signers.size(), 1U);
  const storage::SignerRow& signer = accepted->row.signers.front();
  EXPECT_EQ(signer.key, key.id);
  ASSERT_TRUE(signer.certificate);
  EXPECT_EQ(signer.certificate->issuer, workflow().issuer);
  EXPECT_EQ(signer.certificate->subject, workflow().subject.pattern);
  EXPECT_LT(signer.certificate->at, signer.signed_at);
  const auto snapshot = store_->snapshot().value();
  const auto document = snapshot->document(accepted->row.envelopes.front()).value();
  EXPECT_EQ(document.bytes, bytes);
  EXPECT_EQ(document.media_type, kBundleMediaType);
  EXPECT_EQ(json::get<CertificateUse>(accepted->record["detail"]["certificates"][key.id.text()]),
            *signer.certificate);
  EXPECT_EQ(snapshot->statement(accepted->row.id).value(), accepted->row);
}

// A repair makes lost rows again from the log.
TEST_F(CertificateSigners, RowFromTheLog_HasTheSameCertificate) {
  const TrustedKey key = trusted(workflow(), KeyPurpose::kSigner, {{"*", kSlsa, "*"}});
  ASSERT_TRUE(change({root("staging.trusted-root.json"), AddKey{key}}));
  const auto accepted =
      accept_attestation(*services_, sigstore_file("rekor2-dsse.bundle.json"), actor_).value();
  const auto snapshot = store_->snapshot().value();
  const LogRecord record =
      parse_log_record(snapshot->log_record(accepted.row.log_index).value()).value();
  const auto rebuilt =
      rebuild_statement([&](const DocumentId& id) { return snapshot->document(id); },
                        {accepted.row.log_index, record});
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_EQ(rebuilt->signers, accepted.row.signers);
}

TEST_F(CertificateSigners, OtherIdentities_AreNoSigners) {
  ASSERT_TRUE(change({root("staging.trusted-root.json")}));
  std::vector<std::function<void(CertificateIdentity&)>> changes = {
      [](CertificateIdentity& one) { one.issuer += "/"; },
      [](CertificateIdentity& one) { one.issuer = "https://accounts.example"; },
      [](CertificateIdentity& one) { one.subject.pattern += "2"; },
      [](CertificateIdentity& one) {
        one.subject.pattern = "https://github.com/*/.github/workflows/a.yml@refs/heads/main";
      },
      [](CertificateIdentity& one) { one.subject.kind = SubjectKind::kDns; }};
  for (const auto& make_other : changes) {
    CertificateIdentity other = workflow();
    make_other(other);
    ASSERT_TRUE(change({AddKey{trusted(other, KeyPurpose::kSigner, {{"*", kSlsa, "*"}})}}));
  }
  EXPECT_EQ(
      refusal(accept_attestation(*services_, sigstore_file("rekor2-dsse.bundle.json"), actor_)),
      ErrorCode::kUntrustedSigner);
}

TEST_F(CertificateSigners, KeylessIdentity_NeedsItsTrustedRoot) {
  const AddKey add{trusted(workflow(), KeyPurpose::kSigner, {{"*", kSlsa, "*"}})};
  EXPECT_EQ(change({add}).error().code, ErrorCode::kNotFound);
  // A root of another instance under the name: the certificate comes from none of its CAs.
  ASSERT_TRUE(change({root("custom.trusted-root.json"), add}));
  EXPECT_FALSE(accept_attestation(*services_, sigstore_file("rekor2-dsse.bundle.json"), actor_));
  ASSERT_TRUE(change({root("staging.trusted-root.json")}));
  EXPECT_TRUE(accept_attestation(*services_, sigstore_file("rekor2-dsse.bundle.json"), actor_));
  EXPECT_EQ(store_->snapshot().value()->trusted_roots().value().front().version, 2U);
}

TEST_F(CertificateSigners, ChangedBundle_IsRefused) {
  const TrustedKey key = trusted(workflow(), KeyPurpose::kSigner, {{"*", kSlsa, "*"}});
  ASSERT_TRUE(change({root("staging.trusted-root.json"), AddKey{key}}));
  const Json good = parse_json(sigstore_file("rekor2-dsse.bundle.json")).value();
  const TreeSize size = log_size();
  Json no_timestamp = good;
  no_timestamp["verificationMaterial"].erase("timestampVerificationData");
  Json no_entry = good;
  no_entry["verificationMaterial"]["tlogEntries"] = Json::array();
  Json other_payload = good;
  Bytes payload = base64_decode(good["dsseEnvelope"]["payload"].get<std::string>()).value();
  payload[payload.size() - 20] ^= 1;
  other_payload["dsseEnvelope"]["payload"] = base64_encode(payload);
  Json other_type = good;
  other_type["mediaType"] = "application/json";
  for (const Json& json : {no_timestamp, no_entry, other_payload, other_type}) {
    EXPECT_FALSE(accept_attestation(*services_, to_bytes(json.dump()), actor_));
  }
  EXPECT_EQ(log_size(), size);
}

TEST_F(CertificateSigners, X509Publisher_CountsAndTheDecisionSaysWhoIssuedIt) {
  ASSERT_TRUE(change({AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}}));
  const Manifest model = manifest("a");
  const Bytes bytes = bundle(signed_manifest(model), pki::leaf_spec());
  const auto accepted = accept_manifest(*services_, bytes, actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  ASSERT_EQ(accepted->row.signers.size(), 1U);
  EXPECT_EQ(accepted->row.signers.front().certificate->subject, "signer@example.com");

  for (const Bytes& more :
       {evaluation(model, 0.95), approval(model, approver_a_), approval(model, approver_b_)}) {
    ASSERT_TRUE(accept_attestation(*services_, more, actor_));
  }

  Json document = parse_json(attestation::parse_envelope(policy()).value().payload).value();
  document["require"][0]["manifest"]["signers"]["identities"] = {"by-certificate"};
  const auto stored = accept_policy(
      *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
      actor_);
  ASSERT_TRUE(stored) << to_string(stored.error());
  ASSERT_TRUE(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, stored->row.id,
                                    policy_approval(stored->row.id, 1, policy_approver_), actor_));
  const DecisionRequest request{.point = DecisionPoint::kCreate,
                                .models = references_in(id_of(model).text()),
                                .workload = {"inference", {}, {"nvidia.com/gpu"}},
                                .context = Json::object(),
                                .principal = "kube-apiserver"};
  const auto decided = decide(*services_, request);
  ASSERT_TRUE(decided) << to_string(decided.error());
  EXPECT_TRUE(decided->decision->verdict.allowed);
  const Json& actual = decided->decision->verdict.policies.front().conditions.front().actual;
  ASSERT_EQ(actual["certificates"].size(), 1U) << actual.dump(2);
  EXPECT_EQ(actual["certificates"][0]["identity"], "by-certificate");
  EXPECT_EQ(actual["certificates"][0]["subject"], "signer@example.com");
  EXPECT_EQ(actual["certificates"][0]["issuer"], "CN=ca");
  EXPECT_EQ(actual["certificates"][0]["at"], to_rfc3339(accepted->row.signers.front().signed_at));
}

TEST_F(CertificateSigners, X509Certificate_MustBeValidNamedAndOfTheCa) {
  ASSERT_TRUE(change({AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}}));
  const Bytes statement = signed_manifest(manifest("a"), {&approver_a_});
  const auto refused = [&](const pki::CertificateSpec& leaf) {
    return refusal(accept_manifest(*services_, bundle(statement, leaf), actor_));
  };
  pki::CertificateSpec expired = pki::leaf_spec();
  expired.not_before = "2020-01-01T00:00:00Z";
  expired.not_after = "2020-12-31T00:00:00Z";
  EXPECT_EQ(refused(expired), ErrorCode::kCertificateExpired);
  EXPECT_EQ(refused(pki::with(pki::leaf_spec(), "subjectAltName", "email:a@example.org")),
            ErrorCode::kUntrustedSigner);
  EXPECT_EQ(refused(pki::with(pki::leaf_spec(), "subjectAltName", "")),
            ErrorCode::kUntrustedSigner);
  pki::CertificateSpec other_ca = pki::leaf_spec();
  other_ca.issuer_key = pki::key_of("P-256", 7);
  EXPECT_EQ(refused(other_ca), ErrorCode::kUntrustedSigner);
  Bytes forged = bundle(statement, pki::leaf_spec());
  Json json = parse_json(forged).value();
  json["dsseEnvelope"]["signatures"][0]["sig"] =
      base64_encode(pki::sign_with(pki::key_of("P-256", 8), statement));
  EXPECT_EQ(refusal(accept_manifest(*services_, to_bytes(json.dump()), actor_)),
            ErrorCode::kSignatureInvalid);
}

TEST_F(CertificateSigners, OneCertificateUnderTwoIdentities_IsRefused) {
  CertificateIdentity one = team();
  one.subject.pattern = "signer@example.com";
  TrustedKey own = trusted(one, KeyPurpose::kSigner, {role("evaluate")});
  own.identity = "signer";
  ASSERT_TRUE(
      change({AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}, AddKey{own}}));
  const Bytes bytes = bundle(signed_manifest(manifest("a"), {&approver_a_}), pki::leaf_spec());
  EXPECT_EQ(refusal(accept_manifest(*services_, bytes, actor_)), ErrorCode::kIdentityAmbiguous);
  // An entry that is revoked for good covers nothing.
  ASSERT_TRUE(change({RevokeKey{own.id, "one entry too many", {}}}));
  EXPECT_TRUE(accept_manifest(*services_, bytes, actor_));
}

TEST_F(CertificateSigners, SecondCertificateOfTheKeyUnderAnotherIdentity_IsRefused) {
  CertificateIdentity other = team();
  other.subject.pattern = "*@example.org";
  TrustedKey second = trusted(other, KeyPurpose::kPublisher, {publisher_role()});
  second.identity = "somebody-else";
  ASSERT_TRUE(change(
      {AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}, AddKey{second}}));
  const Bytes statement = signed_manifest(manifest("a"), {&approver_a_});
  ASSERT_TRUE(accept_manifest(*services_, bundle(statement, pki::leaf_spec()), actor_));
  const auto renamed = pki::with(pki::leaf_spec(), "subjectAltName", "email:signer@example.org");
  EXPECT_EQ(refusal(accept_manifest(*services_, bundle(statement, renamed), actor_)),
            ErrorCode::kIdentityAmbiguous);
}

TEST_F(CertificateSigners, CertificateOnAKeyOfTheTrustStore_IsThatKeyAlone) {
  const Bytes spki = pki::public_der(pki::leaf_spec().key);
  TrustedKey key = make_key(KeyPurpose::kPublisher, "release", {publisher_role()}).record;
  key.id = KeyId(sha256(spki));
  key.algorithm = SignatureAlgorithm::kEcdsaP256;
  key.public_key = spki;
  ASSERT_TRUE(
      change({AddKey{key}, AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}}));
  const Bytes bytes = bundle(signed_manifest(manifest("a"), {&approver_a_}), pki::leaf_spec());
  const auto accepted = accept_manifest(*services_, bytes, actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  ASSERT_EQ(accepted->row.signers.size(), 1U);
  EXPECT_EQ(accepted->row.signers.front().key, key.id);
  ASSERT_TRUE(change({RevokeKey{key.id, "stolen", {}}}));
  const Bytes later = bundle(signed_manifest(manifest("b"), {&approver_a_}), pki::leaf_spec());
  EXPECT_EQ(refusal(accept_manifest(*services_, later, actor_)), ErrorCode::kKeyRevoked);
}

// The reverse order: the certificate signed first, and its key is trusted later as somebody else's.
TEST_F(CertificateSigners, KeyThatIsTrustedLater_DoesNotSignAgainAsSomebodyElse) {
  ASSERT_TRUE(change({AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}}));
  const Bytes bytes = bundle(signed_manifest(manifest("a"), {&approver_a_}), pki::leaf_spec());
  ASSERT_TRUE(accept_manifest(*services_, bytes, actor_));
  TrustedKey key = make_key(KeyPurpose::kPublisher, "release", {publisher_role()}).record;
  key.public_key = pki::public_der(pki::leaf_spec().key);
  key.id = KeyId(sha256(key.public_key));
  key.algorithm = SignatureAlgorithm::kEcdsaP256;
  ASSERT_TRUE(change({AddKey{key}}));
  EXPECT_EQ(refusal(accept_manifest(*services_, bytes, actor_)), ErrorCode::kIdentityAmbiguous);
}

TEST_F(CertificateSigners, StageEvidence_NeedsAKey) {
  const Manifest model = manifest("a");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  const TrustedKey signer = trusted(team(), KeyPurpose::kSigner, {role("evaluate")});
  ASSERT_TRUE(change({AddKey{signer}}));
  const auto statement =
      accept_attestation(*services_, bundle(evaluation(model, 0.95), pki::leaf_spec()), actor_);
  ASSERT_TRUE(statement) << to_string(statement.error());
  const StageEvidence evidence{
      statement->row.id,
      signer.id,
      {.type = "tdx", .quote = Bytes(64), .event_log = {}, .collateral = nullptr}};
  const Bytes signed_evidence =
      envelope(kStageEvidencePayloadType, canonical_json(to_json(evidence)).value(), {&publisher_});
  EXPECT_EQ(
      refusal(accept_stage_evidence(*services_, bundle(signed_evidence, pki::leaf_spec()), actor_)),
      ErrorCode::kStageEvidenceMismatch);
}

TEST_F(CertificateSigners, CertificateForOtherPurposes_IsRefused) {
  ASSERT_TRUE(change({AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}}));
  const Bytes statement = signed_manifest(manifest("a"), {&approver_a_});
  const auto server = pki::with(pki::leaf_spec(), "extendedKeyUsage", "serverAuth");
  EXPECT_EQ(refusal(accept_manifest(*services_, bundle(statement, server), actor_)),
            ErrorCode::kCertificateRefused);
}

TEST_F(CertificateSigners, Revocation_CanOnlyBecomeStricter) {
  const TrustedKey key = publisher_.record;
  const Timestamp early = clock_.now() - std::chrono::hours(2);
  const Timestamp late = clock_.now() - std::chrono::hours(1);
  ASSERT_TRUE(change({RevokeKey{key.id, "stolen", late}}));
  EXPECT_EQ(change({RevokeKey{key.id, "not so", clock_.now()}}).error().code, ErrorCode::kConflict);
  ASSERT_TRUE(change({RevokeKey{key.id, "stolen earlier", early}}));
  ASSERT_TRUE(change({RevokeKey{key.id, "stolen", {}}}));
  EXPECT_EQ(change({RevokeKey{key.id, "not so", early}}).error().code, ErrorCode::kConflict);
}

TEST_F(CertificateSigners, ChangeOfTrust_NeedsKeys) {
  ASSERT_TRUE(change({AddKey{trusted(team(), KeyPurpose::kPublisher, {publisher_role()})}}));
  const Bytes changed =
      bundle(trust_change(sequence_ + 1, {RemovePrincipal{"x"}}, {&operator1_, &operator2_}),
             pki::leaf_spec());
  EXPECT_FALSE(apply_trust_change(*services_, changed, actor_));
}

TEST_F(CertificateSigners, TrustedRoots_OutliveARestart) {
  ASSERT_TRUE(change({root("staging.trusted-root.json")}));
  const auto before = store_->snapshot().value()->trusted_roots().value();
  reopen();
  const auto after = store_->snapshot().value()->trusted_roots().value();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after.front().root, before.front().root);
  EXPECT_EQ(after.front().version, 1U);
}

TEST_F(CertificateSigners, UnreadableRootsAndCas_AreRefused) {
  EXPECT_FALSE(change({PutTrustedRoot{"sigstore", Json::object()}}));
  CertificateIdentity leaf = team();
  leaf.roots = {pki::make_certificate(pki::leaf_spec())};
  EXPECT_EQ(change({AddKey{trusted(leaf, KeyPurpose::kSigner, {role("approve")})}}).error().code,
            ErrorCode::kCertificateRefused);
  CertificateIdentity junk = team();
  junk.roots = {to_bytes("no certificate")};
  EXPECT_FALSE(change({AddKey{trusted(junk, KeyPurpose::kSigner, {role("approve")})}}));
}

}  // namespace
}  // namespace assay::server::test
