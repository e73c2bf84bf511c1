// SPDX-License-Identifier: Apache-2.0
// Certificates, CRLs, anchors, and time to the second.

#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/simulate/der_writer.h"
#include "attestation/tdx/pck_chain.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Options;
using testing::valid_v4;
using testing::verdict;

// Verdict when the quote carries `chain` instead of its own.
std::string with_chain(const SimulationSpec& spec, const std::string& chain) {
  Simulation simulation = simulate(spec);
  simulation.quote = make_quote(spec.quote, spec.seed, chain);
  return verdict(simulation);
}

std::string pem(const CertificateSpec& spec) {
  return to_pem(make_certificate(spec, testing::seed()));
}

CertificateSpec leaf_of(const SimulationSpec& spec) {
  CertificateSpec leaf = spec.pck;
  leaf.sgx_extension = make_sgx_extension(spec.platform);
  return leaf;
}

// An attacker's PKI with the very same names.
SimulationSpec attackers() { return valid_simulation(to_bytes("attacker"), testing::now()); }

TEST(TdxAnchor, NotConfigured_IsNeverAccepted) {
  const Simulation simulation = simulate(valid_v4());
  EXPECT_EQ(verdict(testing::run(simulation, {}, Options{})), "PCK_ROOT_UNTRUSTED");
  EXPECT_FALSE(testing::run(simulation, std::span(&intel_root(), 1)).accepted);
}

TEST(TdxAnchor, OneOfSeveral_IsChosenAndNamed) {
  const Simulation simulation = simulate(valid_v4());
  const TrustAnchor own = TrustAnchor::from_der(simulation.root).value();
  const std::vector<TrustAnchor> anchors = {intel_root(), own};
  const AppraisalResult result = testing::run(simulation, anchors);
  EXPECT_EQ(verdict(result), "OK:UpToDate");
  EXPECT_EQ(result.anchor, own.digest());
  EXPECT_FALSE(result.anchor_is_intel);
}

TEST(TdxAnchor, SameNameOtherKey_IsUntrusted) {
  Simulation simulation = simulate(valid_v4());
  simulation.quote = simulate(attackers()).quote;
  EXPECT_EQ(verdict(simulation), "PCK_ROOT_UNTRUSTED");
}

TEST(TdxAnchor, CollateralOfAnother_IsRefused) {
  Simulation simulation = simulate(valid_v4());
  const Collateral foreign = simulate(attackers()).collateral;
  simulation.collateral.tcb_info_issuer_chain = foreign.tcb_info_issuer_chain;
  EXPECT_EQ(verdict(simulation), "TCB_INFO_ROOT_UNTRUSTED");
  simulation = simulate(valid_v4());
  simulation.collateral.qe_identity_issuer_chain = foreign.qe_identity_issuer_chain;
  EXPECT_EQ(verdict(simulation), "QE_IDENTITY_ROOT_UNTRUSTED");
  simulation.collateral = foreign;
  EXPECT_EQ(verdict(simulation), "ROOT_CRL_SIGNATURE");
}

TEST(TdxAnchor, Parsing_RefusesWhatIsNoRoot) {
  const SimulationSpec spec = valid_v4();
  const Bytes root = simulate(spec).root;
  EXPECT_TRUE(TrustAnchor::from_bytes(root).has_value());
  EXPECT_TRUE(TrustAnchor::from_bytes(as_bytes(to_pem(root))).has_value());
  EXPECT_FALSE(TrustAnchor::from_bytes(as_bytes(pem(spec.pck_ca))).has_value());
  EXPECT_FALSE(TrustAnchor::from_bytes(as_bytes(to_pem(root) + to_pem(root))).has_value());
  EXPECT_FALSE(TrustAnchor::from_bytes({}).has_value());
  Bytes longer = root;
  longer.push_back(0);
  EXPECT_FALSE(TrustAnchor::from_der(longer).has_value());
}

TEST(TdxAnchor, IntelRoot_HasItsKnownDigest) {
  EXPECT_TRUE(intel_root().is_intel());
  EXPECT_EQ(intel_root().digest().hex(),
            "44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3");
}

