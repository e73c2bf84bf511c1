// SPDX-License-Identifier: Apache-2.0
// Forms of what is parsed: extensions, tables, TCBs, policies, CRLs. Bits of a certificate count,
// and a table is never read beyond its end.

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "attestation/simulate/der_writer.h"
#include "attestation/snp/attach.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/leaf.h"
#include "tests/attestation/snp/strict.h"
#include "tests/support/seed.h"

namespace assay::attestation::snp {
namespace {

namespace asn1 = tdx::der;
using testing::anchor_of;
using testing::copy_of;
using testing::test_seed;
using testing::test_time;
using testing::verdict_of;

// --- extensions

RawExtensions sound_extensions(Generation generation) {
  RawExtensions raw;
  for (auto& level : raw.levels) {
    level = asn1::integer(0);
  }
  raw.levels[7] = asn1::integer(219);
  if (generation != Generation::kTurin) {
    raw.levels[8].reset();
  }
  raw.chip_id = Bytes(64, 0xab);
  raw.provider = asn1::value(0x16, as_bytes("CN=acme.example"));
  return raw;
}

struct ExtensionCase {
  const char* name;
  bool is_good;
  void (*change)(RawExtensions&);
  Generation generation = Generation::kMilan;
  SigningKey kind = SigningKey::kVcek;
};

TEST(SnpExtensions, AreStrictInTheirForms) {
  using R = RawExtensions;
  constexpr auto kTurin = Generation::kTurin;
  constexpr auto kVlek = SigningKey::kVlek;
  const std::vector<ExtensionCase> cases = {
      {"raw id", true, [](R&) {}},
      {"id in an OCTET STRING", true, [](R& r) { r.chip_id = asn1::octets(Bytes(64, 0xab)); }},
      {"short id", false, [](R& r) { r.chip_id = Bytes(8, 1); }},
      {"short id of Turin", true, [](R& r) { r.chip_id = Bytes(8, 1); }, kTurin},
      {"the same, in an OCTET STRING", true, [](R& r) { r.chip_id = asn1::octets(Bytes(8, 1)); },
       kTurin},
      {"id of 63 bytes", false, [](R& r) { r.chip_id = Bytes(63, 1); }},
      {"id of 65 bytes", false, [](R& r) { r.chip_id = Bytes(65, 1); }},
      {"OCTET STRING with a byte behind", false,
       [](R& r) {
         r.chip_id = asn1::octets(Bytes(64, 1));
         r.chip_id->push_back(0);
       }},
      {"no id", false, [](R& r) { r.chip_id.reset(); }},
      {"no id of a VLEK", true, [](R& r) { r.chip_id.reset(); }, Generation::kMilan, kVlek},
      {"no provider of a VLEK", false, [](R& r) { r.provider.reset(); }, Generation::kMilan, kVlek},
      {"empty provider", false, [](R& r) { r.provider = asn1::value(0x16, {}); },
       Generation::kMilan, kVlek},
      {"provider in UTF-8", false, [](R& r) { r.provider = asn1::utf8("acme"); },
       Generation::kMilan, kVlek},
      {"provider with a line end", false,
       [](R& r) { r.provider = asn1::value(0x16, as_bytes("a\nb")); }, Generation::kMilan, kVlek},
      {"no microcode", false, [](R& r) { r.levels[7].reset(); }},
      {"microcode of two bytes", false, [](R& r) { r.levels[7] = asn1::integer(256); }},
      {"negative microcode", false, [](R& r) { r.levels[7] = Bytes{0x02, 0x01, 0xdb}; }},
      {"microcode with a zero before", false, [](R& r) { r.levels[7] = Bytes{2, 2, 0, 0x1b}; }},
      {"microcode as ENUMERATED", false, [](R& r) { r.levels[7] = asn1::enumerated(1); }},
      {"microcode and a byte behind", false, [](R& r) { r.levels[7]->push_back(0); }},
      {"reserved level in use", false, [](R& r) { r.levels[4] = asn1::integer(1); }},
      {"reserved level absent", true, [](R& r) { r.levels[4].reset(); }},
      {"FMC before Turin", false, [](R& r) { r.levels[8] = asn1::integer(1); }},
      {"FMC of zero before Turin", true, [](R& r) { r.levels[8] = asn1::integer(0); }},
      {"no FMC of Turin", false, [](R& r) { r.levels[8].reset(); }, kTurin},
      {"product of another type", false, [](R& r) { r.product = asn1::integer(1); }},
  };
  for (const ExtensionCase& one : cases) {
    RawExtensions raw = sound_extensions(one.generation);
    one.change(raw);
    const auto parsed = parse_extensions(raw, one.kind, one.generation);
    EXPECT_EQ(parsed.has_value(), one.is_good) << one.name;
    if (!parsed) {
      EXPECT_EQ(code(parsed.error()), "LEAF_EXTENSION_FORMAT") << one.name;
    } else {
      EXPECT_EQ(parsed->tcb.microcode, 219) << one.name;
    }
  }
}

TEST(SnpExtensions, ChipIdInAnOctetStringIsAccepted) {
  auto spec = valid_snp_simulation(test_seed(), test_time());
  spec.leaf_chip_id = asn1::octets(spec.leaf_chip_id);
  EXPECT_EQ(verdict_of(simulate(spec), AppraisalPolicy{}), "accepted");
}

// --- the certificate, bit by bit

TEST(SnpLeaf, BitsCount) {
  const SnpSimulation made = simulate(valid_snp_simulation(test_seed(), test_time()));
  const auto table = parse_certificate_table(ByteView(made.evidence).subspan(kReportBytes)).value();
  const auto begin = static_cast<std::size_t>(table.vcek.data() - made.evidence.data());
  const TrustAnchor anchor = anchor_of(made);
  const AppraisalPolicy policy;
  const auto collateral = authenticate_collateral(made.collateral, anchor).value();
  const VerifyContext context{test_time(), ReportDataExpectation::not_requested(), policy};
  ASSERT_TRUE(verify(made.evidence, collateral, context).accepted);
  constexpr std::size_t kStep = 17;  // each bit would take ten seconds; fuzzing takes the others
  std::size_t accepted = 0;
  Bytes changed = made.evidence;
  for (std::size_t bit = 0; bit < 8 * table.vcek.size(); bit += kStep) {
    const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
    changed[begin + bit / 8] ^= mask;
    accepted += verify(changed, collateral, context).accepted ? 1U : 0U;
    changed[begin + bit / 8] ^= mask;
  }
  EXPECT_EQ(accepted, 0U);
}

TEST(SnpCrl, EveryBitCounts) {
  const SnpSimulation made = simulate(valid_snp_simulation(test_seed(), test_time()));
  const TrustAnchor anchor = anchor_of(made);
  std::size_t accepted = 0;
  Collateral changed = made.collateral;
  for (std::size_t bit = 0; bit < 8 * changed.crl.size(); ++bit) {
    const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
    changed.crl[bit / 8] ^= mask;
    accepted += authenticate_collateral(changed, anchor).has_value() ? 1U : 0U;
    changed.crl[bit / 8] ^= mask;
  }
  EXPECT_EQ(accepted, 0U);
}

// --- tables

TEST(SnpTable, IsReadAsItIsWritten) {
  const Bytes one(3, 1);
  const Bytes two(5, 2);
  const CertificateTable table{.vcek = one, .vlek = {}, .ask = two, .ark = {}};
  const Bytes written = make_certificate_table(table);
  const auto read = parse_certificate_table(written).value();
  EXPECT_EQ(copy_of(read.vcek), one);
  EXPECT_EQ(copy_of(read.ask), two);
  EXPECT_TRUE(read.vlek.empty() && read.ark.empty());
  EXPECT_TRUE(make_certificate_table({}).empty());
  EXPECT_TRUE(parse_certificate_table({}));
  EXPECT_TRUE(parse_certificate_table(Bytes(4096))) << "a page of zeros";
}

TEST(SnpTable, FormsThatAreRefused) {
  const Bytes certificate(3, 1);
  const Bytes good =
      make_certificate_table({.vcek = certificate, .vlek = {}, .ask = {}, .ark = {}});
  const std::vector<std::pair<const char*, std::function<void(Bytes&)>>> cases = {
      {"no end", [](Bytes& t) { t.resize(24); }},
      {"half an entry", [](Bytes& t) { t.resize(40); }},
      {"beyond the end", [](Bytes& t) { t[20] = 4; }},
      {"far beyond the end", [](Bytes& t) { t[19] = 0xff; }},
      {"offset and length that overflow",
       [](Bytes& t) { std::fill(t.begin() + 16, t.begin() + 24, 0xff); }},
      {"empty", [](Bytes& t) { t[20] = 0; }},
      {"twice", [](Bytes& t) { t.insert(t.begin(), t.begin(), t.begin() + 24); }},
      {"17 entries",
       [](Bytes& t) {
         const Bytes other = Bytes(24, 9);
         Bytes many;
         for (int i = 0; i < 17; ++i) {
           many.insert(many.end(), other.begin(), other.begin() + 16);
           many.insert(many.end(), 8, 0);
         }
         t.insert(t.begin(), many.begin(), many.end());
       }},
  };
  for (const auto& [name, change] : cases) {
    Bytes table = good;
    change(table);
    const auto read = parse_certificate_table(table);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(code(read.error()), "CERT_TABLE_FORMAT") << name;
  }
}

TEST(SnpAttach, PutsCertificatesBehindAReport) {
  const SnpSimulation made = simulate(valid_snp_simulation(test_seed(), test_time()));
  const auto table = parse_certificate_table(ByteView(made.evidence).subspan(kReportBytes)).value();
  const ByteView report = ByteView(made.evidence).first(kReportBytes);
  std::string pem;
  for (const ByteView der : {table.vcek, table.ask, table.ark}) {
    pem += x509::pem(x509::Certificate::from_der(der).value());
  }
  EXPECT_EQ(attach_certificates(report, as_bytes(pem)).value(), made.evidence);
  EXPECT_EQ(attach_certificates(made.evidence, as_bytes(pem)).value(), made.evidence);
  EXPECT_TRUE(attach_certificates(report, table.vcek)) << "in DER";
  EXPECT_FALSE(attach_certificates(report, as_bytes(pem + pem)));
  EXPECT_FALSE(attach_certificates(report.first(100), as_bytes(pem)));
  EXPECT_FALSE(attach_certificates(report, Bytes(10)));
}

// --- TCBs

TEST(SnpTcb, IsComparedPartByPart) {
  std::mt19937_64 engine(random_test_seed());
  const auto any = [&] { return static_cast<std::uint8_t>(engine()); };
  for (int i = 0; i < 2000; ++i) {
    const Tcb tcb{any(), any(), any(), any(), any()};
    const Tcb floor{any(), any(), any(), any(), any()};
    const bool below = tcb.fmc < floor.fmc || tcb.boot_loader < floor.boot_loader ||
                       tcb.tee < floor.tee || tcb.snp < floor.snp ||
                       tcb.microcode < floor.microcode;
    EXPECT_EQ(!first_below(tcb, floor).empty(), below);
    for (const Generation generation : kGenerations) {
      Tcb kept = tcb;
      kept.fmc = generation == Generation::kTurin ? kept.fmc : std::uint8_t{0};
      EXPECT_EQ(decode(encode(kept, generation), generation), kept);
    }
  }
  EXPECT_EQ(first_below({0, 1, 0, 0, 255}, {0, 2, 0, 0, 0}), "boot_loader")
      << "a higher microcode makes up for nothing";
}

TEST(SnpTcb, ProcessorsHaveTheirGeneration) {
  const std::vector<std::tuple<int, int, std::optional<Generation>>> cases = {
      {0x19, 0x00, Generation::kMilan}, {0x19, 0x0f, Generation::kMilan},
      {0x19, 0x10, Generation::kGenoa}, {0x19, 0x1f, Generation::kGenoa},
      {0x19, 0xa0, Generation::kGenoa}, {0x19, 0xaf, Generation::kGenoa},
      {0x19, 0x20, std::nullopt},       {0x19, 0xb0, std::nullopt},
      {0x1a, 0x00, Generation::kTurin}, {0x1a, 0x11, Generation::kTurin},
      {0x1a, 0x12, std::nullopt},       {0x17, 0x31, std::nullopt},
  };
  for (const auto& [family, model, expected] : cases) {
    EXPECT_EQ(
        generation_of_cpu(static_cast<std::uint8_t>(family), static_cast<std::uint8_t>(model)),
        expected)
        << family << " " << model;
  }
}

// --- policies

TEST(SnpPolicy, IsReadAsItIsWritten) {
  const auto spec = testing::strict_spec();
  AppraisalPolicy policy = testing::strict_policy(spec);
  policy.version_2_generation = Generation::kTurin;
  policy.min_tcb[Generation::kTurin] = {{1, 2, 3, 4, 5}, {}, {0, 0, 0, 0, 9}};
  const Json json = to_json(policy);
  EXPECT_EQ(to_json(parse_appraisal_policy(json).value()), json);
  EXPECT_TRUE(parse_appraisal_policy(Json::object()));
}

TEST(SnpPolicy, MembersThatAreRefused) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"([])", ""},
      {R"({"allow":true})", "/allow"},
      {R"({"allow_debug":1})", "/allow_debug"},
      {R"({"max_vmpl":-1})", "/max_vmpl"},
      {R"({"max_vmpl":4294967296})", "/max_vmpl"},
      {R"({"accept_signing_keys":[]})", "/accept_signing_keys"},
      {R"({"accept_signing_keys":["VCEK"]})", "/accept_signing_keys"},
      {R"({"accept_generations":["rome"]})", "/accept_generations"},
      {R"({"accept_generations":"milan"})", "/accept_generations"},
      {R"({"accept_generations":[1]})", "/accept_generations"},
      {R"({"version_2_generation":"rome"})", "/version_2_generation"},
      {R"({"version_2_generation":2})", "/version_2_generation"},
      {R"({"min_tcb":5})", "/min_tcb"},
      {R"({"min_tcb":{"rome":{}}})", "/min_tcb/rome"},
      {R"({"min_tcb":{"milan":5}})", "/min_tcb/milan"},
      {R"({"min_tcb":{"milan":{"current":{}}}})", "/min_tcb/milan/current"},
      {R"({"min_tcb":{"milan":{"reported":219}}})", "/min_tcb/milan/reported"},
      {R"({"min_tcb":{"milan":{"reported":{"fmc":1}}}})", "/min_tcb/milan/reported/fmc"},
      {R"({"min_tcb":{"milan":{"reported":{"snp":256}}}})", "/min_tcb/milan/reported/snp"},
      {R"({"min_tcb":{"milan":{"reported":{"snp":"5"}}}})", "/min_tcb/milan/reported/snp"},
      {R"({"reference_values":[]})", "/reference_values"},
      {R"({"reference_values":{"mrtd":[]}})", "/reference_values/mrtd"},
      {R"({"reference_values":{"host_data":["00"]}})", "/reference_values/host_data"},
      {R"({"reference_values":{"host_data":"00"}})", "/reference_values/host_data"},
      {R"({"platform_allow_list":["00"]})", "/platform_allow_list"},
      {R"({"provider_allow_list":[""]})", "/provider_allow_list"},
  };
  for (const auto& [text, where] : cases) {
    const auto parsed = parse_appraisal_policy(parse_json(as_bytes(text)).value());
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().where, where) << text;
  }
}

