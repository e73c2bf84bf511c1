// SPDX-License-Identifier: Apache-2.0
// Edges of what SEV-SNP evidence rests on: anchors and rules of certificates, lists, values of
// policies, chains that are remembered.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "attestation/simulate/snp_simulation.h"
#include "attestation/snp/appraisal_policy.h"
#include "attestation/snp/attach.h"
#include "attestation/snp/certificate_rules.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/chain.h"
#include "attestation/snp/crl.h"
#include "attestation/snp/leaf.h"
#include "attestation/snp/result.h"
#include "attestation/snp/trust_anchor.h"
#include "attestation/snp/verify.h"
#include "schemas/core/sha.h"
#include "tests/attestation/x509/test_pki.h"

namespace assay::attestation::snp {
namespace {

using assay::test::certificate;
using assay::test::CertificateSpec;
using assay::test::key_of;
using assay::test::root_spec;

// A root of AMD's name that somebody else made.
x509::Certificate named_root(const std::string& name, const std::string& kind) {
  CertificateSpec spec = root_spec(name);
  spec.key = spec.issuer_key = key_of(kind);
  spec.hash = kind == "P-384" ? "SHA384" : "SHA256";
  return certificate(spec);
}

TEST(SnpAnchorEdges, OthersUnderAmdsName_AreNoAnchors) {
  const auto taken = [](const x509::Certificate& root) {
    return TrustAnchor::from_bytes(root.der()).has_value();
  };
  EXPECT_FALSE(taken(named_root("ARK-Milan", "P-384")));
  EXPECT_FALSE(taken(named_root("ARK-Milan", "RSA-2048")));
  EXPECT_FALSE(taken(named_root("ARK-Rome", "RSA-2048")));
  CertificateSpec leaf = root_spec("ARK-Milan");
  leaf.extensions = {{"basicConstraints", "critical,CA:FALSE"}};
  EXPECT_FALSE(taken(certificate(leaf)));
  EXPECT_TRUE(taken(amd_root(Generation::kMilan).certificate()));
  const std::string two = x509::pem(amd_root(Generation::kMilan).certificate()) +
                          x509::pem(amd_root(Generation::kGenoa).certificate());
  EXPECT_FALSE(TrustAnchor::from_bytes(as_bytes(two)));
}

TEST(SnpRuleEdges, LookAtKeyAndSignature) {
  const auto amd = amd_root(Generation::kGenoa).certificate();
  const auto elliptic = named_root("ARK-Genoa", "P-384");
  const auto small = named_root("ARK-Genoa", "RSA-2048");
  EXPECT_TRUE(is_signed_with_pss(amd) && has_rsa_4096_key(amd) && is_self_signed(amd));
  for (const auto& other : {elliptic, small}) {
    EXPECT_FALSE(is_signed_with_pss(other) || has_rsa_4096_key(other));
    EXPECT_TRUE(is_self_signed(other));
    EXPECT_EQ(subject_name(other), "ARK-Genoa");
  }
  CertificateSpec forged = root_spec("ARK-Genoa");
  forged.issuer_key = key_of("P-384", 3);
  forged.key = key_of("P-384", 4);
  forged.issuer = forged.subject;
  forged.hash = "SHA384";
  EXPECT_FALSE(is_self_signed(certificate(forged)));
  EXPECT_FALSE(is_self_signed(amd_issuers(Generation::kGenoa).front()));
}

TEST(SnpCrlEdges, SizesAreBounded) {
  const auto& root = amd_root(Generation::kMilan).certificate();
  EXPECT_EQ(open_crl(Bytes(), root).error().error, SnpError::kCrlFormat);
  EXPECT_EQ(open_crl(Bytes(kMaxCrlBytes + 1, 0x30), root).error().error, SnpError::kInputTooLarge);
}

TEST(SnpAttachEdges, EachCertificateHasItsPlaceOnce) {
  const Timestamp now = parse_rfc3339("2026-03-01T12:00:00Z").value();
  const SnpSimulation made =
      simulate(valid_snp_simulation(as_bytes("seed"), now, Generation::kMilan, SigningKey::kVlek));
  const auto table = parse_certificate_table(ByteView(made.evidence).subspan(kReportBytes)).value();
  const ByteView report = ByteView(made.evidence).first(kReportBytes);
  const std::string vlek = x509::pem(x509::Certificate::from_der(table.vlek).value());
  EXPECT_TRUE(attach_certificates(report, as_bytes(vlek)));
  EXPECT_FALSE(attach_certificates(report, as_bytes(vlek + vlek)));
  const std::string other = x509::pem(named_root("another", "P-384"));
  EXPECT_FALSE(attach_certificates(report, as_bytes(other)));
}

TEST(SnpPolicyEdges, ValuesHaveTheirForms) {
  const auto parsed = [](const Json& json) { return parse_appraisal_policy(json).has_value(); };
  const auto measured = [](const std::string& text) {
    return Json{{"reference_values", {{"measurement", {text}}}}};
  };
  EXPECT_TRUE(parsed(measured(std::string(96, 'a'))));
  EXPECT_FALSE(parsed(measured("zz")));
  EXPECT_FALSE(parsed(measured("aa")));
  EXPECT_TRUE(parsed({{"provider_allow_list", {std::string(256, 'a')}}}));
  EXPECT_FALSE(parsed({{"provider_allow_list", {std::string(257, 'a')}}}));
  EXPECT_FALSE(parsed({{"provider_allow_list", {""}}}));
}

TEST(SnpResultEdges, StatusesHaveNames) {
  EXPECT_EQ(name(TcbStatus::kOutOfDate), "OutOfDate");
  EXPECT_EQ(name(TcbStatus::kUnrated), "Unrated");
}

TEST(SnpLeafEdges, TextsAndLevelsHaveOneForm) {
  RawExtensions raw;
  for (auto& level : raw.levels) {
    level = Bytes{0x02, 0x01, 0x00};
  }
  raw.levels.back().reset();  // FMC, from Turin on
  raw.product = to_bytes("\x16\x08Milan-B0");
  raw.chip_id = Bytes(64, 1);
  const auto read = [](const RawExtensions& extensions) {
    return parse_extensions(extensions, SigningKey::kVcek, Generation::kMilan).has_value();
  };
  ASSERT_TRUE(read(raw));
  for (const Bytes& text : {Bytes{0x16, 0x00}, Bytes{0x16, 0x01, 0x1f}, Bytes{0x16, 0x01, 0x7f}}) {
    RawExtensions changed = raw;
    changed.product = text;
    EXPECT_FALSE(read(changed)) << hex_encode(text);
  }
  RawExtensions long_text = raw;
  long_text.product = to_bytes("\x16\x82\x04\x01" + std::string(1025, 'a'));
  EXPECT_FALSE(read(long_text));
  for (const Bytes& level : {Bytes{0x02, 0x02, 0x00, 0x03}, Bytes{0x02, 0x02, 0x01, 0x00}}) {
    RawExtensions changed = raw;
    changed.levels.front() = level;
    EXPECT_FALSE(read(changed)) << hex_encode(level);
  }
  RawExtensions changed = raw;
  changed.chip_id = Bytes{0x04, 0x02, 0x01, 0x02};
  EXPECT_FALSE(read(changed));
}

TEST(SnpVerifyEdges, AnchorsOfOthers_AreNoRoots) {
  const Timestamp now = parse_rfc3339("2026-03-01T12:00:00Z").value();
  const SnpSimulation made = simulate(valid_snp_simulation(as_bytes("seed"), now));
  const SnpSimulation other = simulate(valid_snp_simulation(as_bytes("another"), now));
  const AppraisalPolicy policy;
  const auto verdict = [&](const std::vector<TrustAnchor>& anchors) {
    const auto result = verify(made.evidence, made.collateral, anchors,
                               {now, ReportDataExpectation::not_requested(), policy});
    return result.accepted ? "accepted" : error_code(result).value();
  };
  const TrustAnchor own = TrustAnchor::from_bytes(made.root).value();
  const TrustAnchor foreign = TrustAnchor::from_bytes(other.root).value();
  EXPECT_EQ(verdict({foreign, own}), "accepted");
  EXPECT_EQ(verdict({amd_root(Generation::kGenoa)}), "ROOT_UNTRUSTED");
  EXPECT_NE(verdict({amd_root(Generation::kMilan), foreign}), "accepted");
}

TEST(SnpKnownChains, KeepTheNewest) {
  const Timestamp now = parse_rfc3339("2026-03-01T12:00:00Z").value();
  const SnpSimulation made = simulate(valid_snp_simulation(as_bytes("seed"), now));
  const auto table = parse_certificate_table(ByteView(made.evidence).subspan(kReportBytes)).value();
  const KeyChainPtr chain =
      open_chain(table, SigningKey::kVcek, TrustAnchor::from_bytes(made.root).value(), now).value();
  KnownChains known;
  const auto name_of = [](std::size_t number) { return sha256(as_bytes(std::to_string(number))); };
  for (std::size_t i = 0; i <= kMaxKnownLeaves; ++i) {
    known.keep(name_of(i), chain);
    known.keep(name_of(i), nullptr);  // is known: the first stays
  }
  EXPECT_EQ(known.find(name_of(0)), nullptr);
  EXPECT_EQ(known.find(name_of(1)), chain);
}

}  // namespace
}  // namespace assay::attestation::snp
