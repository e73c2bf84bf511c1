// SPDX-License-Identifier: Apache-2.0
// Quotes, certificates and documents of other projects, and what their parsers read in them. What
// is not in tests/vectors/tdx is read beside the repository, where it is there.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/tdx/certificate.h"
#include "attestation/tdx/pck_chain.h"
#include "attestation/tdx/quote_platform.h"
#include "attestation/tdx/verify.h"
#include "schemas/core/sha.h"
#include "tests/attestation/tdx/shared_vectors.h"

namespace assay::attestation::tdx {
namespace {

using testing::read_file;
using testing::read_json;
using testing::vectors_folder;

std::filesystem::path stored(const std::string& name) {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/tdx" / name;
}

// --- documents in tests/vectors/tdx

// A machine whose module is up to date and whose platform is not. There is no CRL of that month, so
// that verify() cannot be asked.
TEST(TdxForeignEvidence, ModuleThatIsUpToDate_DoesNotHideTheOldPlatform) {
  const Bytes bytes = read_file(stored("v4-2025-11-old-platform.quote"));
  const TcbInfo info =
      parse_tcb_info(read_json(stored("2025-11.tcb-info.json")).at("tcbInfo").dump()).value();
  const QeIdentity qe =
      parse_qe_identity(read_json(stored("2025-11.qe-identity.json")).at("enclaveIdentity").dump())
          .value();
  const QuoteView quote = parse_quote(bytes).value();
  const PckExtension pck = claimed_platform(bytes).value();
  EXPECT_EQ(pck.fmspc, info.fmspc);
  EXPECT_EQ(pck.pceid, info.pceid);
  EXPECT_TRUE(check_qe(qe, quote.qe_report));
  const ModuleIdentity* module = check_module(info, quote.report).value();
  EXPECT_EQ(module->major, 3);
  const TcbEvaluation tcb = evaluate_tcb(info, qe.levels, pck, quote, *module).value();
  EXPECT_EQ(tcb.status, TcbStatus::kOutOfDate);
  EXPECT_EQ(tcb.platform, TcbStatus::kOutOfDate);
  EXPECT_EQ(tcb.module, TcbStatus::kUpToDate);
  EXPECT_EQ(tcb.qe, TcbStatus::kUpToDate);
  const std::vector<Shortfall> low = shortfalls(info, qe.levels, pck, quote);
  const auto pcesvn = std::ranges::find(low, "pcesvn", &Shortfall::component);
  ASSERT_NE(pcesvn, low.end());
  EXPECT_EQ(pcesvn->have, 11U);
  EXPECT_EQ(pcesvn->need, 13U);
}

// Collateral of a family of which no quote is here.
TEST(TdxForeignEvidence, CollateralOfAThirdFamily_IsIntels) {
  const Collateral collateral =
      parse_collateral(read_file(stored("2025-09.collateral.json"))).value();
  std::vector<Check> checks;
  const auto set = authenticate_collateral(collateral, intel_root(), checks);
  ASSERT_TRUE(set) << code(set.error());
  EXPECT_EQ(hex_encode(set->tcb_info().fmspc), "20a06f000000");
  EXPECT_EQ(set->tcb_info().evaluation_number, 17U);
  EXPECT_EQ(to_rfc3339(set->valid_from()), "2025-09-02T07:41:59.000Z");
  EXPECT_EQ(to_rfc3339(set->valid_until()), "2025-10-02T07:03:51.000Z");
}

// --- quotes beside the repository, and what others read in them

class SharedEvidence : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(vectors_folder())) {
      GTEST_SKIP() << "needs the shared vectors";
    }
  }
};

// Quotes that are text there are beside them as bytes.
std::filesystem::path quote_file(const std::string& path) {
  if (!path.ends_with(".hex")) {
    return vectors_folder() / path;
  }
  const std::size_t slash = path.find('/');
  return vectors_folder() / "extracted" /
         (path.substr(0, slash) + "__" + path.substr(slash + 1) + ".bin");
}

template <typename Field>
void same_hex(const Json& theirs, const char* member, const Field& field) {
  if (!theirs.at(member).is_null()) {
    EXPECT_EQ(theirs.at(member), hex_encode(field)) << theirs.at("path") << " " << member;
  }
}

