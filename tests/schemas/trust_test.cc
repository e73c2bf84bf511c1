// SPDX-License-Identifier: Apache-2.0
// check_grant: when a key counts, and the code when it does not.
#include "schemas/trust.h"

#include <gtest/gtest.h>

#include "tests/schemas/samples.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using test::at;
using test::code_of;
using test::sample_key;

const Timestamp kNow = at("2026-06-01T00:00:00Z");

SigningContext evaluation() {
  return {KeyPurpose::kSigner, "evaluate", std::string(kLifecyclePredicateType), "acme/demo-llm"};
}

Status granted(const TrustedKey& key, const SigningContext& context = evaluation()) {
  return check_grant(key, context, kNow, kNow);
}

TEST(CheckGrant, Sample_Counts) { EXPECT_TRUE(granted(sample_key())); }

TEST(CheckGrant, EveryOtherPurpose_IsWrong) {
  for (const KeyPurpose purpose :
       {KeyPurpose::kPublisher, KeyPurpose::kAuthor, KeyPurpose::kApprover, KeyPurpose::kOperator,
        KeyPurpose::kWorker, KeyPurpose::kService}) {
    EXPECT_EQ(code_of(granted(sample_key(purpose))), "wrong-purpose") << name(purpose);
    SigningContext context = evaluation();
    context.purpose = purpose;
    EXPECT_EQ(code_of(granted(sample_key(), context)), "wrong-purpose") << name(purpose);
  }
}

TEST(CheckGrant, EachPartOfASignerRole_MustMatch) {
  SigningContext context = evaluation();
  context.stage = "train";
  EXPECT_EQ(code_of(granted(sample_key(), context)), "role-not-granted");
  context = evaluation();
  context.stage = "";
  EXPECT_EQ(code_of(granted(sample_key(), context)), "role-not-granted");
  context = evaluation();
  context.predicate_type = "https://assay.dev/lifecycle/v2";
  EXPECT_EQ(code_of(granted(sample_key(), context)), "role-not-granted");
  context = evaluation();
  context.name = "acmex/demo-llm";
  EXPECT_EQ(code_of(granted(sample_key(), context)), "role-not-granted");
  context = evaluation();
  context.name = "";
  EXPECT_EQ(code_of(granted(sample_key(), context)), "role-not-granted");
}

TEST(CheckGrant, PartsOfTwoRoles_DoNotAddUp) {
  TrustedKey key = sample_key();
  const std::string type(kLifecyclePredicateType);
  key.roles = {{"train", type, "acme"}, {"evaluate", type, "other"}};
  EXPECT_EQ(code_of(granted(key)), "role-not-granted");
  key.roles.push_back({"evaluate", type, "acme/demo-llm"});
  EXPECT_TRUE(granted(key));
}

TEST(CheckGrant, StarStage_CoversStagesAndForeignPredicates) {
  TrustedKey key = sample_key();
  key.roles = {{"*", "https://slsa.dev/provenance/v1", "*"}};
  SigningContext context{KeyPurpose::kSigner, "", "https://slsa.dev/provenance/v1", "acme/x"};
  EXPECT_TRUE(granted(key, context));
  context.stage = "train";
  EXPECT_TRUE(granted(key, context));
  context.predicate_type = "*";
  EXPECT_EQ(code_of(granted(key, context)), "role-not-granted");
}

TEST(CheckGrant, StarAsPredicateType_CoversNothingOfASigner) {
  TrustedKey key = sample_key();
  key.roles = {{"*", "*", "*"}};
  EXPECT_EQ(code_of(granted(key)), "role-not-granted");
}

TEST(CheckGrant, Publisher_NeedsOnlyTheNamespace) {
  TrustedKey key = sample_key(KeyPurpose::kPublisher);
  SigningContext context{KeyPurpose::kPublisher, "", "https://assay.dev/merkle-manifest/v1",
                         "acme/demo-llm"};
  EXPECT_TRUE(granted(key, context));
  context.name = "other/demo-llm";
  EXPECT_EQ(code_of(granted(key, context)), "role-not-granted");
}

TEST(CheckGrant, WithoutRoles_SignersAndPublishersGrantNothing) {
  TrustedKey key = sample_key();
  key.roles.clear();
  EXPECT_EQ(code_of(granted(key)), "role-not-granted");
  key.purpose = KeyPurpose::kPublisher;
  SigningContext context = evaluation();
  context.purpose = KeyPurpose::kPublisher;
  EXPECT_EQ(code_of(granted(key, context)), "role-not-granted");
}

TEST(CheckGrant, OtherPurposes_NeedOnlyThePurpose) {
  for (const KeyPurpose purpose :
       {KeyPurpose::kAuthor, KeyPurpose::kApprover, KeyPurpose::kOperator, KeyPurpose::kWorker,
        KeyPurpose::kService}) {
    TrustedKey key = sample_key(purpose);
    key.roles.clear();
    EXPECT_TRUE(granted(key, {purpose, "", "", ""})) << name(purpose);
  }
}

TEST(CheckGrant, Validity_IsExactToTheMillisecond) {
  const TrustedKey key = sample_key();
  const auto at_time = [&](Timestamp time) {
    return code_of(check_grant(key, evaluation(), time, kNow));
  };
  EXPECT_EQ(at_time(key.not_before), "ok");
  EXPECT_EQ(at_time(key.not_before - milliseconds(1)), "key-not-yet-valid");
  EXPECT_EQ(at_time(key.not_after), "ok");
  EXPECT_EQ(at_time(key.not_after + milliseconds(1)), "key-expired");
}

TEST(CheckGrant, SignatureMadeInTime_OutlivesTheKey) {
  const TrustedKey key = sample_key();
  EXPECT_TRUE(check_grant(key, evaluation(), kNow, key.not_after + std::chrono::hours(24)));
}

TEST(CheckGrant, Revocation_CountsFromItsVeryMillisecond) {
  TrustedKey key = sample_key();
  key.revoked = Revocation{kNow, "lost"};
  EXPECT_EQ(code_of(check_grant(key, evaluation(), kNow, kNow)), "key-revoked");
  EXPECT_TRUE(check_grant(key, evaluation(), kNow, kNow - milliseconds(1)));
}

// A key that is revoked today makes what it signed before worthless, too: who else had it?
TEST(CheckGrant, Revocation_ReachesBack) {
  TrustedKey key = sample_key();
  key.revoked = Revocation{kNow, "lost"};
  EXPECT_EQ(code_of(check_grant(key, evaluation(), key.not_before, kNow)), "key-revoked");
}

TEST(StoredEnums, CredentialKinds_ArePinned) {
  EXPECT_EQ(static_cast<int>(CredentialKind::kToken), 1);
  EXPECT_EQ(static_cast<int>(CredentialKind::kClientCertificate), 2);
}

}  // namespace
}  // namespace assay