TEST(TdxPckChain, OtherLengths_AreRefused) {
  const SimulationSpec spec = valid_v4();
  const std::string leaf = pem(leaf_of(spec));
  const std::string ca = pem(spec.pck_ca);
  const std::string root = pem(spec.root);
  EXPECT_EQ(with_chain(spec, leaf + ca), "PCK_CHAIN_LENGTH");
  EXPECT_EQ(with_chain(spec, leaf + ca + root + root), "PCK_CHAIN_LENGTH");
  EXPECT_EQ(with_chain(spec, ""), "PCK_CHAIN_LENGTH");
  EXPECT_EQ(with_chain(spec, leaf + ca + root), "OK:UpToDate");
  EXPECT_EQ(with_chain(spec, leaf + "\r\n" + ca + "\n" + root), "OK:UpToDate");
}

TEST(TdxPckChain, NotPem_IsRefused) {
  const SimulationSpec spec = valid_v4();
  const std::string chain = make_pck_chain(spec);
  EXPECT_EQ(with_chain(spec, "x" + chain), "PCK_CHAIN_FORMAT");
  EXPECT_EQ(with_chain(spec, chain + "x"), "PCK_CHAIN_FORMAT");
  EXPECT_EQ(with_chain(spec, chain + " "), "PCK_CHAIN_FORMAT");
  EXPECT_EQ(with_chain(spec, chain.substr(0, chain.size() - 10)), "PCK_CHAIN_FORMAT");
  EXPECT_EQ(with_chain(spec, chain + std::string(1, '\0')), "PCK_CHAIN_FORMAT");  // a second NUL
}

TEST(TdxPckChain, OtherOrder_IsRefused) {
  const SimulationSpec spec = valid_v4();
  EXPECT_EQ(with_chain(spec, pem(spec.root) + pem(spec.pck_ca) + pem(leaf_of(spec))),
            "PCK_CHAIN_NAMES");
}

TEST(TdxPckChain, KeyOnAnotherCurve_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.pck.other_spki = p384_spki();
  EXPECT_EQ(verdict(spec), "PCK_CERT_KEY_TYPE");
}

TEST(TdxPckChain, KeyOffTheCurve_IsRefused) {
  SimulationSpec spec = valid_v4();
  Bytes point(65, 0x11);
  point.front() = 0x04;
  spec.pck.other_spki = der::sequence(
      {der::sequence({der::oid("1.2.840.10045.2.1"), der::oid("1.2.840.10045.3.1.7")}),
       der::bits(point)});
  EXPECT_EQ(verdict(spec), "PCK_CHAIN_FORMAT");
}

// The signed part, both names of the algorithm, and the signature with the count of its unused
// bits.
TEST(TdxPckChain, LeafWithAnyByteChanged_IsRefused) {
  const SimulationSpec spec = valid_v4();
  const TrustAnchor anchor =
      TrustAnchor::from_der(make_certificate(spec.root, testing::seed())).value();
  const std::string cas = pem(spec.pck_ca) + pem(spec.root);
  const Bytes leaf = make_certificate(leaf_of(spec), testing::seed());
  ASSERT_TRUE(open_pck_chain(to_pem(leaf) + cas, anchor.certificate(), {}));
  for (std::size_t i = 0; i < leaf.size(); ++i) {
    for (const auto bit : {std::uint8_t{0x01}, std::uint8_t{0x80}}) {
      Bytes changed = leaf;
      changed[i] ^= bit;
      EXPECT_FALSE(open_pck_chain(to_pem(changed) + cas, anchor.certificate(), {})) << i;
    }
  }
}

TEST(TdxPckChain, ProcessorCa_IsAccepted) {
  SimulationSpec spec = valid_v4();
  spec.pck_ca.subject = "Intel SGX PCK Processor CA";
  spec.pck.issuer = spec.pck_ca.subject;
  spec.pck_crl.issuer = spec.pck_ca.subject;
  spec.platform.platform_instance_id.reset();
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxPckExtension, TruncatedAtEveryByte_IsNeverParsed) {
  const Bytes whole = make_sgx_extension(valid_v4().platform);
  ASSERT_TRUE(parse_pck_extension(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(parse_pck_extension(cut).has_value()) << size;
  }
}

TEST(TdxPckExtension, Values_AreRead) {
  PckExtension written = valid_v4().platform;
  written.components[9] = 255;  // two bytes in DER
  written.pcesvn = 0x8001;
  const auto read = parse_pck_extension(make_sgx_extension(written));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->components, written.components);
  EXPECT_EQ(read->pcesvn, written.pcesvn);
  EXPECT_EQ(read->ppid, written.ppid);
  EXPECT_EQ(read->fmspc, written.fmspc);
  EXPECT_EQ(read->platform_instance_id, written.platform_instance_id);
}

