// SPDX-License-Identifier: Apache-2.0
// The form of reports: one sound report, one byte or field changed.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/attestation/nvidia/machine.h"

namespace assay::test::nvidia {
namespace {

std::string verdict(const std::function<void(ReportSpec&)>& change,
                    const std::function<void(Bytes&)>& bytes = {}) {
  ReportSpec spec = hopper_report();
  change(spec);
  Bytes report = make_report(spec, key_of("P-384", 40));
  if (bytes) {
    bytes(report);
  }
  const auto parsed = nv::parse_report(report);
  return parsed ? "parsed" : code(parsed.error());
}

std::string with_byte(std::size_t at, std::uint8_t value) {
  return verdict([](ReportSpec&) {}, [&](Bytes& report) { report[at] = value; });
}

constexpr std::size_t kResponse = 37;
constexpr std::size_t kRecord = kResponse + 8;

TEST(Report, Parsed_HasWhatWasPutIn) {
  const Bytes report = make_report(hopper_report(), key_of("P-384", 40));
  const auto parsed = nv::parse_report(report).value();
  EXPECT_EQ(parsed.nonce, some_nonce());
  EXPECT_EQ(parsed.measurements.size(), 40U);
  EXPECT_TRUE(std::ranges::equal(*parsed.measurement(0), value_of(1)));
  EXPECT_FALSE(parsed.measurement(40));
  EXPECT_EQ(parsed.opaque.size(), hopper_report().opaque.size());
  EXPECT_EQ(parsed.signed_bytes.size() + nv::kSignatureBytes, report.size());
  EXPECT_FALSE(parsed.field(nv::OpaqueType::kPdi));
}

TEST(Report, OtherRequestsAndResponses_AreRefused) {
  EXPECT_EQ(verdict([](auto&) {}), "parsed");
  for (const std::size_t at : {0U, 1U, 2U, 3U, 36U}) {
    EXPECT_EQ(with_byte(at, 0x12), "REQUEST_FORMAT") << at;
  }
  for (const std::size_t at : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(with_byte(kResponse + at, 0x12), "RESPONSE_FORMAT") << at;
  }
  EXPECT_EQ(verdict([](auto& spec) { spec.measurements.clear(); }), "RESPONSE_FORMAT");
}

TEST(Report, Measurements_AreBlocksInOrder) {
  EXPECT_EQ(with_byte(kRecord, 0), "MEASUREMENT_FORMAT");      // index
  EXPECT_EQ(with_byte(kRecord, 2), "MEASUREMENT_FORMAT");      // that of the next
  EXPECT_EQ(with_byte(kRecord + 1, 2), "MEASUREMENT_FORMAT");  // specification
  EXPECT_EQ(with_byte(kRecord + 2, 2), "MEASUREMENT_FORMAT");  // size of the block
  EXPECT_EQ(with_byte(kRecord + 3, 0xff), "MEASUREMENT_FORMAT");
  EXPECT_EQ(with_byte(kRecord + 5, 47), "MEASUREMENT_FORMAT");    // size of the value
  EXPECT_EQ(with_byte(kResponse + 4, 39), "MEASUREMENT_FORMAT");  // number of blocks
  EXPECT_EQ(with_byte(kResponse + 4, 41), "MEASUREMENT_FORMAT");
  EXPECT_EQ(with_byte(kResponse + 7, 0xff), "REPORT_TRUNCATED");
  EXPECT_EQ(verdict([](auto& spec) { spec.measurements[3].second = Bytes(64, 1); }), "parsed");
  EXPECT_EQ(verdict([](auto& spec) { spec.measurements[3].second = Bytes(65, 1); }),
            "MEASUREMENT_FORMAT");
  EXPECT_EQ(verdict([](auto& spec) { std::swap(spec.measurements[1], spec.measurements[2]); }),
            "MEASUREMENT_FORMAT");
}

TEST(Report, RecordShorterThanAHeader_IsRefused) {
  const Bytes good = make_report(hopper_report(), key_of("P-384", 40));
  for (std::uint8_t size = 0; size < 4; ++size) {
    Bytes report(good.begin(), good.begin() + kRecord + size);
    report[kResponse + 4] = 1;
    report[kResponse + 5] = size;
    report[kResponse + 6] = 0;
    const auto parsed = nv::parse_report(report);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(code(parsed.error()), "MEASUREMENT_FORMAT") << int{size};
  }
}

TEST(Report, OpaqueFields_AreThereOnce) {
  EXPECT_EQ(verdict([](auto& spec) { spec.opaque.emplace_back(3, Bytes{'1'}); }), "OPAQUE_DOUBLED");
  EXPECT_EQ(verdict([](auto& spec) { spec.opaque.emplace_back(999, Bytes()); }), "parsed");
  const auto parse = [](const Bytes& bytes) {
    const auto parsed = nv::parse_opaque(bytes);
    return parsed ? std::to_string(parsed->size()) : code(parsed.error());
  };
  EXPECT_EQ(parse({}), "0");
  EXPECT_EQ(parse({1, 0, 1, 0, 7}), "1");
  EXPECT_EQ(parse({1, 0, 2, 0, 7}), "OPAQUE_FORMAT");
  EXPECT_EQ(parse({1, 0, 1}), "OPAQUE_FORMAT");
  EXPECT_EQ(parse({1}), "OPAQUE_FORMAT");
  EXPECT_EQ(parse({1, 0, 0, 0, 1, 0, 0, 0}), "OPAQUE_DOUBLED");
}

TEST(Report, LongerThanNvmlGives_IsRefused) {
  EXPECT_EQ(verdict([](auto&) {}, [](Bytes& report) { report.resize(nv::kMaxReportBytes + 1); }),
            "INPUT_TOO_LARGE");
}

}  // namespace
}  // namespace assay::test::nvidia
