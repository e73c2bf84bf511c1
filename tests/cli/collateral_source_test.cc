// SPDX-License-Identifier: Apache-2.0
// Answers of services that give out collateral: the exact signed text, and what is no answer.
// tests/cli/verbs/test_collateral.py fetches over HTTPS.
#include "cli/verbs/collateral_source.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

constexpr const char* kChain = "-----BEGIN%20CERTIFICATE-----%0Aa+b%0A-----END%20CERTIFICATE-----";
const CollateralSource kSource{"https://cache", "https://cache/root"};

client::PublicDocument document(std::string_view body,
                                std::map<std::string, std::string> headers = {}) {
  return {to_bytes(body), std::move(headers)};
}

using Answers = std::map<std::string, client::PublicDocument>;
Answers good() {
  return {
      {"https://cache/tdx/certification/v4/tcb?fmspc=b0c06f000000",
       document(R"({ "tcbInfo" : {"a": [1, {"}": "]\""}]} , "signature":"01"})",
                {{"tcb-info-issuer-chain", kChain}})},
      {"https://cache/tdx/certification/v4/qe/identity",
       document(R"({"signature":"02","enclaveIdentity":{"b":2}})",
                {{"sgx-enclave-identity-issuer-chain", kChain}})},
      {"https://cache/sgx/certification/v4/pckcrl?ca=platform&encoding=der",
       document("30820A0b\n", {{"sgx-pck-crl-issuer-chain", kChain}})},
      {"https://cache/root", document("-----BEGIN X509 CRL-----\nMIID\n-----END X509 CRL-----\n")},
  };
}

Result<attestation::tdx::Collateral> fetch(const Answers& answers,
                                           const CollateralSource& source = kSource) {
  return fetch_collateral(source, "b0c06f000000", "platform",
                          [&](const std::string& url) -> Result<client::PublicDocument> {
                            const auto found = answers.find(url);
                            return found == answers.end()
                                       ? fail(ErrorCode::kConnectionFailed, url)
                                       : Result<client::PublicDocument>(found->second);
                          });
}

TEST(CollateralSource, TextsAreThoseThatAreSigned) {
  const auto collateral = fetch(good());
  ASSERT_TRUE(collateral) << to_string(collateral.error());
  EXPECT_EQ(collateral->tcb_info, R"({"a": [1, {"}": "]\""}]})");
  EXPECT_EQ(collateral->tcb_info_signature, "01");
  EXPECT_EQ(collateral->qe_identity, R"({"b":2})");
  EXPECT_EQ(collateral->pck_crl, "30820a0b");
  EXPECT_EQ(collateral->root_ca_crl, "308203");
  EXPECT_EQ(collateral->pck_crl_issuer_chain,
            "-----BEGIN CERTIFICATE-----\na+b\n-----END CERTIFICATE-----");
}

TEST(CollateralSource, UpdateOrNumber_IsAskedOfBothSignedTexts) {
  const auto fetched_with = [](const std::string& asked, const CollateralSource& source) {
    Answers answers = good();
    for (const std::string end : {"tcb?fmspc=b0c06f000000", "qe/identity"}) {
      auto answer = answers.extract("https://cache/tdx/certification/v4/" + end);
      answer.key() += (end.contains('?') ? "&" : "?") + asked;
      answers.insert(std::move(answer));
    }
    return fetch(answers, source).has_value();
  };
  CollateralSource source = kSource;
  source.update = "early";
  EXPECT_TRUE(fetched_with("update=early", source));
  EXPECT_FALSE(fetched_with("update=standard", source));
  source = kSource;
  source.evaluation_number = 17;
  EXPECT_TRUE(fetched_with("tcbEvaluationDataNumber=17", source));
  EXPECT_FALSE(fetched_with("tcbEvaluationDataNumber=18", source));
}

TEST(CollateralSource, WhatIsNoAnswer_IsUnavailable) {
  for (const auto& [url, unused] : good()) {
    Answers without = good();
    without.erase(url);
    EXPECT_EQ(fetch(without).error().code, ErrorCode::kConnectionFailed) << url;
    for (const char* body : {"", "<html>", "{}", "[]", "30820a0"}) {
      Answers broken = good();
      broken.at(url).body = to_bytes(body);
      EXPECT_EQ(fetch(broken).error().code, ErrorCode::kCollateralUnavailable) << url << body;
    }
    if (!good().at(url).headers.empty()) {
      Answers broken = good();
      broken.at(url).headers.begin()->second = "%2";
      EXPECT_EQ(fetch(broken).error().code, ErrorCode::kCollateralUnavailable) << url;
      broken.at(url).headers.clear();
      EXPECT_EQ(fetch(broken).error().code, ErrorCode::kCollateralUnavailable) << url;
    }
  }
}

TEST(CollateralSource, MemberText_OfNothingThatIsAmbiguous) {
  EXPECT_EQ(member_text(R"({"a":1,"b" : "x,}" })", "b"), R"("x,}")");
  EXPECT_EQ(member_text(R"({"c":{"b":1},"b":2})", "b"), "2");
  EXPECT_EQ(member_text(R"({"a":1})", "b"), std::nullopt);
  EXPECT_EQ(member_text(R"({"b":1,"b":2})", "b"), std::nullopt);
  EXPECT_EQ(member_text(R"({"b":1} {"b":2})", "b"), std::nullopt);
  EXPECT_EQ(member_text(R"({"\u0062":1})", "b"), std::nullopt);
  EXPECT_EQ(member_text(R"(["b"])", "b"), std::nullopt);
}

}  // namespace
}  // namespace assay::cli
