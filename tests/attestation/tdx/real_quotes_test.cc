// SPDX-License-Identifier: Apache-2.0
// Quotes of real machines with Intel's collateral of their time (tests/vectors/tdx), and what
// becomes of each when one thing about it is changed.

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/tdx/verify.h"
#include "tests/attestation/tdx/other_signature.h"
#include "tests/attestation/tdx/shared_vectors.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::read_file;

// Offsets in a version 4 quote; behind the body of a version 5 quote they are kV5 further on.
constexpr std::size_t kMrTd = 184;
constexpr std::size_t kReportData = 568;
constexpr std::size_t kSignatureLength = 632;
constexpr std::size_t kSignature = 636;
constexpr std::size_t kAttestationKey = 700;
constexpr std::size_t kOuterSize = 766;
constexpr std::size_t kQeReport = 770;
constexpr std::size_t kQeReportSignature = 1154;
constexpr std::size_t kAuthSize = 1218;
constexpr std::size_t kAuth = 1220;
constexpr std::size_t kInnerSize = 1254;
constexpr std::size_t kPckChain = 1258;
constexpr std::size_t kV5 = 70;

// All that verification is given.
struct Given {
  Bytes quote;
  Collateral collateral;
  TrustAnchor anchor = intel_root();
  Timestamp now;
  AppraisalPolicy policy;
  ReportDataExpectation report_data = ReportDataExpectation::not_requested();
};

std::filesystem::path folder() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/tdx";
}

Collateral collateral(const std::string& name) {
  return parse_collateral(read_file(folder() / (name + ".collateral.json"))).value();
}

Given given(const std::string& quote, const std::string& collateral_name, const char* now) {
  return {.quote = read_file(folder() / (quote + ".quote")),
          .collateral = collateral(collateral_name),
          .now = parse_rfc3339(now).value(),
          .policy = {}};
}

Given v4() { return given("v4-2025-07", "2025-07", "2025-07-01T00:00:00Z"); }
Given v5() { return given("v5-2026-03", "2026-03", "2026-03-01T00:00:00Z"); }
Given debug() { return given("v4-2023-07-debug", "2023-07", "2023-07-01T01:00:00Z"); }
Given azure() { return given("v4-2025-06-azure", "2025-06", "2025-06-25T00:00:00Z"); }
Given sandbox() { return given("v5-sandbox-root", "2026-03", "2026-03-01T00:00:00Z"); }
Given low_tcb() { return given("v5-2026-03-low-tcb", "2026-03", "2026-03-01T00:00:00Z"); }

std::string verdict(const Given& given) {
  return testing::verdict(verify(given.quote, given.collateral, std::span(&given.anchor, 1),
                                 {given.now, given.report_data, given.policy}));
}

void flip(Bytes& bytes, std::size_t offset) { bytes.at(offset) ^= 1U; }

// Another digit at `offset` of a hex text.
void change_digit(std::string& hex, std::size_t offset) {
  hex.at(offset) = hex.at(offset) == '0' ? '1' : '0';
}

// Replaces the only `from`.
void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

void at(Given& given, const char* now) { given.now = parse_rfc3339(now).value(); }

struct Row {
  const char* name;
  Given (*base)();
  void (*change)(Given&);
  const char* expected;
};

void nothing(Given&) {}

const Row kAsTheyAre[] = {
    {"V4_IsUpToDate", v4, nothing, "OK:UpToDate"},
    {"V5_IsUpToDate", v5, nothing, "OK:UpToDate"},
    {"V5PlatformBelowEveryLevel", low_tcb, nothing, "TCB_LEVEL_NOT_SUPPORTED"},
    {"V5SandboxRootOfTheSameName", sandbox, nothing, "PCK_ROOT_UNTRUSTED"},
    {"TdThatMayBeInterruptedAtAnyPage", azure, nothing, "TD_SEPT_VE_DISABLE_NOT_SET"},
    {"TdOfAPlatformThatIsOutOfDate", azure,
     [](Given& g) { g.policy.require_sept_ve_disable = false; },
     "TCB_STATUS_NOT_ACCEPTED:OutOfDate"},
    {"DebugTd", debug, nothing, "TD_DEBUG_ENABLED"},
    {"DebugTdThatThePolicyAllows", debug, [](Given& g) { g.policy.allow_debug = true; },
     "OK:UpToDate"},
};

