// SPDX-License-Identifier: Apache-2.0
// Structure of quotes and their signatures: what is cut, flipped, swapped or padded.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "attestation/tdx/quote_parse.h"
#include "tests/attestation/tdx/shared_vectors.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::valid_v4;
using testing::valid_v5;
using testing::verdict;

// Offsets in a version 4 quote and, where they differ, in one of version 5.
constexpr std::size_t kSignatureLength = 632;
constexpr std::size_t kOuterType = 764;
constexpr std::size_t kOuterSize = 766;
constexpr std::size_t kAuthSize = 1218;
constexpr std::size_t kInnerType = 1252;
constexpr std::size_t kInnerSize = 1254;
constexpr std::size_t kV5Type = 48;
constexpr std::size_t kV5Size = 50;

std::string parse_verdict(ByteView quote) {
  const auto parsed = parse_quote(quote);
  return parsed ? "OK" : code(parsed.error());
}

// The quote of `spec` with one byte set.
std::string with_byte(const SimulationSpec& spec, std::size_t offset, std::uint8_t byte) {
  Simulation simulation = simulate(spec);
  simulation.quote.at(offset) = byte;
  return verdict(simulation);
}

// A quote that keeps everything of `spec` but the bytes at `offset`.
std::string with_bytes(const SimulationSpec& spec, std::size_t offset, const Bytes& bytes) {
  Simulation simulation = simulate(spec);
  std::copy(bytes.begin(), bytes.end(),
            simulation.quote.begin() + static_cast<std::ptrdiff_t>(offset));
  return verdict(simulation);
}