TEST(TdxPckExtension, RepeatedMember_IsRefused) {
  const std::string arc = "1.2.840.113741.1.13.1";
  const Bytes fmspc = der::sequence({der::oid(arc + ".4"), der::octets(Bytes(6, 1))});
  Bytes extension = make_sgx_extension(valid_v4().platform);
  Bytes content(extension.begin() + 4, extension.end());  // behind 30 82 hh ll
  const Bytes once = der::value(0x30, content);
  ASSERT_TRUE(parse_pck_extension(once).has_value());
  content.insert(content.end(), fmspc.begin(), fmspc.end());
  EXPECT_FALSE(parse_pck_extension(der::value(0x30, content)).has_value());
}

// --- certificates and CRLs that are made with one change

struct Change {
  const char* name;
  void (*change)(SimulationSpec&);
  const char* expected;
};

class TdxCertificateTable : public ::testing::TestWithParam<Change> {};

TEST_P(TdxCertificateTable, OneChange_HasItsVerdict) {
  SimulationSpec spec = valid_v4();
  GetParam().change(spec);
  // The collateral has the same CA in a chain of its own, whose faults would be found before.
  Simulation simulation = simulate(spec);
  simulation.collateral.pck_crl_issuer_chain.clear();
  EXPECT_EQ(verdict(simulation), GetParam().expected);
}

std::string change_name(const ::testing::TestParamInfo<Change>& row) { return row.param.name; }

// The certificate of the key that signs the QE identity: its own, or TCB info would answer first.
CertificateSpec& qe_signing(SimulationSpec& spec) {
  spec.qe_identity_signing = spec.tcb_signing;
  return *spec.qe_identity_signing;
}

const Change kCertificates[] = {
    {"LeafOfAnotherName", [](SimulationSpec& s) { s.pck.subject = "Intel SGX TCB Signing"; },
     "PCK_CHAIN_NAMES"},
    {"LeafOfAnotherIssuer", [](SimulationSpec& s) { s.pck.issuer = "Intel SGX PCK Processor CA"; },
     "PCK_CHAIN_NAMES"},
    {"LeafSignedByAnother", [](SimulationSpec& s) { s.pck.signer = "attacker"; },
     "PCK_CHAIN_SIGNATURE"},
    {"CaSignedByAnother", [](SimulationSpec& s) { s.pck_ca.signer = "attacker"; },
     "PCK_CHAIN_SIGNATURE"},
    {"LeafThatIsCa", [](SimulationSpec& s) { s.pck.is_ca = true; }, "PCK_BASIC_CONSTRAINTS"},
    {"LeafWithUsageOfCa", [](SimulationSpec& s) { s.pck.key_usage = kUsageCa; },
     "PCK_BASIC_CONSTRAINTS"},
    {"CaThatIsNone", [](SimulationSpec& s) { s.pck_ca.is_ca = false; }, "PCK_BASIC_CONSTRAINTS"},
    {"CaWithUsageOfLeaf", [](SimulationSpec& s) { s.pck_ca.key_usage = kUsageSigning; },
     "PCK_BASIC_CONSTRAINTS"},
    {"RootWithoutRoomForACa", [](SimulationSpec& s) { s.root.path_length = 0; },
     "PCK_BASIC_CONSTRAINTS"},
    {"LeafWithoutExtension", [](SimulationSpec& s) { s.pck.sgx_extension = {0x30, 0x00}; },
     "PCK_EXTENSION_FORMAT"},
    {"TcbSigningByAnother", [](SimulationSpec& s) { s.tcb_signing.signer = "attacker"; },
     "TCB_INFO_CHAIN_SIGNATURE"},
    {"TcbSigningThatIsCa", [](SimulationSpec& s) { s.tcb_signing.is_ca = true; },
     "TCB_INFO_BASIC_CONSTRAINTS"},
    {"TcbSigningOfAnotherName", [](SimulationSpec& s) { s.tcb_signing.subject = "Intel SGX Root"; },
     "TCB_INFO_CHAIN_NAMES"},
    {"QeSigningOfAnotherName",
     [](SimulationSpec& s) { qe_signing(s).subject = "Intel SGX PCK Certificate"; },
     "QE_IDENTITY_CHAIN_NAMES"},
    {"QeSigningByAnother", [](SimulationSpec& s) { qe_signing(s).signer = "attacker"; },
     "QE_IDENTITY_CHAIN_SIGNATURE"},
    {"TcbSigningOnAnotherCurve", [](SimulationSpec& s) { s.tcb_signing.other_spki = p384_spki(); },
     "TCB_INFO_CERT_KEY_TYPE"},
    {"QeSigningOnAnotherCurve", [](SimulationSpec& s) { qe_signing(s).other_spki = p384_spki(); },
     "QE_IDENTITY_CERT_KEY_TYPE"},
    {"QeSigningThatIsCa", [](SimulationSpec& s) { qe_signing(s).is_ca = true; },
     "QE_IDENTITY_BASIC_CONSTRAINTS"},
    {"TcbInfoByTheLeaf", [](SimulationSpec& s) { s.tcb_info_signer = kPckKey; },
     "TCB_INFO_SIGNATURE"},
    {"QeIdentityByAnother", [](SimulationSpec& s) { s.qe_identity_signer = "attacker"; },
     "QE_IDENTITY_SIGNATURE"},
};
INSTANTIATE_TEST_SUITE_P(Certificates, TdxCertificateTable, ::testing::ValuesIn(kCertificates),
                         change_name);