void compare_report(const Json& theirs, const QuoteView& quote) {
  const TdReport& report = quote.report;
  same_hex(theirs, "tee_tcb_svn", report.tee_tcb_svn);
  same_hex(theirs, "td_attributes", report.tdattributes);
  same_hex(theirs, "xfam", report.xfam);
  same_hex(theirs, "report_data", report.report_data);
  same_hex(theirs, "mr_td", report.mrtd);
  same_hex(theirs, "qe_mrsigner", quote.qe_report.mrsigner);
  EXPECT_EQ(theirs.at("qe_isvsvn"), quote.qe_report.isvsvn) << theirs.at("path");
  for (std::size_t i = 0; i < report.rtmr.size(); ++i) {
    EXPECT_EQ(theirs.at("rtmr").at(i), hex_encode(report.rtmr[i])) << theirs.at("path");
  }
  EXPECT_EQ(theirs.at("body_type").is_null(), quote.version == 4) << theirs.at("path");
  if (quote.version == 5) {
    EXPECT_EQ(theirs.at("body_type"), static_cast<int>(quote.body_type)) << theirs.at("path");
    same_hex(theirs, "tee_tcb_svn2", report.tee_tcb_svn2);
    EXPECT_EQ(theirs.at("mr_servicetd_nonzero"), report.mrservicetd != Measurement{});
  }
}

void compare_places(const Json& theirs, const QuoteView& quote, ByteView bytes) {
  const auto at = [&](ByteView part) { return part.data() - bytes.data(); };
  const Json& offsets = theirs.at("offsets");
  EXPECT_EQ(offsets.at("sig"), at(quote.signature)) << theirs.at("path");
  EXPECT_EQ(offsets.at("sig_len"), quote.signed_part.size()) << theirs.at("path");
  EXPECT_EQ(offsets.at("cert"), at(quote.pck_chain)) << theirs.at("path");
  EXPECT_EQ(offsets.at("cert_len"), quote.pck_chain.size()) << theirs.at("path");
}

void compare_platform(const Json& theirs, ByteView bytes) {
  if (theirs.at("fmspc").is_null()) {
    EXPECT_FALSE(claimed_platform(bytes)) << theirs.at("path");
    return;
  }
  const PckExtension pck = claimed_platform(bytes).value();
  const ClaimedFamily family = claimed_family(bytes).value();
  same_hex(theirs, "fmspc", pck.fmspc);
  EXPECT_EQ(theirs.at("pcesvn"), pck.pcesvn) << theirs.at("path");
  EXPECT_EQ(theirs.at("comps"), Json(pck.components)) << theirs.at("path");
  EXPECT_EQ(theirs.at("root_is_intel"), family.root == intel_root().der()) << theirs.at("path");
  EXPECT_EQ(theirs.at("issuer"), "Intel SGX PCK Platform CA") << theirs.at("path");
  EXPECT_EQ(family.ca, "platform") << theirs.at("path");
}

TEST_F(SharedEvidence, EveryQuote_IsReadAsTheReferenceReadsIt) {
  std::size_t of_tdx = 0;
  std::size_t of_sgx = 0;
  for (const Json& theirs : read_json(vectors_folder() / "quotes_parsed.json")) {
    const std::filesystem::path file = quote_file(theirs.at("path").get<std::string>());
    if (!std::filesystem::exists(file)) {
      continue;  // kept aside
    }
    Bytes bytes = read_file(file);
    EXPECT_EQ(theirs.at("size"), bytes.size()) << file;
    EXPECT_EQ(theirs.at("sha256"), sha256(bytes).hex()) << file;
    if (theirs.at("tee") == "0x0") {
      EXPECT_EQ(code(parse_quote(bytes).error()), "TEE_TYPE_UNSUPPORTED") << file;
      ++of_sgx;
      continue;
    }
    const Json& offsets = theirs.at("offsets");
    if (offsets.at("trailing_nonzero").get<bool>()) {
      EXPECT_EQ(code(parse_quote(bytes).error()), "TRAILING_DATA_NONZERO") << file;
      bytes.resize(bytes.size() - offsets.at("trailing").get<std::size_t>());
    }
    const auto quote = parse_quote(bytes);
    ASSERT_TRUE(quote) << file << ": " << code(quote.error());
    EXPECT_EQ(theirs.at("version"), quote->version) << file;
    compare_report(theirs, *quote);
    compare_places(theirs, *quote, bytes);
    compare_platform(theirs, bytes);
    ++of_tdx;
  }
  EXPECT_EQ(of_tdx, 15U);
  EXPECT_EQ(of_sgx, 4U);
}