const Row kForm[] = {
    {"Empty", v4, [](Given& g) { g.quote.clear(); }, "QUOTE_TRUNCATED"},
    {"CutInTheHeader", v4, [](Given& g) { g.quote.resize(47); }, "QUOTE_TRUNCATED"},
    {"CutInTheBody", v4, [](Given& g) { g.quote.resize(631); }, "QUOTE_TRUNCATED"},
    {"CutBehindTheBodyOfV5", v5, [](Given& g) { g.quote.resize(kSignatureLength + kV5); },
     "QUOTE_TRUNCATED"},
    {"CutInTheSignature", v4, [](Given& g) { g.quote.resize(kQeReport); }, "SIG_DATA_LEN_OVERRUN"},
    {"Version6", v4, [](Given& g) { g.quote.at(0) = 6; }, "QUOTE_VERSION_UNSUPPORTED"},
    {"KeyOfP384", v4, [](Given& g) { g.quote.at(2) = 3; }, "ATT_KEY_TYPE_UNSUPPORTED"},
    {"TypeOfSgx", v4, [](Given& g) { g.quote.at(4) = 0; }, "TEE_TYPE_UNSUPPORTED"},
    {"ReservedByte", v4, [](Given& g) { g.quote.at(8) = 1; }, "HEADER_RESERVED_NONZERO"},
    {"Vendor", v4, [](Given& g) { flip(g.quote, 12); }, "QE_VENDOR_UNKNOWN"},
    {"BodyTypeOfV5", v5, [](Given& g) { g.quote.at(48) = 9; }, "BODY_TYPE_UNSUPPORTED"},
    {"BodySizeOfV5", v5, [](Given& g) { flip(g.quote, 50); }, "BODY_SIZE_MISMATCH"},
    {"SignatureLongerThanTheQuote", v4, [](Given& g) { g.quote.at(kSignatureLength + 2) = 1; },
     "SIG_DATA_LEN_OVERRUN"},
    {"SizeOfCertificationData", v4, [](Given& g) { flip(g.quote, kOuterSize); },
     "CERT_DATA_SIZE_OUTER"},
    {"SizeOfAuthData", v4, [](Given& g) { g.quote.at(kAuthSize + 1) = 0xff; },
     "QE_AUTH_DATA_OVERRUN"},
    {"SizeOfTheChain", v4, [](Given& g) { flip(g.quote, kInnerSize); }, "CERT_DATA_SIZE_INNER"},
    {"BytesBehindIt", v4, [](Given& g) { g.quote.push_back(1); }, "TRAILING_DATA_NONZERO"},
};