// --- anchors and collateral files

TEST(SnpAnchor, IsARootOfAKnownGeneration) {
  for (const Generation generation : kGenerations) {
    const TrustAnchor& root = amd_root(generation);
    EXPECT_TRUE(root.is_amd());
    EXPECT_EQ(root.generation(), generation);
    EXPECT_EQ(amd_issuers(generation).size(), 2U);
    for (const x509::Certificate& issuer : amd_issuers(generation)) {
      EXPECT_FALSE(TrustAnchor::from_bytes(issuer.der())) << "a CA is no root";
    }
  }
  auto spec = valid_snp_simulation(test_seed(), test_time());
  EXPECT_FALSE(anchor_of(simulate(spec)).is_amd()) << "of the same name";
  spec.root.subject = spec.root.issuer = "ARK-Rome";
  EXPECT_FALSE(TrustAnchor::from_bytes(simulate(spec).root));
  spec = valid_snp_simulation(test_seed(), test_time());
  spec.root.hash = HashAlgorithm::kSha256;
  EXPECT_FALSE(TrustAnchor::from_bytes(simulate(spec).root));
  spec = valid_snp_simulation(test_seed(), test_time());
  spec.root.signer = "somebody";
  EXPECT_FALSE(TrustAnchor::from_bytes(simulate(spec).root));
  EXPECT_FALSE(TrustAnchor::from_bytes({}));
}

TEST(SnpCollateralFile, IsJsonOrTheListItself) {
  const SnpSimulation made = simulate(valid_snp_simulation(test_seed(), test_time()));
  EXPECT_EQ(parse_collateral(made.collateral.crl).value().crl, made.collateral.crl);
  EXPECT_EQ(parse_collateral(as_bytes(to_json(made.collateral).dump())).value().crl,
            made.collateral.crl);
  for (const char* text : {"", "5", "[]", "{}", R"({"crl":5})", R"({"crl":""})", R"({"crl":"zz"})",
                           R"({"crl":"30","more":1})"}) {
    EXPECT_FALSE(parse_collateral(as_bytes(text))) << text;
  }
  EXPECT_FALSE(parse_collateral(Bytes(kMaxCollateralBytes + 1, ' ')));
}

}  // namespace
}  // namespace assay::attestation::snp
