// SPDX-License-Identifier: Apache-2.0
// The checks for authors: the example passes all of them, and each wrong plug-in fails one.
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "attestation/plugin/conformance.h"
#include "tests/attestation/plugin_support.h"

namespace assay::attestation::plugin {
namespace {

Json example_vectors() {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) +
                     "/deploy/examples/verifier-plugin/vectors.json");
  return Json::parse(file);
}

// "VECTOR/CHECK" of what failed.
std::vector<std::string> failures(const EvidenceVerifier& verifier, const Json& vectors) {
  std::vector<std::string> failed;
  const auto parsed = parse_vectors(to_bytes(vectors.dump()));
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  for (const ConformanceCheck& check : check_conformance(verifier, parsed.value())) {
    EXPECT_EQ(check.passed, check.detail.empty());
    if (!check.passed) {
      failed.push_back(check.vector + "/" + check.check);
    }
  }
  return failed;
}

TEST(Conformance, Example_PassesAllChecks) {
  const auto verifier = test::example_hmac();
  EXPECT_EQ(failures(*verifier, example_vectors()), std::vector<std::string>{});
}

TEST(Conformance, OtherExpectation_Fails) {
  const auto verifier = test::example_hmac();
  Json vectors = example_vectors();
  vectors["vectors"] = Json::array({vectors["vectors"][4]});
  vectors["vectors"][0]["expect"]["error"] = "OTHER";
  EXPECT_EQ(failures(*verifier, vectors), std::vector<std::string>{"nothing/verdict"});
}

// The wicked plug-in accepts whatever begins with "good", for whatever report data.
TEST(Conformance, PluginThatLooksAtNothing_Fails) {
  const auto verifier = test::wicked();
  const Json vectors = {{"type", "wicked"},
                        {"media_type", "application/vnd.example.wicked"},
                        {"vectors",
                         {{{"name", "v"},
                           {"evidence", base64_encode(to_bytes("good, and more"))},
                           {"report_data", std::string(128, '0')},
                           {"now", "2026-01-01T00:00:00Z"},
                           {"expect", {{"verdict", "accepted"}}}}}}};
  EXPECT_EQ(failures(*verifier, vectors),
            (std::vector<std::string>{"v/report-data", "v/empty", "v/extended", "v/truncated",
                                      "v/flipped"}));
}

TEST(Vectors, WhatDoesNotFollowTheSchema_IsRefused) {
  const auto code = [](const Json& json) {
    const auto parsed = parse_vectors(to_bytes(json.dump()));
    return parsed ? std::string("OK") : std::string(info(parsed.error().code).code);
  };
  const Json valid = example_vectors();
  EXPECT_EQ(code(valid), "OK");
  for (const char* place : {"/type", "/media_type", "/vectors", "/vectors/0/name",
                            "/vectors/0/evidence", "/vectors/0/report_data", "/vectors/0/now",
                            "/vectors/0/expect", "/vectors/0/expect/verdict"}) {
    Json changed = valid;
    changed[Json::json_pointer(place)] = 7;
    EXPECT_EQ(code(changed), "schema-violation") << place;
  }
  Json changed = valid;
  changed["vectors"][0]["evidence"] = "?";
  EXPECT_EQ(code(changed), "invalid-encoding");
  changed = valid;
  changed["vectors"][0]["now"] = "yesterday";
  EXPECT_EQ(code(changed), "invalid-time");
}

}  // namespace
}  // namespace assay::attestation::plugin
