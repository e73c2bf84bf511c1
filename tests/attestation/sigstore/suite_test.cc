// SPDX-License-Identifier: Apache-2.0
// The suite sigstore-conformance, folder by folder, and the bundles that the project carries.
#include "tests/attestation/sigstore/suite.h"

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace assay::test {
namespace {

// Why a folder is refused, where it is for the reason that its README tells.
const std::map<std::string, std::string> kWhy = {
    {"bundle-empty-certificate-chain_fail", "malformed-bundle"},
    {"bundle-invalid-base64-signature_fail", "malformed-bundle"},
    {"bundle-malformed-json_fail", "malformed-json"},
    {"bundle-unknown-version_fail", "malformed-bundle"},
    {"bundle-with-root-cert_fail", "malformed-bundle"},
    {"checkpoint-bad-keyhint_fail", "signature-missing"},
    {"checkpoint-wrong-roothash_fail", "proof-invalid"},
    {"dsse-mismatch-envelope_fail", "log-entry-mismatch"},
    {"dsse-mismatch-sig_fail", "log-entry-mismatch"},
    {"inclusion-proof-corrupted-hash_fail", "proof-invalid"},
    {"integrated-time-in-future_fail", "certificate-expired"},
    {"intoto-expired-certificate_fail", "certificate-not-yet-valid"},
    {"intoto-missing-inclusion-proof_fail", "malformed-bundle"},
    {"intoto-set-outside-signing-cert-validity_fail", "certificate-expired"},
    {"invalid-checkpoint-signature_fail", "signature-invalid"},
    {"managed-key-no-key_fail", "untrusted-signer"},
    {"rekor2-checkpoint-missing-log-signature_fail", "signature-missing"},
    {"rekor2-checkpoint-missing-root-hash_fail", "malformed-checkpoint"},
    {"rekor2-checkpoint-missing-size_fail", "malformed-checkpoint"},
    {"rekor2-checkpoint-no-matching-signature_fail", "signature-missing"},
    {"rekor2-dsse-mismatch-envelope_fail", "log-entry-mismatch"},
    {"rekor2-dsse-mismatch-sig_fail", "log-entry-mismatch"},
    {"rekor2-no-inclusion-proof_fail", "malformed-bundle"},
    {"rekor2-no-timestamp_fail", "signing-time-missing"},
    {"rekor2-timestamp-outside-tsa-cert-validity_fail", "timestamp-invalid"},
    {"rekor2-timestamp-payload-mismatch_fail", "timestamp-invalid"},
    {"rekor2-timestamp-untrusted-tsa-without-embedded-cert_fail", "timestamp-invalid"},
    {"trust-root-tlog-missing-validity-start_fail", "malformed-trusted-root"},
    {"wrong-hashedrekord-artifact_fail", "log-entry-mismatch"},
    {"wrong-hashedrekord-entry_fail", "log-entry-mismatch"},
    {"wrong-material_fail", "artifact-mismatch"}};

TEST(SigstoreSuite, EveryFolder_IsAsItsNameSays) {
  ASSAY_SHARED_VECTORS_OR_SKIP(suite, "sigstore-bundle");
  std::size_t verified = 0;
  std::size_t refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(suite / "bundle-verify")) {
    if (!entry.is_directory()) {
      continue;
    }
    const std::string name = entry.path().filename().string();
    const bool must_fail = name.ends_with("_fail");
    const auto result = verify(suite_case(entry.path()));
    EXPECT_EQ(result.has_value(), !must_fail)
        << name << ": " << (result ? "verified" : to_string(result.error()));
    ++(must_fail ? refused : verified);
    if (const auto why = kWhy.find(name); why != kWhy.end()) {
      EXPECT_EQ(code_of(result), why->second) << name;
    }
  }
  RecordProperty("verified", std::to_string(verified));
  RecordProperty("refused", std::to_string(refused));
  EXPECT_GT(verified + refused, 40U);
}

TEST(CarriedBundles, Verify) {
  for (const char* name : kCarried) {
    const auto result = verify(carried(name));
    EXPECT_EQ(code_of(result), "ok") << name << ": " << (result ? "" : to_string(result.error()));
  }
}

}  // namespace
}  // namespace assay::test