const Change kCrls[] = {
    {"LeafRevoked", [](SimulationSpec& s) { s.pck_crl.revoked = {17, s.pck.serial}; },
     "PCK_CERT_REVOKED"},
    {"CaRevoked", [](SimulationSpec& s) { s.root_crl.revoked = {s.pck_ca.serial}; },
     "PCK_CERT_REVOKED"},
    {"TcbSigningRevoked", [](SimulationSpec& s) { s.root_crl.revoked = {s.tcb_signing.serial}; },
     "TCB_INFO_CERT_REVOKED"},
    {"QeSigningRevoked", [](SimulationSpec& s) { s.root_crl.revoked = {++qe_signing(s).serial}; },
     "QE_IDENTITY_CERT_REVOKED"},
    {"OthersRevoked", [](SimulationSpec& s) { s.pck_crl.revoked = {17, 18}; }, "OK:UpToDate"},
    {"RootCrlByAnother", [](SimulationSpec& s) { s.root_crl.signer = "attacker"; },
     "ROOT_CRL_SIGNATURE"},
    {"PckCrlByAnother", [](SimulationSpec& s) { s.pck_crl.signer = "attacker"; },
     "PCK_CRL_SIGNATURE"},
    {"PckCrlOfAnotherIssuer",
     [](SimulationSpec& s) { s.pck_crl.issuer = "Intel SGX PCK Processor CA"; },
     "PCK_CRL_ISSUER_MISMATCH"},
    {"RootCrlOfAnotherIssuer",
     [](SimulationSpec& s) { s.root_crl.issuer = "Intel SGX PCK Platform CA"; },
     "ROOT_CRL_SIGNATURE"},
    {"RootCrlWithoutEnd", [](SimulationSpec& s) { s.root_crl.next_update.reset(); },
     "ROOT_CRL_FORMAT"},
    {"PckCrlWithoutEnd", [](SimulationSpec& s) { s.pck_crl.next_update.reset(); },
     "PCK_CRL_FORMAT"},
    {"PckCrlOfAPart", [](SimulationSpec& s) { s.pck_crl.is_partial = true; }, "PCK_CRL_FORMAT"},
};
INSTANTIATE_TEST_SUITE_P(Crls, TdxCertificateTable, ::testing::ValuesIn(kCrls), change_name);

