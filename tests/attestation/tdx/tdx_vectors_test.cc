// SPDX-License-Identifier: Apache-2.0
// Real Intel-signed quotes, mutations of them and cases under a foreign test PKI: each listed case
// of two manifests must have its listed verdict.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/tdx/verify.h"
#include "tests/attestation/tdx/shared_vectors.h"

namespace assay::attestation::tdx {
namespace {

using testing::read_file;
using testing::read_json;
using testing::vectors_folder;

struct Case {
  std::string id;
  std::filesystem::path quote;
  std::filesystem::path collateral;
  std::filesystem::path root;
  std::string time;
  std::string expected;
  Json policy;
  Json report_data;
};

Case mutation_case(const Json& json) {
  const auto folder = vectors_folder() / "mutations";
  const std::string root = json.at("root").get<std::string>();
  return {json.at("id"),
          folder / json.at("quote").get<std::string>(),
          folder / json.at("collateral").get<std::string>(),
          root == "intel" ? std::filesystem::path() : folder / root,
          json.at("time"),
          json.at("expected"),
          json.at("policy"),
          json.at("report_data")};
}

Case synthetic_case(const Json& json, const std::string& root) {
  const auto folder = vectors_folder() / "synthetic";
  const std::string id = json.at("id").get<std::string>();
  return {id,
          folder / id / "quote.bin",
          folder / id / "collateral.json",
          folder / root,
          json.at("time"),
          json.at("expected"),
          json.at("policy"),
          nullptr};
}

std::vector<Case> load_cases() {
  std::vector<Case> cases;
  if (!std::filesystem::exists(vectors_folder())) {
    return cases;
  }
  const Json mutations = read_json(vectors_folder() / "mutations/manifest.json");
  for (const Json& json : mutations.at("cases")) {
    cases.push_back(mutation_case(json));
  }
  const Json synthetic = read_json(vectors_folder() / "synthetic/manifest.json");
  for (const Json& json : synthetic.at("cases")) {
    cases.push_back(synthetic_case(json, synthetic.at("root")));
  }
  return cases;
}

AppraisalResult run(const Case& test) {
  const TrustAnchor anchor =
      test.root.empty() ? intel_root() : TrustAnchor::from_bytes(read_file(test.root)).value();
  const AppraisalPolicy policy = parse_appraisal_policy(test.policy).value();
  auto expectation = ReportDataExpectation::not_requested();
  if (test.report_data.is_string()) {
    const Bytes bytes = hex_decode(test.report_data.get<std::string>()).value();
    ReportData value{};
    EXPECT_EQ(bytes.size(), value.size());
    std::copy(bytes.begin(), bytes.end(), value.begin());
    expectation = ReportDataExpectation::exactly(value);
  }
  return verify(read_file(test.quote), parse_collateral(read_file(test.collateral)).value(),
                std::span(&anchor, 1),
                VerifyContext{parse_rfc3339(test.time).value(), expectation, policy});
}

std::string verdict(const AppraisalResult& result) {
  return result.accepted ? "OK:" + std::string(name(result.tcb->status))
                         : error_code(result).value();
}

class TdxVectors : public ::testing::TestWithParam<Case> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TdxVectors);

TEST_P(TdxVectors, ListedCase_HasListedVerdict) {
  const AppraisalResult result = run(GetParam());
  EXPECT_EQ(verdict(result), GetParam().expected) << to_json(result).dump(1);
  EXPECT_EQ(result.accepted, !result.failure.has_value());
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.id; }

INSTANTIATE_TEST_SUITE_P(Manifests, TdxVectors, ::testing::ValuesIn(load_cases()), case_name);

TEST(TdxVectorFiles, Present_AreAllLoaded) {
  if (!std::filesystem::exists(vectors_folder())) {
    GTEST_SKIP() << "no vectors at " << vectors_folder();
  }
  std::size_t listed = 0;
  for (const char* set : {"mutations", "synthetic"}) {
    const Json manifest = read_json(vectors_folder() / set / "manifest.json");
    EXPECT_FALSE(manifest.at("cases").empty()) << set;
    listed += manifest.at("cases").size();
  }
  EXPECT_EQ(load_cases().size(), listed);
}

}  // namespace
}  // namespace assay::attestation::tdx