class TdxQuoteForm : public ::testing::TestWithParam<std::string> {
 protected:
  static SimulationSpec spec() {
    SimulationSpec spec = GetParam() == "v4" ? valid_v4() : valid_v5();
    if (GetParam() == "v5_td10") {
      spec.quote.body_type = BodyType::kTd10;
    } else if (GetParam() == "v5_td15ex") {
      spec.quote.body_type = BodyType::kTd15Ex;
    }
    return spec;
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, TdxQuoteForm, ::testing::Values("v4", "v5_td10", "v5", "v5_td15ex"),
                         [](const auto& test) { return test.param; });

TEST_P(TdxQuoteForm, Valid_IsAccepted) { EXPECT_EQ(verdict(spec()), "OK:UpToDate"); }

TEST_P(TdxQuoteForm, TruncatedAtEveryByte_IsNeverParsed) {
  const Bytes quote = simulate(spec()).quote;
  for (std::size_t size = 0; size < quote.size(); ++size) {
    // Exactly sized, so that a sanitizer sees every read past the end.
    const Bytes cut(quote.begin(), quote.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_NE(parse_verdict(cut), "OK") << size;
  }
  EXPECT_EQ(parse_verdict(quote), "OK");
}

TEST_P(TdxQuoteForm, OneBitFlippedInEveryByte_IsNeverAccepted) {
  const Simulation simulation = simulate(spec());
  const auto collateral = testing::authenticate(simulation);
  const AppraisalPolicy policy;
  const VerifyContext context{testing::now(), ReportDataExpectation::not_requested(), policy};
  Bytes quote = simulation.quote;
  ASSERT_TRUE(verify(quote, collateral, context).accepted);
  for (std::size_t i = 0; i < quote.size(); ++i) {
    const auto bit = static_cast<std::uint8_t>(1U << (i % 8));
    quote[i] ^= bit;
    ASSERT_FALSE(verify(quote, collateral, context).accepted) << "byte " << i;
    quote[i] ^= bit;
  }
}

TEST(TdxQuoteHeader, Version3_IsUnsupported) {
  EXPECT_EQ(with_byte(valid_v4(), 0, 3), "QUOTE_VERSION_UNSUPPORTED");
  EXPECT_EQ(with_byte(valid_v4(), 0, 6), "QUOTE_VERSION_UNSUPPORTED");
}

TEST(TdxQuoteHeader, SgxQuote_IsNamedAsSuch) {
  Simulation simulation = simulate(valid_v4());
  simulation.quote[0] = 3;
  simulation.quote[4] = 0;
  EXPECT_EQ(verdict(simulation), "TEE_TYPE_UNSUPPORTED");
  EXPECT_EQ(with_byte(valid_v4(), 4, 0), "TEE_TYPE_UNSUPPORTED");
}

TEST(TdxQuoteHeader, OtherKeyType_IsUnsupported) {
  EXPECT_EQ(with_byte(valid_v4(), 2, 3), "ATT_KEY_TYPE_UNSUPPORTED");
}

TEST(TdxQuoteHeader, ReservedBytes_MustBeZero) {
  for (std::size_t offset = 8; offset < 12; ++offset) {
    EXPECT_EQ(with_byte(valid_v4(), offset, 1), "HEADER_RESERVED_NONZERO") << offset;
  }
}

TEST(TdxQuoteHeader, OtherVendor_IsUnknown) {
  EXPECT_EQ(with_byte(valid_v4(), 12, 0), "QE_VENDOR_UNKNOWN");
}

TEST(TdxQuoteBody, OtherTypesAndSizes_AreRefused) {
  EXPECT_EQ(with_byte(valid_v5(), kV5Type, 1), "BODY_TYPE_UNSUPPORTED");
  EXPECT_EQ(with_byte(valid_v5(), kV5Type, 9), "BODY_TYPE_UNSUPPORTED");
  EXPECT_EQ(with_byte(valid_v5(), kV5Type, 2), "BODY_SIZE_MISMATCH");
  EXPECT_EQ(with_bytes(valid_v5(), kV5Size, {0xff, 0xff, 0xff, 0xff}), "BODY_SIZE_MISMATCH");
}

TEST(TdxQuoteSignatureData, Lengths_AreCheckedBeforeUse) {
  EXPECT_EQ(with_bytes(valid_v4(), kSignatureLength, {0xff, 0xff, 0xff, 0xff}),
            "SIG_DATA_LEN_OVERRUN");
  EXPECT_EQ(with_bytes(valid_v4(), kSignatureLength, {0x4d, 0x02, 0, 0}), "SIG_DATA_TOO_SHORT");
  EXPECT_EQ(with_byte(valid_v4(), kOuterType, 5), "CERT_DATA_TYPE_OUTER");
  EXPECT_EQ(with_byte(valid_v4(), kOuterSize, 0), "CERT_DATA_SIZE_OUTER");
  EXPECT_EQ(with_bytes(valid_v4(), kAuthSize, {0xff, 0xff}), "QE_AUTH_DATA_OVERRUN");
  // Authentication data that leaves no room for the header behind it.
  const std::size_t rest = simulate(valid_v4()).quote.size() - kAuthSize - 2;
  for (const std::size_t size : {rest, rest - 5}) {
    EXPECT_EQ(with_bytes(valid_v4(), kAuthSize,
                         {static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(size >> 8)}),
              "QE_AUTH_DATA_OVERRUN");
  }
  EXPECT_EQ(with_byte(valid_v4(), kInnerType, 1), "CERT_DATA_TYPE_INNER");
  EXPECT_EQ(with_byte(valid_v4(), kInnerSize, 0), "CERT_DATA_SIZE_INNER");
}

TEST(TdxQuotePadding, Zeros_AreAccepted) {
  SimulationSpec spec = valid_v4();
  spec.quote.padding = 70;
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxQuotePadding, AnythingElse_IsRefused) {
  Simulation simulation = simulate(valid_v4());
  simulation.quote.insert(simulation.quote.end(), {0, 0, 1});
  EXPECT_EQ(verdict(simulation), "TRAILING_DATA_NONZERO");
}

TEST(TdxQuotePadding, OverTheSizeLimit_IsRefused) {
  Simulation simulation = simulate(valid_v4());
  simulation.quote.resize(kMaxQuoteBytes);
  EXPECT_EQ(verdict(simulation), "OK:UpToDate");
  simulation.quote.push_back(0);
  EXPECT_EQ(verdict(simulation), "INPUT_TOO_LARGE");
}

TEST(TdxQuoteChain, WithoutNulBehindIt_IsAccepted) {
  SimulationSpec spec = valid_v4();
  spec.quote.nul_behind_chain = false;
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxQuoteSignature, ByAnotherKey_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.quote.quote_signer = "attacker";
  EXPECT_EQ(verdict(spec), "QUOTE_SIGNATURE");
}

TEST(TdxQuoteSignature, OfZeros_IsRefused) {
  EXPECT_EQ(with_bytes(valid_v4(), kSignatureLength + 4, Bytes(64, 0)), "QUOTE_SIGNATURE");
}

TEST(TdxQuoteSignature, AttestationKeyOffTheCurve_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.quote.attestation_point = SimulatedKey(spec.seed, kAttestationKey).point();
  spec.quote.attestation_point->back() ^= 1;
  EXPECT_EQ(verdict(spec), "ATT_KEY_NOT_ON_CURVE");
  spec.quote.attestation_point->fill(0);
  EXPECT_EQ(verdict(spec), "ATT_KEY_NOT_ON_CURVE");
}

TEST(TdxQuoteSignature, AttackersKeyAndSignature_AreNotBound) {
  SimulationSpec spec = valid_v4();
  spec.quote.qe_report_data = ReportData{};
  spec.quote.attestation_key = "attacker";
  spec.quote.quote_signer = "attacker";
  EXPECT_EQ(verdict(spec), "QE_REPORT_DATA_MISMATCH");
}

TEST(TdxQeReport, ByAnotherKey_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.quote.qe_report_signer = "attacker";
  EXPECT_EQ(verdict(spec), "QE_REPORT_SIGNATURE");
}

TEST(TdxQeReport, WithoutAuthenticationData_IsAccepted) {
  SimulationSpec spec = valid_v4();
  spec.quote.qe_auth_data.clear();
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxQeReport, DataBehindTheHash_IsRefused) {
  SimulationSpec spec = valid_v4();
  const Bytes quote = simulate(spec).quote;
  spec.quote.qe_report_data = parse_quote(quote).value().qe_report.report_data;
  ASSERT_EQ(verdict(spec), "OK:UpToDate");
  spec.quote.qe_report_data->back() = 1;
  EXPECT_EQ(verdict(spec), "QE_REPORT_DATA_MISMATCH");
}

TEST(TdxQuoteInput, TdReport_IsNoQuote) {
  // The report that a quote is made from, as the guest gets it: 1024 bytes, type 0x81 first.
  Bytes report(1024, 0);
  report[0] = 0x81;
  EXPECT_EQ(parse_verdict(report), "QUOTE_VERSION_UNSUPPORTED");
  EXPECT_EQ(parse_verdict({}), "QUOTE_TRUNCATED");
}

TEST(TdxQuoteInput, RealTdReportsAndSgxQuotes_AreRefused) {
  const auto folder = testing::vectors_folder();
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no vectors at " << folder;
  }
  for (const char* name : {"google_go-tdx-guest/report.dat",
                           "confidential-containers_guest-components/tdx_report_1.bin",
                           "intel_tee.dcap/tdreport_for_test.dat"}) {
    EXPECT_EQ(parse_verdict(testing::read_file(folder / name)), "QUOTE_VERSION_UNSUPPORTED")
        << name;
  }
  for (const char* name :
       {"Phala-Network_dcap-qvl/sgx_quote", "confidential-containers_trustee/occlum_quote.dat"}) {
    EXPECT_EQ(parse_verdict(testing::read_file(folder / name)), "TEE_TYPE_UNSUPPORTED") << name;
  }
}

}  // namespace
}  // namespace assay::attestation::tdx