TEST_F(SharedEvidence, Claims_AreThoseOfTrustee) {
  const Json theirs = read_json(vectors_folder() /
                                "confidential-containers_trustee/parse_tdx_claims_expected.json");
  const Bytes bytes = read_file(stored("v4-2023-07-debug.quote"));
  const TdReport report = parse_quote(bytes).value().report;
  const Json ours = {{"mr_config_id", hex_encode(report.mrconfigid)},
                     {"mr_owner", hex_encode(report.mrowner)},
                     {"mr_owner_config", hex_encode(report.mrownerconfig)},
                     {"mr_seam", hex_encode(report.mrseam)},
                     {"mr_td", hex_encode(report.mrtd)},
                     {"mrsigner_seam", hex_encode(report.mrsignerseam)},
                     {"report_data", hex_encode(report.report_data)},
                     {"rtmr_0", hex_encode(report.rtmr[0])},
                     {"rtmr_1", hex_encode(report.rtmr[1])},
                     {"rtmr_2", hex_encode(report.rtmr[2])},
                     {"rtmr_3", hex_encode(report.rtmr[3])},
                     {"seam_attributes", hex_encode(report.seamattributes)},
                     {"tcb_svn", hex_encode(report.tee_tcb_svn)},
                     {"td_attributes", hex_encode(report.tdattributes)},
                     {"xfam", hex_encode(report.xfam)}};
  EXPECT_EQ(theirs.at("quote").at("body"), ours);
  EXPECT_EQ(theirs.at("report_data"), ours.at("report_data"));
  EXPECT_EQ(theirs.at("init_data"), ours.at("mr_config_id"));
  // Trustee writes this one backwards.
  auto instance = claimed_platform(bytes).value().platform_instance_id.value();
  std::ranges::reverse(instance);
  EXPECT_EQ(theirs.at("platform_instance_id"), hex_encode(instance));
}

TEST_F(SharedEvidence, SamplesThatAreNoTcbInfoForTdx_AreRefused) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"intel_QVL/tdx/tcbInfo.json", "TCB_INFO_FORMAT"},                     // versions above 255
      {"intel_QVL/sgx/tcbInfo.json", "TCB_INFO_FORMAT"},                     // version 2: no id
      {"intel_tee.dcap/PCKCertSelection/tcb_info.json", "TCB_INFO_FORMAT"},  // version 1
      {"intel_tee.dcap/PCKCertSelection/tcb_info_4.json", "TCB_INFO_ID_MISMATCH"}};
  for (const auto& [name, expected] : cases) {
    const auto info = parse_tcb_info(read_json(vectors_folder() / name).at("tcbInfo").dump());
    ASSERT_FALSE(info) << name;
    EXPECT_EQ(code(info.error()), expected) << name;
  }
}

// Signed by Intel, and about the quoting enclave of SGX.
TEST_F(SharedEvidence, QeIdentityOfSgx_IsRefused) {
  Collateral collateral = parse_collateral(read_file(stored("2025-07.collateral.json"))).value();
  const Collateral of_sgx =
      parse_collateral(
          read_file(vectors_folder() / "Phala-Network_dcap-qvl/sgx_quote_collateral.json"))
          .value();
  collateral.qe_identity = of_sgx.qe_identity;
  collateral.qe_identity_signature = of_sgx.qe_identity_signature;
  collateral.qe_identity_issuer_chain = of_sgx.qe_identity_issuer_chain;
  std::vector<Check> checks;
  const auto set = authenticate_collateral(collateral, intel_root(), checks);
  ASSERT_FALSE(set);
  EXPECT_EQ(code(set.error()), "QE_IDENTITY_ID_MISMATCH");
}

// Certificates of an early form: the SGX extension is critical, and there is no instance.
TEST_F(SharedEvidence, SamplesOfPckCertificates_AreRead) {
  // How many of the 16 components are 1, the others being 0; and PCESVN.
  const std::vector<std::pair<std::size_t, int>> expected = {{12, 6}, {16, 5}, {4, 4}, {11, 4},
                                                             {16, 7}, {14, 8}, {12, 5}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Bytes pem = read_file(vectors_folder() / "intel_tee.dcap/PCKCertSelection" /
                                ("pck" + std::to_string(i) + "_sample.pem"));
    const auto ders = split_pem_chain(as_text(pem));
    ASSERT_TRUE(ders && ders->size() == 1) << i;
    const CertificatePtr certificate = parse_certificate(ders->front());
    ASSERT_NE(certificate, nullptr) << i;
    const auto pck = parse_pck_extension(sgx_extension(*certificate));
    ASSERT_TRUE(pck) << i;
    PckExtension theirs;
    theirs.ppid = {0x13, 0x6e};
    std::fill_n(theirs.components.begin(), expected[i].first, 1);
    theirs.pcesvn = static_cast<std::uint16_t>(expected[i].second);
    theirs.fmspc = {0x00, 0x70, 0x7f};
    EXPECT_EQ(*pck, theirs) << i;
  }
}

}  // namespace
}  // namespace assay::attestation::tdx
