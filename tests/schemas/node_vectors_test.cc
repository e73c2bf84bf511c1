// SPDX-License-Identifier: Apache-2.0
// Report data and answers to spot checks, against an independent computation
// (tests/support/vectorgen/nodes_vectors.py).
#include <cmath>

#include <gtest/gtest.h>

#include "tests/schemas/node_samples.h"

namespace assay {
namespace {

Nonce nonce_of(const Json& item) { return parse_nonce(item["nonce"].get<std::string>()).value(); }

std::string hex(const ReportDataBytes& data) { return hex_encode(data); }

// Byte i is i mod 251.
Bytes painted(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i % 251);
  }
  return bytes;
}

EnrolmentRequest request_of(const Json& json) {
  return {json["audience"].get<std::string>(), json["node"].get<std::string>(),
          json["platform"].get<std::string>(), json.value("identity_token", "")};
}

TEST(NodeVectors, EnrolmentReportData) {
  const Json vectors = test::load_vectors("nodes.json");
  const Bytes spki = test::from_base64(vectors["spki"]);
  ASSERT_EQ(vectors["enrolments"].size(), 12U);
  for (const Json& item : vectors["enrolments"]) {
    const EnrolmentRequest request = request_of(item["request"]);
    EXPECT_EQ(canonical_json(to_json(request)), item["canonical"].get<std::string>());
    EXPECT_EQ(hex(enrolment_report_data(nonce_of(item), spki, request)),
              item["report_data"].get<std::string>());
  }
}

TEST(NodeVectors, ReportReportData) {
  const Json vectors = test::load_vectors("nodes.json");
  const Bytes spki = test::from_base64(vectors["spki"]);
  ASSERT_EQ(vectors["reports"].size(), 9U);
  for (const Json& item : vectors["reports"]) {
    const Bytes payload = test::from_base64(item["payload"]);
    EXPECT_EQ(hex(report_report_data(nonce_of(item), spki, payload)),
              item["report_data"].get<std::string>());
  }
}

TEST(NodeVectors, StatementReportData) {
  const Json vectors = test::load_vectors("nodes.json");
  const Bytes spki = test::from_base64(vectors["spki"]);
  ASSERT_EQ(vectors["statements"].size(), 3U);
  for (const Json& item : vectors["statements"]) {
    const auto id = StatementId::parse(item["statement"].get<std::string>()).value();
    EXPECT_EQ(hex(statement_report_data(id, spki)), item["report_data"].get<std::string>());
  }
}

TEST(NodeVectors, SpotAnswers) {
  const Json vectors = test::load_vectors("nodes.json");
  ASSERT_EQ(vectors["spots"].size(), 30U);
  for (const Json& item : vectors["spots"]) {
    const auto artifact = ArtifactId::parse(item["artifact"].get<std::string>()).value();
    const SpotSpan place{item["entry"].get<std::uint64_t>(), item["index"].get<std::uint64_t>()};
    const Bytes span = painted(item["size"].get<std::size_t>());
    EXPECT_EQ(spot_answer(nonce_of(item), artifact, place, span).hex(),
              item["answer"].get<std::string>())
        << item;
  }
}

// Each part is bound: changing any one of them changes the report data.
TEST(ReportData, EveryPart_IsBound) {
  const Enrolment enrolment = test::sample_enrolment();
  const auto of = [&](const Nonce& nonce, const Bytes& key, const EnrolmentRequest& request) {
    return enrolment_report_data(nonce, key, request);
  };
  const ReportDataBytes good = of(enrolment.nonce, enrolment.public_key, enrolment.request);
  EXPECT_NE(of(test::sample_nonce(1), enrolment.public_key, enrolment.request), good);
  EXPECT_NE(of(enrolment.nonce, test::ed25519_spki(Bytes(32, 8)), enrolment.request), good);
  for (std::string EnrolmentRequest::* part :
       {&EnrolmentRequest::audience, &EnrolmentRequest::node, &EnrolmentRequest::platform}) {
    EnrolmentRequest other = enrolment.request;
    other.*part += "0";
    EXPECT_NE(of(enrolment.nonce, enrolment.public_key, other), good);
  }
  const std::string canonical = canonical_json(to_json(enrolment.request)).value();
  EXPECT_NE(report_report_data(enrolment.nonce, enrolment.public_key, as_bytes(canonical)), good)
      << "the domains differ";
}

TEST(SpotCheck, DetectionProbability_IsOneMinusTheChanceOfMissing) {
  EXPECT_EQ(spot_detection_probability(0, 0.5), 0);
  EXPECT_EQ(spot_detection_probability(16, 0), 0);
  EXPECT_EQ(spot_detection_probability(16, -1), 0);
  EXPECT_EQ(spot_detection_probability(16, std::nan("")), 0);
  EXPECT_EQ(spot_detection_probability(1, 1), 1);
  EXPECT_DOUBLE_EQ(spot_detection_probability(1, 0.25), 0.25);
  EXPECT_DOUBLE_EQ(spot_detection_probability(2, 0.5), 0.75);
  EXPECT_NEAR(spot_detection_probability(16, 0.1), 0.814697981114816, 1e-14);
  EXPECT_NEAR(spot_detection_probability(16, 1e-12) / 16e-12, 1, 1e-9);
}

}  // namespace
}  // namespace assay