TEST(TdxCrl, NotACrl_IsRefused) {
  Simulation simulation = simulate(valid_v4());
  for (const std::string text : {"", "zz", "00", "3000"}) {
    simulation.collateral.pck_crl = text;
    EXPECT_EQ(verdict(simulation), "PCK_CRL_FORMAT") << text;
  }
  simulation = simulate(valid_v4());
  simulation.collateral.root_ca_crl += "00";
  EXPECT_EQ(verdict(simulation), "ROOT_CRL_FORMAT");
}

// A chain that is there must be right in every byte that somebody reads.
TEST(TdxCrl, DamagedIssuerChain_IsRefused) {
  Simulation simulation = simulate(valid_v4());
  const std::tuple<std::string Collateral::*, std::string, std::size_t> chains[] = {
      {&Collateral::pck_crl_issuer_chain, "PCK_CRL_CHAIN:", 1},
      {&Collateral::tcb_info_issuer_chain, "TCB_INFO_", 5},
      {&Collateral::qe_identity_issuer_chain, "QE_IDENTITY_", 5}};
  for (const auto& [member, error, step] : chains) {
    std::string& chain = simulation.collateral.*member;
    for (std::size_t at = 0; at < chain.size(); at += step) {
      const char kept = std::exchange(chain[at], chain[at] == 'A' ? 'B' : 'A');
      EXPECT_TRUE(verdict(simulation).starts_with(error)) << error << at;
      chain[at] = kept;
    }
  }
  simulation.collateral.pck_crl_issuer_chain = simulation.collateral.tcb_info_issuer_chain;
  EXPECT_EQ(verdict(simulation), "PCK_CRL_CHAIN:PCK_CHAIN_NAMES");
  SimulationSpec spec = valid_v4();
  spec.root_crl.revoked = {spec.pck_ca.serial};
  EXPECT_EQ(verdict(spec), "PCK_CERT_REVOKED");
}

// Without a chain the quote's CA stands in, and the checks say so.
TEST(TdxCrl, WithoutIssuerChain_IsCheckedUnderTheQuotesCa) {
  Simulation simulation = simulate(valid_v4());
  simulation.collateral.pck_crl_issuer_chain.clear();
  EXPECT_EQ(verdict(simulation), "OK:UpToDate");
  const auto checks = testing::run(simulation).checks;
  const auto check = std::ranges::find(checks, "pck-crl-chain", &Check::id);
  ASSERT_NE(check, checks.end());
  EXPECT_EQ(check->outcome, CheckOutcome::kNotConstrained);
  SimulationSpec spec = valid_v4();
  spec.pck_crl.signer = "attacker";
  simulation = simulate(spec);
  simulation.collateral.pck_crl_issuer_chain.clear();
  EXPECT_EQ(verdict(simulation), "PCK_CRL_SIGNATURE");
  spec = valid_v4();
  spec.root_crl.revoked = {spec.pck_ca.serial};
  simulation = simulate(spec);
  simulation.collateral.pck_crl_issuer_chain.clear();
  EXPECT_EQ(verdict(simulation), "PCK_CERT_REVOKED");
}

// The second in which something begins or ends to be valid, for one part of the evidence.
struct Boundary {
  const char* what;
  void (*set)(SimulationSpec&, Timestamp from, Timestamp until);
  const char* early;
  const char* late;
};

void set_times(CertificateSpec& certificate, Timestamp from, Timestamp until) {
  certificate.not_before = from;
  certificate.not_after = until;
}

void set_times(CrlSpec& crl, Timestamp from, Timestamp until) {
  crl.this_update = from;
  crl.next_update = until;
}

void set_times(Json& document, Timestamp from, Timestamp until) {
  document["issueDate"] = to_rfc3339(from);
  document["nextUpdate"] = to_rfc3339(until);
}

