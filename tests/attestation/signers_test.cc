// SPDX-License-Identifier: Apache-2.0
// Whose signatures verify, and whether they are enough.
#include <gtest/gtest.h>

#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using std::chrono::milliseconds;
using test::at;
using test::code_of;
using test::kAlgorithms;
using test::signer;
using test::trust;
using test::where_of;

constexpr std::string_view kType = "application/vnd.assay.trust-change+json";
const Timestamp kNow = at("2026-06-01T00:00:00Z");
const SigningContext kOperator{KeyPurpose::kOperator, "", "", ""};

const Signer& ed(int number) { return signer(SignatureAlgorithm::kEd25519, number); }

Envelope signed_by(std::initializer_list<const Signer*> signers) {
  const std::vector<const Signer*> list(signers);
  return std::move(sign_envelope(kType, as_bytes("payload"), list)).value();
}

std::vector<std::string> identities(const std::vector<VerifiedSignature>& signatures) {
  std::vector<std::string> out;
  for (const VerifiedSignature& signature : signatures) {
    out.push_back(signature.key.identity);
  }
  return out;
}

std::vector<VerifiedSignature> verified(const std::vector<TrustedKey>& keys) {
  std::vector<VerifiedSignature> out;
  for (const TrustedKey& key : keys) {
    out.push_back({key});
  }
  return out;
}

// --- verify_signatures

TEST(VerifySignatures, EveryAlgorithm_IsFoundInOrder) {
  const Envelope envelope =
      signed_by({&signer(kAlgorithms[2]), &signer(kAlgorithms[0]), &signer(kAlgorithms[1])});
  const std::vector<TrustedKey> keys = {trust(signer(kAlgorithms[0]), "a"),
                                        trust(signer(kAlgorithms[1]), "b"),
                                        trust(signer(kAlgorithms[2]), "c")};
  const auto result = verify_signatures(envelope, keys);
  ASSERT_TRUE(result);
  EXPECT_EQ(identities(*result), (std::vector<std::string>{"c", "a", "b"}));
}

TEST(VerifySignatures, UnknownKeys_AreIgnored) {
  const Envelope envelope = signed_by({&ed(0), &ed(1)});
  EXPECT_EQ(identities(*verify_signatures(envelope, std::vector{trust(ed(1), "b")})),
            std::vector<std::string>{"b"});
  EXPECT_TRUE(verify_signatures(envelope, {})->empty());
  EXPECT_TRUE(verify_signatures(envelope, std::vector{trust(ed(2), "c")})->empty());
}

TEST(VerifySignatures, BadSignatureOfANamedKey_IsAnError) {
  const std::vector<TrustedKey> keys = {trust(ed(0), "a"), trust(ed(1), "b")};
  Envelope envelope = signed_by({&ed(0), &ed(1)});
  envelope.signatures[1].signature[10] ^= 1U;
  const auto result = verify_signatures(envelope, keys);
  EXPECT_EQ(code_of(result), "signature-invalid");
  EXPECT_EQ(where_of(result), "/signatures/1");
  envelope.signatures[1].keyid_hint = ed(1).key_id().text();
  EXPECT_EQ(code_of(verify_signatures(envelope, keys)), "signature-invalid");
}

TEST(VerifySignatures, BadSignatureOfNobodyKnown_IsIgnored) {
  Envelope envelope = signed_by({&ed(0), &ed(1)});
  envelope.signatures[1].signature[10] ^= 1U;
  for (const char* hint : {"", "unknown", "sha256:00"}) {
    envelope.signatures[1].keyid_hint = hint;
    const auto result =
        verify_signatures(envelope, std::vector{trust(ed(0), "a"), trust(ed(1), "b")});
    ASSERT_TRUE(result) << hint;
    EXPECT_EQ(identities(*result), std::vector<std::string>{"a"});
  }
}

// The hint is not authenticated: it must not decide whose signature it is.
TEST(VerifySignatures, HintOfAnotherKey_ChangesNothing) {
  Envelope envelope = signed_by({&ed(0)});
  envelope.signatures[0].keyid_hint = ed(1).key_id().digest().hex();
  const auto result =
      verify_signatures(envelope, std::vector{trust(ed(0), "a"), trust(ed(1), "b")});
  ASSERT_TRUE(result);
  EXPECT_EQ(identities(*result), std::vector<std::string>{"a"});
}

