// SPDX-License-Identifier: Apache-2.0
// Reports of real machines (tests/vectors/snp), and what becomes of each when one thing about it is
// changed.

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "attestation/snp/azure_report.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/verify.h"

namespace assay::attestation::snp {
namespace {

Bytes load(const std::string& name) {
  const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/snp" / name;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// All that verification is given: AMD's roots, and no CRL, which no source of vectors has.
struct Given {
  std::string report;
  std::string leaf;
  std::string now = "2025-06-01T00:00:00Z";
  std::function<void(AppraisalPolicy&)> change_policy = [](AppraisalPolicy&) {};
  std::function<void(Bytes&)> change = [](Bytes&) {};
};

AppraisalPolicy lenient() {
  AppraisalPolicy policy;
  policy.dangerous_allow_missing_crl = true;
  policy.version_2_generation = Generation::kMilan;
  return policy;
}

std::vector<TrustAnchor> amd_roots() {
  return {amd_root(Generation::kMilan), amd_root(Generation::kGenoa), amd_root(Generation::kTurin)};
}

Bytes evidence_of(const Given& given) {
  const Bytes leaf = load(given.leaf);
  CertificateTable table;
  (given.leaf.ends_with(".vlek.der") ? table.vlek : table.vcek) = leaf;
  Bytes evidence = load(given.report);
  if (is_azure_report(evidence)) {
    const ByteView report = parse_azure_report(evidence).value().report;
    evidence = Bytes(report.begin(), report.end());
  }
  const Bytes certificates = make_certificate_table(table);
  evidence.insert(evidence.end(), certificates.begin(), certificates.end());
  return evidence;
}

AppraisalResult judge(const Bytes& evidence, const Given& given) {
  AppraisalPolicy policy = lenient();
  given.change_policy(policy);
  const auto roots = amd_roots();
  return verify(evidence, Collateral{}, roots,
                {parse_rfc3339(given.now).value(), ReportDataExpectation::not_requested(), policy});
}

std::string verdict(const Given& given) {
  Bytes evidence = evidence_of(given);
  given.change(evidence);
  const AppraisalResult result = judge(evidence, given);
  EXPECT_EQ(result.accepted, !result.failure.has_value());
  return error_code(result).value_or("accepted");
}

struct RealCase {
  const char* name;
  const char* expected;
  Given given;
};

TEST(SnpRealReports, AreJudgedAsTheirSourcesSay) {
  const std::vector<RealCase> cases = {
      {"Milan", "accepted", {"v2-milan.report", "v2-milan.vcek.der"}},
      {"debug", "GUEST_DEBUG", {"v2-milan-debug.report", "v2-milan-debug.vcek.der"}},
      {"debug allowed",
       "accepted",
       {"v2-milan-debug.report", "v2-milan-debug.vcek.der", "2025-06-01T00:00:00Z",
        [](AppraisalPolicy& policy) { policy.allow_debug = true; }}},
      {"issuer unknown", "ROOT_UNTRUSTED", {"v2-milan.report", "unknown-issuer-new.vcek.der"}},
      {"issuer unknown", "ROOT_UNTRUSTED", {"v2-milan.report", "unknown-issuer-legacy.vcek.der"}},
      {"VLEK at VMPL 1", "VMPL_TOO_HIGH", {"v3-milan-vlek.report", "v3-milan-vlek.vlek.der"}},
      {"VLEK",
       "accepted",
       {"v3-milan-vlek.report", "v3-milan-vlek.vlek.der", "2025-06-01T00:00:00Z",
        [](AppraisalPolicy& policy) { policy.max_vmpl = 1; }}},
      {"VLEK of last year",
       "CERT_EXPIRED",
       {"v3-milan-vlek.report", "v3-milan-vlek.vlek.der", "2026-01-01T00:00:00Z",
        [](AppraisalPolicy& policy) { policy.max_vmpl = 1; }}},
      {"Azure, version 2", "accepted", {"v2-milan-azure.hcl", "v2-milan-azure.vcek.der"}},
      {"Azure, version 3", "accepted", {"v3-milan-azure.report", "v3-milan-azure.vcek.der"}},
      {"Azure, Genoa", "accepted", {"v3-genoa-azure.report", "v3-genoa-azure.vcek.der"}},
      {"certificate of another chip",
       "CHAIN_NAMES",
       {"v2-milan-azure.hcl", "v3-genoa-azure.vcek.der"}},
      {"certificate of another Milan",
       "LEAF_TCB_MISMATCH",
       {"v2-milan.report", "v2-milan-debug.vcek.der"}},
      {"version 2 without a generation",
       "GENERATION_UNKNOWN",
       {"v2-milan.report", "v2-milan.vcek.der", "2025-06-01T00:00:00Z",
        [](AppraisalPolicy& policy) { policy.version_2_generation.reset(); }}},
      {"version 2 of another generation",
       "CHAIN_NAMES",
       {"v2-milan.report", "v2-milan.vcek.der", "2025-06-01T00:00:00Z",
        [](AppraisalPolicy& policy) { policy.version_2_generation = Generation::kGenoa; }}},
      {"no CRL",
       "CRL_MISSING",
       {"v3-genoa-azure.report", "v3-genoa-azure.vcek.der", "2025-06-01T00:00:00Z",
        [](AppraisalPolicy& policy) { policy.dangerous_allow_missing_crl = false; }}},
  };
  for (const RealCase& one : cases) {
    EXPECT_EQ(verdict(one.given), one.expected) << one.name;
  }
}

TEST(SnpAzureReport, RuntimeData_AreWhatTheReportNames) {
  const Bytes whole = load("v2-milan-azure.hcl");
  const AzureReport read = parse_azure_report(whole).value();
  EXPECT_EQ(parse_report(read.report).value().report_data, read.report_data);
  EXPECT_EQ(read.user_data, ReportData{});
}

// No bit of the header and none of the runtime data may change: the form is refused, or other data
// are named.
TEST(SnpAzureReport, EachBitAroundTheReport_Counts) {
  const Bytes whole = load("v2-milan-azure.hcl");
  const ReportData named = parse_azure_report(whole).value().report_data;
  constexpr std::size_t kUsed = 32;  // its bytes 8 to 11 count what is in use, which no check needs
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    if ((byte >= 8 && byte < 12) || (byte >= kUsed && byte < kUsed + kReportBytes)) {
      continue;
    }
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes changed = whole;
      changed[byte] ^= static_cast<std::uint8_t>(1U << bit);
      const auto read = parse_azure_report(changed);
      // Versions 1 and 2 have one form.
      EXPECT_TRUE(!read || read->report_data != named || changed[4] == 2) << byte << " " << bit;
    }
  }
}

TEST(SnpAzureReport, AnythingShorter_IsRefused) {
  Bytes whole = load("v2-milan-azure.hcl");
  const std::size_t end = 1236 + 1110;
  ASSERT_TRUE(parse_azure_report(ByteView(whole).first(end)));
  for (std::size_t size = 0; size < end; ++size) {
    EXPECT_EQ(parse_azure_report(ByteView(whole).first(size)).error().code,
              ErrorCode::kInvalidEncoding)
        << size;
  }
  whole.resize((16U << 10) + 1);
  EXPECT_FALSE(parse_azure_report(whole));
}

TEST(SnpRealReports, SayWhatTheyAre) {
  const Given given{"v3-genoa-azure.report", "v3-genoa-azure.vcek.der"};
  const Json json = to_json(judge(evidence_of(given), given));
  EXPECT_EQ(json["generation"], "genoa");
  EXPECT_EQ(json["anchor_is_amd"], true);
  EXPECT_EQ(json["tcb"]["status"], "Unrated");
  EXPECT_EQ(json["platform"]["id"].get<std::string>().size(), 128U);
  EXPECT_EQ(json["measurements"]["policy"]["debug"], false);
}

// Bits of one report, in parts so that no test is a long one.
class SnpReportBits : public ::testing::TestWithParam<std::size_t> {};
constexpr std::size_t kParts = 5;

TEST_P(SnpReportBits, EachCounts) {
  const Given given{"v3-genoa-azure.report", "v3-genoa-azure.vcek.der"};
  Bytes evidence = evidence_of(given);
  // The collateral remembers the certificate, so that each case is one signature at most.
  const auto collateral =
      authenticate_collateral(Collateral{}, amd_root(Generation::kGenoa)).value();
  const AppraisalPolicy policy = lenient();
  const VerifyContext context{parse_rfc3339(given.now).value(),
                              ReportDataExpectation::not_requested(), policy};
  ASSERT_TRUE(verify(evidence, collateral, context).accepted);
  std::size_t accepted = 0;
  for (std::size_t bit = GetParam(); bit < 8 * kReportBytes; bit += kParts) {
    const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
    evidence[bit / 8] ^= mask;
    accepted += verify(evidence, collateral, context).accepted ? 1U : 0U;
    evidence[bit / 8] ^= mask;
  }
  EXPECT_EQ(accepted, 0U);
}
INSTANTIATE_TEST_SUITE_P(OfAReport, SnpReportBits, ::testing::Range<std::size_t>(0, kParts));

TEST(SnpRealReports, NoPrefixIsAccepted) {
  const Given given{"v2-milan.report", "v2-milan.vcek.der"};
  const Bytes good = evidence_of(given);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const AppraisalResult result =
        judge(Bytes(good.begin(), good.begin() + static_cast<long>(size)), given);
    EXPECT_FALSE(result.accepted) << size;
  }
}

}  // namespace
}  // namespace assay::attestation::snp
