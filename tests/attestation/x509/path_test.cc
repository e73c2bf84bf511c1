// SPDX-License-Identifier: Apache-2.0
// Paths: one that is good, and one mutation of it for each rule.
#include "attestation/x509/path.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/attestation/x509/test_pki.h"
#include "tests/support/vectors.h"

namespace assay::attestation::x509 {
namespace {

using assay::test::ca_spec;
using assay::test::certificate;
using assay::test::CertificateSpec;
using assay::test::code_of;
using assay::test::key_of;
using assay::test::leaf_spec;
using assay::test::root_spec;
using assay::test::with;

Timestamp at(const char* text) { return parse_rfc3339(text).value(); }

const PathOptions kOptions = {.time = at("2026-06-01T00:00:00Z"), .purpose = kCodeSigning};

// A root, a CA and a leaf, before they are made.
struct Specs {
  CertificateSpec root = root_spec();
  CertificateSpec ca = ca_spec();
  CertificateSpec leaf = leaf_spec();
};

Result<VerifiedPath> verify(const Specs& specs, const PathOptions& options = kOptions) {
  const std::vector<Certificate> anchors = {certificate(specs.root)};
  const std::vector<Certificate> intermediates = {certificate(specs.ca)};
  return verify_path(certificate(specs.leaf), intermediates, anchors, options);
}

std::string verified(const std::function<void(Specs&)>& change, PathOptions options = kOptions) {
  Specs specs;
  change(specs);
  return code_of(verify(specs, options));
}

TEST(Path, GoodPath_IsReturnedFromLeafToAnchor) {
  const auto path = verify(Specs());
  ASSERT_EQ(code_of(path), "ok");
  ASSERT_EQ(path->certificates.size(), 3U);
  EXPECT_EQ(path->leaf().subject(), "CN=leaf");
  EXPECT_EQ(path->leaf_issuer().subject(), "CN=ca");
  EXPECT_EQ(path->anchor().subject(), "CN=root");
}

struct Mutation {
  const char* what;
  std::function<void(Specs&)> change;
  const char* code;
};

const std::vector<Mutation> kMutations = {
    {"another anchor of the same name", [](Specs& s) { s.root = root_spec("root", 7); },
     "certificate-untrusted"},
    {"an anchor of another name", [](Specs& s) { s.root = root_spec("other"); },
     "certificate-untrusted"},
    {"a leaf signed by another key", [](Specs& s) { s.leaf.issuer_key = key_of("P-256", 9); },
     "certificate-untrusted"},
    {"a CA signed by another key", [](Specs& s) { s.ca.issuer_key = key_of("P-384", 9); },
     "certificate-untrusted"},
    {"an issuer that is no CA",
     [](Specs& s) { s.ca = with(s.ca, "basicConstraints", "critical,CA:FALSE"); },
     "certificate-refused"},
    {"an issuer without basicConstraints",
     [](Specs& s) { s.ca = with(s.ca, "basicConstraints", ""); }, "certificate-refused"},
    {"an issuer that may not sign certificates",
     [](Specs& s) { s.ca = with(s.ca, "keyUsage", "critical,cRLSign"); }, "certificate-refused"},
    {"an issuer for another purpose",
     [](Specs& s) { s.ca = with(s.ca, "extendedKeyUsage", "emailProtection"); },
     "certificate-refused"},
    {"an anchor that is no CA",
     [](Specs& s) { s.root = with(s.root, "basicConstraints", "critical,CA:FALSE"); },
     "certificate-refused"},
    {"an anchor that allows no CA below it",
     [](Specs& s) { s.root = with(s.root, "basicConstraints", "critical,CA:TRUE,pathlen:0"); },
     "certificate-refused"},
    {"a leaf that is a CA",
     [](Specs& s) {
       s.ca = with(s.ca, "basicConstraints", "critical,CA:TRUE");
       s.leaf = with(s.leaf, "basicConstraints", "critical,CA:TRUE");
     },
     "certificate-refused"},
    {"a leaf without keyUsage", [](Specs& s) { s.leaf = with(s.leaf, "keyUsage", ""); },
     "certificate-refused"},
    {"a leaf that may not sign",
     [](Specs& s) { s.leaf = with(s.leaf, "keyUsage", "critical,keyAgreement"); },
     "certificate-refused"},
    {"a leaf that may sign for another reason alone",
     [](Specs& s) { s.leaf = with(s.leaf, "keyUsage", "critical,nonRepudiation"); },
     "certificate-refused"},
    {"a leaf without extended key usage",
     [](Specs& s) { s.leaf = with(s.leaf, "extendedKeyUsage", ""); }, "certificate-refused"},
    {"a leaf for another purpose",
     [](Specs& s) { s.leaf = with(s.leaf, "extendedKeyUsage", "timeStamping"); },
     "certificate-refused"},
    {"a leaf for any purpose",
     [](Specs& s) { s.leaf = with(s.leaf, "extendedKeyUsage", "anyExtendedKeyUsage"); },
     "certificate-refused"},
    {"an unknown critical extension in the leaf",
     [](Specs& s) { s.leaf = with(s.leaf, "1.2.3.4", "critical,DER:0500"); },
     "certificate-refused"},
    {"an unknown critical extension in the CA",
     [](Specs& s) { s.ca = with(s.ca, "1.2.3.4", "critical,DER:0500"); }, "certificate-refused"},
    {"a leaf signed with SHA-1", [](Specs& s) { s.leaf.hash = "SHA1"; }, "certificate-refused"},
    {"a leaf signed with SHA-224", [](Specs& s) { s.leaf.hash = "SHA224"; }, "certificate-refused"},
    {"a name outside of the permitted ones",
     [](Specs& s) {
       s.ca = with(s.ca, "nameConstraints", "critical,permitted;email:other.example");
     },
     "certificate-refused"},
    {"a name among the excluded ones",
     [](Specs& s) { s.ca = with(s.ca, "nameConstraints", "excluded;email:example.com"); },
     "certificate-refused"},
    {"a policy that is demanded and not there",
     [](Specs& s) { s.ca = with(s.ca, "policyConstraints", "requireExplicitPolicy:0"); },
     "certificate-refused"},
    {"a CA that is over", [](Specs& s) { s.ca.not_after = "2026-05-31T23:59:59Z"; },
     "certificate-expired"},
    {"an anchor that is over", [](Specs& s) { s.root.not_after = "2026-05-31T23:59:59Z"; },
     "certificate-expired"},
    {"a leaf that is over", [](Specs& s) { s.leaf.not_after = "2026-05-31T23:59:59Z"; },
     "certificate-expired"},
    {"a leaf that begins later", [](Specs& s) { s.leaf.not_before = "2026-06-01T00:00:01Z"; },
     "certificate-not-yet-valid"},
    {"an anchor that begins later", [](Specs& s) { s.root.not_before = "2026-06-01T00:00:01Z"; },
     "certificate-not-yet-valid"}};

TEST(Path, EachBrokenRule_IsRefused) {
  for (const Mutation& mutation : kMutations) {
    EXPECT_EQ(verified(mutation.change), mutation.code) << mutation.what;
  }
}

TEST(Path, WhatDoesNotMatter_IsAccepted) {
  const std::vector<std::pair<const char*, std::function<void(Specs&)>>> changes = {
      {"permitted names",
       [](Specs& s) {
         s.ca = with(s.ca, "nameConstraints", "critical,permitted;email:example.com");
       }},
      {"an unknown extension that is not critical",
       [](Specs& s) { s.leaf = with(s.leaf, "1.2.3.4", "DER:0500"); }},
      {"a CA for any purpose",
       [](Specs& s) { s.ca = with(s.ca, "extendedKeyUsage", "anyExtendedKeyUsage"); }},
      {"a CA without a purpose", [](Specs& s) { s.ca = with(s.ca, "extendedKeyUsage", ""); }},
      {"an anchor for another purpose",
       [](Specs& s) { s.root = with(s.root, "extendedKeyUsage", "emailProtection"); }},
      {"an anchor with a weak signature of its own", [](Specs& s) { s.root.hash = "SHA1"; }},
      {"an RSA leaf", [](Specs& s) { s.leaf.key = key_of("RSA-2048"); }},
      {"an Ed25519 CA", [](Specs& s) { s.ca.key = s.leaf.issuer_key = key_of("ED25519"); }},
      {"further purposes of the leaf",
       [](Specs& s) { s.leaf = with(s.leaf, "extendedKeyUsage", "clientAuth,codeSigning"); }}};
  for (const auto& [what, change] : changes) {
    EXPECT_EQ(verified(change), "ok") << what;
  }
}

TEST(Path, EndsOfTheValidity_AreInclusive) {
  const auto at_time = [](Timestamp time) {
    PathOptions options = kOptions;
    options.time = time;
    return code_of(verify(Specs(), options));
  };
  const Timestamp first = at("2026-01-01T00:00:00Z");
  const Timestamp last = at("2026-12-31T23:59:59Z");
  EXPECT_EQ(at_time(first), "ok");
  EXPECT_EQ(at_time(first - std::chrono::milliseconds(1)), "certificate-not-yet-valid");
  EXPECT_EQ(at_time(last), "ok");
  EXPECT_EQ(at_time(last + std::chrono::milliseconds(1)), "certificate-expired");
}

TEST(Path, Options_ChangeWhatIsDemanded) {
  PathOptions options = kOptions;
  options.purpose = kAnyPurpose;
  EXPECT_EQ(verified([](Specs& s) { s.leaf = with(s.leaf, "extendedKeyUsage", ""); }, options),
            "ok");
  options = kOptions;
  options.require_key_usage = false;
  EXPECT_EQ(verified([](Specs& s) { s.leaf = with(s.leaf, "keyUsage", ""); }, options), "ok");
  options = kOptions;
  options.allow_non_repudiation = true;
  EXPECT_EQ(
      verified([](Specs& s) { s.leaf = with(s.leaf, "keyUsage", "nonRepudiation"); }, options),
      "ok");
}

// An anchor need not be self-signed, and what came with the signature is none.
TEST(Path, OnlyAnchors_AreTrusted) {
  const Specs specs;
  const Certificate root = certificate(specs.root);
  const Certificate ca = certificate(specs.ca);
  const Certificate leaf = certificate(specs.leaf);
  const auto verify_with = [&](const std::vector<Certificate>& intermediates,
                               const std::vector<Certificate>& anchors) {
    return code_of(verify_path(leaf, intermediates, anchors, kOptions));
  };
  EXPECT_EQ(verify_with({}, {ca}), "ok");
  EXPECT_EQ(verify_with({root}, {ca}), "ok");
  EXPECT_EQ(verify_with({ca, root}, {}), "certificate-untrusted");
  EXPECT_EQ(verify_with({}, {root}), "certificate-untrusted") << "a CA is missing";
  EXPECT_EQ(verify_with({}, {leaf}), "certificate-untrusted") << "the leaf as an anchor";
  EXPECT_EQ(verify_with({}, {}), "certificate-untrusted");
}

TEST(Path, SelfSignedLeafThatIsAnAnchor_IsRefused) {
  CertificateSpec spec = leaf_spec();
  spec.issuer = spec.subject;
  spec.issuer_key = spec.key;
  const Certificate leaf = certificate(spec);
  const std::vector<Certificate> anchors = {leaf};
  EXPECT_EQ(code_of(verify_path(leaf, {}, anchors, kOptions)), "certificate-untrusted");
}

// CAs of one name below each other, as many as a path may have, and one more.
TEST(Path, Length_IsLimited) {
  for (const std::size_t size : {kMaxPath, kMaxPath + 1}) {
    std::vector<Certificate> intermediates;
    int above = 0;
    for (std::size_t i = 0; i + 2 < size; ++i) {
      CertificateSpec ca = with(ca_spec(), "basicConstraints", "critical,CA:TRUE");
      ca.subject = "ca " + std::to_string(i + 1);
      ca.issuer = i == 0 ? "root" : "ca " + std::to_string(i);
      ca.issuer_key = i == 0 ? key_of("P-384") : key_of("P-256", above);
      above = 20 + static_cast<int>(i);
      ca.key = key_of("P-256", above);
      intermediates.push_back(certificate(ca));
    }
    CertificateSpec leaf = leaf_spec();
    leaf.issuer = "ca " + std::to_string(size - 2);
    leaf.issuer_key = key_of("P-256", above);
    const std::vector<Certificate> anchors = {certificate(root_spec())};
    EXPECT_EQ(code_of(verify_path(certificate(leaf), intermediates, anchors, kOptions)),
              size == kMaxPath ? "ok" : "certificate-untrusted");
  }
}

TEST(Path, NumberOfCertificates_IsLimited) {
  const Certificate leaf = certificate(leaf_spec());
  const std::vector<Certificate> anchors = {certificate(root_spec())};
  const std::vector<Certificate> many(kMaxIntermediates + 1, certificate(ca_spec()));
  EXPECT_EQ(code_of(verify_path(leaf, std::span(many).first(kMaxIntermediates), anchors, kOptions)),
            "ok");
  EXPECT_EQ(code_of(verify_path(leaf, many, anchors, kOptions)), "limit-exceeded");
  const std::vector<Certificate> crowd(kMaxCertificates + 1, certificate(root_spec()));
  EXPECT_EQ(code_of(verify_path(leaf, {}, crowd, kOptions)), "limit-exceeded");
}

}  // namespace
}  // namespace assay::attestation::x509