constexpr auto kBoundaries = std::to_array<Boundary>({
    {"root_crl", [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.root_crl, a, b); },
     "ROOT_CRL_NOT_YET_VALID", "ROOT_CRL_EXPIRED"},
    {"pck_crl", [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.pck_crl, a, b); },
     "PCK_CRL_NOT_YET_VALID", "PCK_CRL_EXPIRED"},
    {"pck", [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.pck, a, b); },
     "PCK_CERT_NOT_YET_VALID", "PCK_CERT_EXPIRED"},
    {"pck_ca", [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.pck_ca, a, b); },
     "PCK_CERT_NOT_YET_VALID", "PCK_CERT_EXPIRED"},
    {"root", [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.root, a, b); },
     "PCK_CERT_NOT_YET_VALID", "PCK_CERT_EXPIRED"},
    {"tcb_signing",
     [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.tcb_signing, a, b); },
     "TCB_INFO_CERT_NOT_YET_VALID", "TCB_INFO_CERT_EXPIRED"},
    {"qe_identity_signing",
     [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(qe_signing(s), a, b); },
     "QE_IDENTITY_CERT_NOT_YET_VALID", "QE_IDENTITY_CERT_EXPIRED"},
    {"tcb_info", [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.tcb_info, a, b); },
     "TCB_INFO_NOT_YET_VALID", "TCB_INFO_EXPIRED"},
    {"qe_identity",
     [](SimulationSpec& s, Timestamp a, Timestamp b) { set_times(s.qe_identity, a, b); },
     "QE_IDENTITY_NOT_YET_VALID", "QE_IDENTITY_EXPIRED"},
});

class TdxBoundary : public ::testing::TestWithParam<Boundary> {};
INSTANTIATE_TEST_SUITE_P(Parts, TdxBoundary, ::testing::ValuesIn(kBoundaries),
                         [](const auto& test) { return test.param.what; });

TEST_P(TdxBoundary, FirstAndLastSecond_AreValid) {
  const Timestamp from = testing::now() - std::chrono::hours(7);
  const Timestamp until = testing::now() + std::chrono::hours(7);
  SimulationSpec spec = valid_v4();
  GetParam().set(spec, from, until);
  const Simulation simulation = simulate(spec);
  const auto at = [&](Timestamp now) {
    Options options;
    options.now = now;
    return verdict(simulation, options);
  };
  EXPECT_EQ(at(from - milliseconds(1)), GetParam().early);
  EXPECT_EQ(at(from), "OK:UpToDate");
  EXPECT_EQ(at(until), "OK:UpToDate");
  EXPECT_EQ(at(until + milliseconds(1)), GetParam().late);
  EXPECT_EQ(at(until + seconds(1)), GetParam().late);
}

TEST_P(TdxBoundary, ValidityOfTheResult_IsTheNarrowestPart) {
  const Timestamp from = testing::now() - std::chrono::hours(7);
  const Timestamp until = testing::now() + std::chrono::hours(7);
  SimulationSpec spec = valid_v4();
  GetParam().set(spec, from, until);
  const AppraisalResult result = testing::run(simulate(spec));
  EXPECT_EQ(result.valid_from, from);
  EXPECT_EQ(result.valid_until, until);
}

TEST(TdxTime, ClockNotSet_IsRefused) {
  Options options;
  options.now = Timestamp{};
  EXPECT_EQ(verdict(valid_v4(), options), "ROOT_CRL_NOT_YET_VALID");
}

TEST(TdxAuthenticated, UsedAfterItsEnd_IsRefused) {
  const Simulation simulation = simulate(valid_v4());
  const auto collateral = testing::authenticate(simulation);
  const AppraisalPolicy policy;
  const auto at = [&](Timestamp now) {
    return verdict(verify(simulation.quote, collateral,
                          VerifyContext{now, ReportDataExpectation::not_requested(), policy}));
  };
  EXPECT_EQ(at(testing::now()), "OK:UpToDate");
  EXPECT_EQ(at(collateral.valid_until()), "OK:UpToDate");
  EXPECT_EQ(at(collateral.valid_until() + seconds(1)), "PCK_CRL_EXPIRED");
}

TEST(TdxAuthenticated, SharedByThreads_ServesThemAll) {
  const Simulation simulation = simulate(valid_v4());
  const auto collateral = testing::authenticate(simulation);
  const AppraisalPolicy policy;
  const VerifyContext context{testing::now(), ReportDataExpectation::not_requested(), policy};
  std::atomic<int> accepted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 10; ++j) {
          accepted += verify(simulation.quote, collateral, context).accepted ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(accepted, 40);
}

}  // namespace
}  // namespace assay::attestation::tdx