const Row kSigned[] = {
    {"UserData", v4, [](Given& g) { flip(g.quote, 28); }, "QUOTE_SIGNATURE"},
    {"MrTd", v4, [](Given& g) { flip(g.quote, kMrTd); }, "QUOTE_SIGNATURE"},
    {"ReportData", v4, [](Given& g) { flip(g.quote, kReportData); }, "QUOTE_SIGNATURE"},
    {"LastByteOfTheBodyOfV5", v5, [](Given& g) { flip(g.quote, kSignatureLength + kV5 - 1); },
     "QUOTE_SIGNATURE"},
    {"Signature", v4, [](Given& g) { flip(g.quote, kSignature); }, "QUOTE_SIGNATURE"},
    {"SignatureOfV5", v5, [](Given& g) { flip(g.quote, kSignature + kV5 + 63); },
     "QUOTE_SIGNATURE"},
    // ECDSA has two signatures for each, and both verify.
    {"OtherSignatureOfTheSameKey", v4,
     [](Given& g) {
       testing::negate_s(std::span<std::uint8_t, 64>(g.quote.data() + kSignature, 64));
     },
     "OK:UpToDate"},
    {"SignatureOfAnotherQuote", v4,
     [](Given& g) {
       const Bytes other = debug().quote;
       std::copy_n(other.begin() + kSignature, 64, g.quote.begin() + kSignature);
     },
     "QUOTE_SIGNATURE"},
    {"AttestationKey", v4, [](Given& g) { flip(g.quote, kAttestationKey); },
     "QE_REPORT_DATA_MISMATCH"},
    {"AuthData", v4, [](Given& g) { flip(g.quote, kAuth); }, "QE_REPORT_DATA_MISMATCH"},
    {"QeReport", v4, [](Given& g) { flip(g.quote, kQeReport); }, "QE_REPORT_SIGNATURE"},
    {"QeReportOfV5", v5, [](Given& g) { flip(g.quote, kQeReport + kV5 + 383); },
     "QE_REPORT_SIGNATURE"},
    {"QeReportSignature", v4, [](Given& g) { flip(g.quote, kQeReportSignature); },
     "QE_REPORT_SIGNATURE"},
    {"ChainOfAnotherPlatform", v4,
     [](Given& g) {
       const Bytes other = debug().quote;
       const auto size = static_cast<std::ptrdiff_t>(other.size() - kPckChain);
       g.quote.resize(kPckChain);
       g.quote.insert(g.quote.end(), other.end() - size, other.end());
       for (const std::size_t field : {kSignatureLength, kOuterSize, kInnerSize}) {
         std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(field), 4,
                     g.quote.begin() + static_cast<std::ptrdiff_t>(field));
       }
     },
     "FMSPC_MISMATCH"},
};

const Row kCollateral[] = {
    {"OfAnotherPlatform", v4,
     [](Given& g) {
       g.collateral = collateral("2026-03");
       at(g, "2026-03-01T00:00:00Z");
     },
     "FMSPC_MISMATCH"},
    {"OfAThirdPlatform", v4,
     [](Given& g) {
       g.collateral = collateral("2025-09");
       at(g, "2025-09-15T00:00:00Z");
     },
     "FMSPC_MISMATCH"},
    {"TcbInfoText", v4, [](Given& g) { replace(g.collateral.tcb_info, "UpToDate", "UpToDatE"); },
     "TCB_INFO_SIGNATURE"},
    {"TcbInfoSignature", v4, [](Given& g) { change_digit(g.collateral.tcb_info_signature, 5); },
     "TCB_INFO_SIGNATURE"},
    {"TcbInfoOfAnotherTimeWithThisSignature", v4,
     [](Given& g) { g.collateral.tcb_info = collateral("2026-03").tcb_info; },
     "TCB_INFO_SIGNATURE"},
    {"QeIdentityText", v4,
     [](Given& g) { replace(g.collateral.qe_identity, "UpToDate", "uptodate"); },
     "QE_IDENTITY_SIGNATURE"},
    {"QeIdentitySignature", v5,
     [](Given& g) { change_digit(g.collateral.qe_identity_signature, 0); },
     "QE_IDENTITY_SIGNATURE"},
    {"TcbInfoChainThatEndedInMay2025", v4,
     [](Given& g) {
       g.collateral.tcb_info_issuer_chain = collateral("2023-07").tcb_info_issuer_chain;
     },
     "TCB_INFO_CERT_EXPIRED"},
    {"ChainOfTheCrlForTcbInfo", v4,
     [](Given& g) { g.collateral.tcb_info_issuer_chain = g.collateral.pck_crl_issuer_chain; },
     "TCB_INFO_CHAIN_NAMES"},
    {"RootAloneForTcbInfo", v4,
     [](Given& g) {
       std::string& chain = g.collateral.tcb_info_issuer_chain;
       chain.erase(0, chain.rfind("-----BEGIN"));
     },
     "TCB_INFO_CHAIN_LENGTH"},
    {"RootCrlBytes", v4,
     [](Given& g) { change_digit(g.collateral.root_ca_crl, g.collateral.root_ca_crl.size() - 1); },
     "ROOT_CRL_SIGNATURE"},
    {"PckCrlBytes", v4,
     [](Given& g) { change_digit(g.collateral.pck_crl, g.collateral.pck_crl.size() - 1); },
     "PCK_CRL_SIGNATURE"},
    {"PckCrlForTheRootCrl", v4, [](Given& g) { g.collateral.root_ca_crl = g.collateral.pck_crl; },
     "ROOT_CRL_SIGNATURE"},
    {"NoPckCrl", v4, [](Given& g) { g.collateral.pck_crl.clear(); }, "PCK_CRL_FORMAT"},
    {"PckCrlOfAnEarlierYear", v4,
     [](Given& g) { g.collateral.pck_crl = collateral("2023-07").pck_crl; }, "PCK_CRL_EXPIRED"},
};

