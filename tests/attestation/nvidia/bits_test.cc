// SPDX-License-Identifier: Apache-2.0
// Every bit of one good report of each kind, of a RIM and of an OCSP answer, flipped: nothing that
// differs counts. Each flip may cost a verification, so that these tests take long; the others have
// a sample.
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/nvidia/evidence_file.h"
#include "tests/attestation/nvidia/machine.h"
#include "tests/support/vectors.h"

namespace assay::test::nvidia {
namespace {

constexpr std::size_t kParts = 8;

// Calls `check` with each bit of this part flipped, one at a time.
template <typename Check>
void each_flip(Bytes bytes, std::size_t part, const Check& check) {
  for (std::size_t bit = part; bit < 8 * bytes.size(); bit += kParts) {
    const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    check(bytes, bit);
    bytes[bit / 8] ^= mask;
  }
}

class ReportBits : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

TEST_P(ReportBits, EachCounts) {
  const auto [file, part] = GetParam();
  const auto all = nv::parse_evidence(as_bytes(read_file(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                                         "tests/vectors/nvgpu" / file)))
                       .value();
  const auto device =
      nv::open_device(all.front().certificates, std::span(&nv::device_root(), 1), {}).value();
  const nv::Judging judging{at("2026-11-01T00:00:00Z"), nv::NonceExpectation::not_requested(), {}};
  ASSERT_TRUE(nv::verify(all.front().report, device, judging));
  std::size_t accepted = 0;
  each_flip(all.front().report, part, [&](const Bytes& report, std::size_t) {
    accepted += nv::verify(report, device, judging) ? 1U : 0U;
  });
  EXPECT_EQ(accepted, 0U);
}
INSTANTIATE_TEST_SUITE_P(OfEachKind, ReportBits,
                         testing::Combine(testing::Values("hopper-580.json", "blackwell-575.json",
                                                          "ls10.json"),
                                          testing::Range<std::size_t>(0, kParts)));

class CutEvidence : public testing::TestWithParam<std::size_t> {};

TEST_P(CutEvidence, IsRefusedAtEachByte) {
  const Json list = Json::parse(
      read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/nvgpu/ls10.json"));
  const std::string text = (list.is_array() ? list.front() : list).dump();
  for (std::size_t size = GetParam(); size < text.size(); size += kParts) {
    const auto parsed = nv::parse_device(as_bytes(text).first(size));
    ASSERT_FALSE(parsed) << size;
    ASSERT_EQ(parsed.error().error, nv::NvidiaError::kEvidenceFormat) << size;
  }
}
INSTANTIATE_TEST_SUITE_P(OfOne, CutEvidence, testing::Range<std::size_t>(0, kParts));

class RimBits : public testing::TestWithParam<std::size_t> {};

// White space in base64 may change without changing anything.
TEST_P(RimBits, NoneChangesWhatIsRead) {
  const std::string xml = make_rim(driver_rim());
  const auto good = open(xml, kDriverId).value();
  each_flip(to_bytes(xml), GetParam(), [&](const Bytes& flipped, std::size_t bit) {
    const auto opened = open(std::string(as_text(flipped)), kDriverId);
    if (opened) {
      EXPECT_EQ(opened->version, good.version) << bit;
      ASSERT_EQ(opened->goldens.size(), good.goldens.size()) << bit;
      for (std::size_t i = 0; i < good.goldens.size(); ++i) {
        EXPECT_EQ(opened->goldens[i].alternatives, good.goldens[i].alternatives) << bit;
      }
    }
  });
}
INSTANTIATE_TEST_SUITE_P(OfOne, RimBits, testing::Range<std::size_t>(0, kParts));

class OcspBits : public testing::TestWithParam<std::size_t> {};

TEST_P(OcspBits, EachCounts) {
  const Device device = make_device();
  OcspSpec spec;
  spec.key = device_issuer_key({}, 2);
  const Bytes answer = make_ocsp(device.chain[1], device.chain[2], spec);
  std::size_t good = 0;
  each_flip(answer, GetParam(), [&](const Bytes& flipped, std::size_t) {
    const auto response = nv::OcspResponse::parse(flipped);
    const auto status = response ? nv::status_of(*response, device.chain[1], device.chain[2])
                                 : nv::Checked<std::optional<nv::OcspStatus>>(std::nullopt);
    good += status && *status ? 1U : 0U;
  });
  EXPECT_EQ(good, 0U);
}
INSTANTIATE_TEST_SUITE_P(OfOne, OcspBits, testing::Range<std::size_t>(0, kParts));

}  // namespace
}  // namespace assay::test::nvidia