TEST(VerifySignatures, SameKeyTwice_CountsOnce) {
  // ECDSA signatures of one key differ each time, so they cannot be told apart by their bytes.
  const Signer& maker = signer(SignatureAlgorithm::kEcdsaP256);
  Envelope envelope = signed_by({&maker});
  const Envelope again = signed_by({&maker});
  envelope.signatures.push_back(again.signatures[0]);
  EXPECT_EQ(verify_signatures(envelope, std::vector{trust(maker, "a")})->size(), 1U);
}

TEST(VerifySignatures, AnotherPayloadOrType_IsAnError) {
  const std::vector<TrustedKey> keys = {trust(ed(0), "a")};
  Envelope envelope = signed_by({&ed(0)});
  envelope.payload.push_back('x');
  EXPECT_EQ(code_of(verify_signatures(envelope, keys)), "signature-invalid");
  envelope = signed_by({&ed(0)});
  envelope.payload_type = "application/vnd.assay.policy+json";
  EXPECT_EQ(code_of(verify_signatures(envelope, keys)), "signature-invalid");
}

TEST(VerifySignatures, StoredKeyThatContradictsItself_VerifiesNothing) {
  const Envelope envelope = signed_by({&ed(0)});
  TrustedKey key = trust(ed(0), "a");
  key.algorithm = SignatureAlgorithm::kEcdsaP256;
  EXPECT_EQ(code_of(verify_signatures(envelope, std::vector{key})), "signature-invalid");
  key = trust(ed(0), "a");
  key.id = ed(1).key_id();
  EXPECT_TRUE(verify_signatures(envelope, std::vector{key})->empty());
  key = trust(ed(0), "a");
  key.public_key.pop_back();
  EXPECT_EQ(code_of(verify_signatures(envelope, std::vector{key})), "signature-invalid");
}

TEST(VerifySignatures, StoredKeyOfAnotherCurve_VerifiesNothing) {
  const Signer& maker = signer(SignatureAlgorithm::kEcdsaP256);
  TrustedKey key = trust(maker, "a");
  key.algorithm = SignatureAlgorithm::kEcdsaP384;
  EXPECT_EQ(code_of(verify_signatures(signed_by({&maker}), std::vector{key})), "signature-invalid");
}

TEST(VerifySignatures, SignatureOfNoBytes_IsAnError) {
  for (const auto algorithm : kAlgorithms) {
    Envelope envelope = signed_by({&signer(algorithm)});
    envelope.signatures[0].signature.clear();
    EXPECT_EQ(code_of(verify_signatures(envelope, std::vector{trust(signer(algorithm), "a")})),
              "signature-invalid");
  }
}

// Signatures without keyids are tried against every key: that work is bounded.
TEST(VerifySignatures, TooManyTries_EndWithALimit) {
  std::vector<TrustedKey> keys(200, trust(ed(1), "x"));
  Envelope envelope = signed_by({&ed(0)});
  envelope.signatures[0].keyid_hint.clear();
  EXPECT_TRUE(verify_signatures(envelope, keys));
  envelope.signatures.resize(32, envelope.signatures[0]);
  EXPECT_EQ(code_of(verify_signatures(envelope, keys)), "limit-exceeded");
}

// Each try of an Ed25519 key hashes the whole payload, so that a few signatures on a long one are
// as much work.
TEST(VerifySignatures, TooManyBytesTried_EndWithALimit) {
  Envelope envelope = signed_by({&ed(0)});
  envelope.payload.resize(16U << 20);
  envelope.signatures[0].keyid_hint.clear();
  envelope.signatures[0].signature.assign(64, 0xff);  // no scalar: refused before it is hashed
  EXPECT_TRUE(verify_signatures(envelope, std::vector<TrustedKey>(31, trust(ed(1), "x"))));
  EXPECT_EQ(code_of(verify_signatures(envelope, std::vector<TrustedKey>(32, trust(ed(1), "x")))),
            "limit-exceeded");
}

// --- require_signers

TEST(RequireSigners, EnoughIdentities_AreReturned) {
  const auto result =
      require_signers(verified({trust(ed(0), "a"), trust(ed(1), "b")}), kOperator, 2, kNow);
  ASSERT_TRUE(result);
  EXPECT_EQ(identities(*result), (std::vector<std::string>{"a", "b"}));
}