const Row kTimeAndPolicy[] = {
    {"LastSecondOfV4", v4, [](Given& g) { at(g, "2025-07-19T10:00:35Z"); }, "OK:UpToDate"},
    {"SecondAfter", v4, [](Given& g) { at(g, "2025-07-19T10:00:36Z"); }, "PCK_CRL_EXPIRED"},
    {"FirstSecondOfV4", v4, [](Given& g) { at(g, "2025-06-19T10:32:27Z"); }, "OK:UpToDate"},
    {"SecondBefore", v4, [](Given& g) { at(g, "2025-06-19T10:32:26Z"); },
     "QE_IDENTITY_NOT_YET_VALID"},
    {"MonthsAfter", v4, [](Given& g) { at(g, "2026-05-01T00:00:00Z"); }, "ROOT_CRL_EXPIRED"},
    {"ClockThatIsNotSet", v4,
     [](Given& g) {
       g.collateral = collateral("2025-09");
       g.now = {};
     },
     "ROOT_CRL_NOT_YET_VALID"},
    {"AnotherAnchor", v4,
     [](Given& g) {
       g.anchor = TrustAnchor::from_bytes(simulate(testing::valid_v4()).root).value();
     },
     "ROOT_CRL_SIGNATURE"},
    {"OtherReportData", v5,
     [](Given& g) { g.report_data = ReportDataExpectation::exactly(ReportData{}); },
     "REPORT_DATA_MISMATCH"},
    {"OlderEvaluationThanThePolicyTakes", v5,
     [](Given& g) { g.policy.min_tcb_evaluation_data_number = 19; },
     "TCB_INFO_EVAL_NUMBER_TOO_LOW"},
};

class RealQuotes : public ::testing::TestWithParam<Row> {};

TEST_P(RealQuotes, OneChange_HasItsVerdict) {
  Given changed = GetParam().base();
  GetParam().change(changed);
  EXPECT_EQ(verdict(changed), GetParam().expected);
}

std::string row_name(const ::testing::TestParamInfo<Row>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(AsTheyAre, RealQuotes, ::testing::ValuesIn(kAsTheyAre), row_name);
INSTANTIATE_TEST_SUITE_P(Form, RealQuotes, ::testing::ValuesIn(kForm), row_name);
INSTANTIATE_TEST_SUITE_P(Signed, RealQuotes, ::testing::ValuesIn(kSigned), row_name);
INSTANTIATE_TEST_SUITE_P(Collateral, RealQuotes, ::testing::ValuesIn(kCollateral), row_name);
INSTANTIATE_TEST_SUITE_P(TimeAndPolicy, RealQuotes, ::testing::ValuesIn(kTimeAndPolicy), row_name);

}  // namespace
}  // namespace assay::attestation::tdx
