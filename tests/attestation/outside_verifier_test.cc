// SPDX-License-Identifier: Apache-2.0
// The appraisal policy of outside verifiers, one member changed at a time, and what a node hands
// in.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/attestation/outside_ear.h"

namespace assay::attestation::outside {
namespace {

// long-function: one table of cases
TEST(OutsideVerifier, OneMemberWrong_IsRefused) {
  struct Case {
    const char* where;
    Change change;
  };
  const std::vector<Case> cases = {
      {"/issuer", [](Json& p) { p.erase("issuer"); }},
      {"/issuer", [](Json& p) { p["issuer"] = ""; }},
      {"/issuer", [](Json& p) { p["issuer"] = 7; }},
      {"/issuer", [](Json& p) { p["issuer"] = std::string(513, 'a'); }},
      {"/audience", [](Json& p) { p["audience"] = Json::array({"assay"}); }},
      {"/profile", [](Json& p) { p.erase("profile"); }},
      {"/algorithm", [](Json& p) { p.erase("algorithm"); }},
      {"/profile", [](Json& p) { p["profile"] = "tag:example.com,2026:mine"; }},
      {"/jwks/keys/0", [](Json& p) { p["algorithm"] = "ES384"; }},
      {"/jwks/keys/0", [](Json& p) { p["algorithm"] = "HS256"; }},
      {"/jwks", [](Json& p) { p["jwks"] = {{"keys", Json::array()}}; }},
      {"/jwks", [](Json& p) { p["jwks"]["more"] = 1; }},
      {"/jwks", [](Json& p) { p.erase("jwks"); }},
      {"/jwks", [](Json& p) { p["jwks"] = p["jwks"]["keys"]; }},
      {"/jwks", [](Json& p) { p["jwks"] = {{"key", p["jwks"]["keys"]}}; }},
      {"/jwks", [](Json& p) { p["jwks"]["keys"] = p["jwks"]["keys"][0]; }},
      {"/jwks", [](Json& p) { p["jwks"]["keys"] = Json(17, p["jwks"]["keys"][0]); }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0] = "key"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["d"] = "AA"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["kty"] = "oct"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["use"] = "enc"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["x"] = p["jwks"]["keys"][0]["y"]; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["crv"] = "P-521"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["crv"] = "P-384"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["x"] = "AA"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["y"] = "AA"; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["y"] = "AA=="; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["y"] = 7; }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0].erase("x"); }},
      {"/jwks/keys/0", [](Json& p) { p["jwks"]["keys"][0]["alg"] = "ES384"; }},
      {"/jwks/keys/0/kid", [](Json& p) { p["jwks"]["keys"][0]["kid"] = 7; }},
      {"/jwks/keys/0/kid", [](Json& p) { p["jwks"]["keys"][0]["kid"] = ""; }},
      {"/jwks/keys/1/kid", [](Json& p) { p["jwks"]["keys"].push_back(p["jwks"]["keys"][0]); }},
      {"/jwks/keys/1/kid", [](Json& p) { p["jwks"]["keys"].push_back(jwk_of(p256())); }},
      {"/max_age_seconds", [](Json& p) { p["max_age_seconds"] = 3601; }},
      {"/max_age_seconds", [](Json& p) { p["max_age_seconds"] = 0; }},
      {"/max_age_seconds", [](Json& p) { p["max_age_seconds"] = "600"; }},
      {"/submods", [](Json& p) { p["submods"] = Json::array(); }},
      {"/submods", [](Json& p) { p.erase("submods"); }},
      {"/submods", [](Json& p) { p["submods"] = "cpu0"; }},
      {"/submods", [](Json& p) { p["submods"] = Json(17, "cpu0"); }},
      {"/submods", [](Json& p) { p["submods"][0] = 0; }},
      {"/submods", [](Json& p) { p["submods"][0] = ""; }},
      {"/report_data", [](Json& p) { p.erase("report_data"); }},
      {"/report_data", [](Json& p) { p["report_data"] = "submods"; }},
      {"/report_data", [](Json& p) { p["report_data"] = "/a~2"; }},
      {"/report_data", [](Json& p) { p["report_data"] = "/a~"; }},
      {"/key", [](Json& p) { p["key"] = "/a~0~b"; }},
      {"/key", [](Json& p) { p["key"] = "a~0"; }},
      {"/platform", [](Json& p) { p["platform"] = ""; }},
      {"/accept_warning", [](Json& p) { p["accept_warning"] = "yes"; }},
      {"/more", [](Json& p) { p["more"] = 1; }},
  };
  for (const Case& test : cases) {
    Json policy = old_policy();
    test.change(policy);
    const auto verifier = parse_outside_verifier(policy);
    ASSERT_FALSE(verifier) << test.where;
    EXPECT_EQ(verifier.error().where, test.where) << policy.dump();
  }
  EXPECT_FALSE(parse_outside_verifier(Json::array()));
}

TEST(OutsideVerifier, WhatMayBeThere_IsTaken) {
  Json policy = old_policy();
  policy["jwks"]["keys"][0]["use"] = "sig";
  policy["jwks"]["keys"][0]["alg"] = "ES256";
  policy["audience"] = "assay";
  policy["key"] = "/a~0b~1c";
  policy.erase("max_age_seconds");
  const auto verifier = parse_outside_verifier(policy);
  ASSERT_TRUE(verifier) << verifier.error().where;
  EXPECT_EQ(verifier->audience, "assay");
  EXPECT_EQ(verifier->key, "/a~0b~1c");
  EXPECT_EQ(verifier->max_age, std::chrono::seconds(300));
}

TEST(OutsideVerifier, Anchor_IsTheKeySet) {
  const auto one = parse_outside_verifier(old_policy()).value();
  Json policy = old_policy();
  policy["issuer"] = "https://other.example";
  EXPECT_EQ(parse_outside_verifier(policy).value().anchor, one.anchor);
  policy["jwks"]["keys"][0]["kid"] = "other";
  EXPECT_NE(parse_outside_verifier(policy).value().anchor, one.anchor);
}

TEST(EarEvidence, OtherShapes_AreRefused) {
  const std::string hex(64, '0');
  const EarEvidence evidence{"a.b.c", sha256({}), sha256({})};
  EXPECT_EQ(parse_ear_evidence(as_bytes(to_json(evidence).dump())).value().token, "a.b.c");
  for (const Json& json : {Json("a.b.c"), Json::object(), Json({{"ear", "x"}, {"key", hex}}),
                           Json({{"ear", 1}, {"key", hex}, {"request", hex}}),
                           Json({{"ear", "x"}, {"key", hex}, {"more", hex}}),
                           Json({{"ear", "x"}, {"more", hex}, {"request", hex}}),
                           Json({{"ear", "x"}, {"key", hex}, {"request", 7}}),
                           Json({{"ear", "x"}, {"key", hex}, {"request", hex + "0"}}),
                           Json({{"ear", "x"}, {"key", "0"}, {"request", hex}}),
                           Json({{"ear", "x"}, {"key", hex}, {"request", hex}, {"more", 1}})}) {
    EXPECT_FALSE(parse_ear_evidence(as_bytes(json.dump()))) << json.dump();
  }
  EXPECT_FALSE(parse_ear_evidence({}));
}

}  // namespace
}  // namespace assay::attestation::outside