TEST(RequireSigners, Nobody_IsUntrusted) {
  EXPECT_EQ(code_of(require_signers({}, kOperator, 1, kNow)), "untrusted-signer");
  EXPECT_EQ(code_of(require_signers({}, kOperator, 0, kNow)), "untrusted-signer");
}

TEST(RequireSigners, TwoKeysOfOneIdentity_AreOne) {
  const auto signatures = verified({trust(ed(0), "a"), trust(ed(1), "a")});
  EXPECT_EQ(code_of(require_signers(signatures, kOperator, 2, kNow)), "threshold-not-met");
  EXPECT_EQ(require_signers(signatures, kOperator, 1, kNow)->size(), 2U);
}

TEST(RequireSigners, KeysThatDoNotCount_GiveTheirReason) {
  TrustedKey key = trust(ed(0), "a", KeyPurpose::kPublisher);
  EXPECT_EQ(code_of(require_signers(verified({key}), kOperator, 1, kNow)), "wrong-purpose");
  key = trust(ed(0), "a");
  key.revoked = Revocation{kNow, "lost"};
  EXPECT_EQ(code_of(require_signers(verified({key}), kOperator, 1, kNow)), "key-revoked");
  key = trust(ed(0), "a");
  EXPECT_TRUE(require_signers(verified({key}), kOperator, 1, key.not_after));
  EXPECT_EQ(
      code_of(require_signers(verified({key}), kOperator, 1, key.not_after + milliseconds(1))),
      "key-expired");
  EXPECT_TRUE(require_signers(verified({key}), kOperator, 1, key.not_before));
  EXPECT_EQ(
      code_of(require_signers(verified({key}), kOperator, 1, key.not_before - milliseconds(1))),
      "key-not-yet-valid");
}

TEST(RequireSigners, ValidityAndRevocation_HaveTheirOwnTimes) {
  TrustedKey key = trust(ed(0), "a");
  const auto judged = [&key](Timestamp signed_at, Timestamp now) {
    return code_of(require_signers(verified({key}), kOperator, 1, signed_at, now));
  };
  const Timestamp late = key.not_after + milliseconds(1);
  EXPECT_EQ(judged(kNow, late), "ok");
  EXPECT_EQ(judged(late, kNow), "key-expired");
  EXPECT_EQ(judged(key.not_before - milliseconds(1), kNow), "key-not-yet-valid");
  key.revoked = Revocation{kNow, "lost"};
  EXPECT_EQ(judged(kNow - milliseconds(2), kNow - milliseconds(1)), "ok");
  EXPECT_EQ(judged(kNow - milliseconds(1), kNow), "key-revoked");
}

TEST(RequireSigners, ThoseThatDoNotCount_AreLeftOut) {
  TrustedKey revoked = trust(ed(1), "b");
  revoked.revoked = Revocation{kNow, "lost"};
  const auto signatures = verified({revoked, trust(ed(0), "a")});
  EXPECT_EQ(identities(*require_signers(signatures, kOperator, 1, kNow)),
            std::vector<std::string>{"a"});
  EXPECT_EQ(code_of(require_signers(signatures, kOperator, 2, kNow)), "threshold-not-met");
}

TEST(RequireSigners, SeveralThatDoNotCount_GiveTheFirstReason) {
  TrustedKey revoked = trust(ed(1), "b");
  revoked.revoked = Revocation{kNow, "lost"};
  const TrustedKey wrong = trust(ed(0), "a", KeyPurpose::kPublisher);
  EXPECT_EQ(code_of(require_signers(verified({revoked, wrong}), kOperator, 1, kNow)),
            "key-revoked");
  EXPECT_EQ(code_of(require_signers(verified({wrong, revoked}), kOperator, 1, kNow)),
            "wrong-purpose");
}

TEST(RequireSigners, ThresholdOfZero_StillNeedsOne) {
  EXPECT_TRUE(require_signers(verified({trust(ed(0), "a")}), kOperator, 0, kNow));
  const auto wrong = verified({trust(ed(0), "a", KeyPurpose::kWorker)});
  EXPECT_EQ(code_of(require_signers(wrong, kOperator, 0, kNow)), "wrong-purpose");
}

}  // namespace
}  // namespace assay::attestation
