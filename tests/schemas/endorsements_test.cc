// SPDX-License-Identifier: Apache-2.0
// Bundles of endorsements: what their form allows.
#include "schemas/endorsements.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

Json whole_bundle() {
  return {{"number", 7},
          {"made_at", "2026-03-01T00:00:00.000Z"},
          {"collateral", {{{"type", "sev-snp"}, {"collateral", {{"crl", "3082"}}}}}},
          {"roots", {{{"type", "sev-snp"}, {"bytes", "MIIB"}}}}};
}
Result<Endorsements> parsed_bundle(const Json& json) {
  return parse_endorsements(as_bytes(json.dump()));
}

TEST(Endorsements, OutsideTheirForm_AreRefused) {
  ASSERT_TRUE(parsed_bundle(whole_bundle()));
  struct Case {
    const char* name;
    const char* pointer;
    Json value;
    const char* code;
  };
  const Json set = whole_bundle()["collateral"][0];
  const std::vector<Case> cases = {
      {"number 0", "/number", 0, "schema-violation"},
      {"a negative number", "/number", -1, "schema-violation"},
      {"half a number", "/number", 7.5, "schema-violation"},
      {"a number as text", "/number", "7", "schema-violation"},
      {"a number that readers round", "/number", std::uint64_t{1} << 53, "limit-exceeded"},
      {"no time", "/made_at", "today", "schema-violation"},
      {"a time that does not exist", "/made_at", "2026-02-30T00:00:00Z", "invalid-time"},
      {"no collateral", "/collateral", Json::array(), "schema-violation"},
      {"too many sets", "/collateral", std::vector<Json>(65, set), "schema-violation"},
      {"a set that is none", "/collateral/0/collateral", Json::object(), "schema-violation"},
      {"a type with odd letters", "/collateral/0/type", "../tdx", "schema-violation"},
      {"too many roots", "/roots", std::vector<Json>(17, whole_bundle()["roots"][0]),
       "schema-violation"},
      {"a root that is no base64", "/roots/0/bytes", "MII*", "invalid-encoding"},
      {"an unknown member", "/operators", "us", "unknown-member"},
  };
  for (const Case& one : cases) {
    Json json = whole_bundle();
    json[Json::json_pointer(one.pointer)] = one.value;
    EXPECT_EQ(code_of(parsed_bundle(json)), one.code) << one.name;
  }
  for (const char* member : {"number", "made_at", "collateral"}) {
    Json json = whole_bundle();
    json.erase(member);
    EXPECT_EQ(code_of(parsed_bundle(json)), "schema-violation") << member;
  }
}

TEST(Endorsements, CutAnywhere_AreRefused) {
  const std::string whole = whole_bundle().dump();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_endorsements(as_bytes(whole.substr(0, length)))) << length;
  }
}

}  // namespace
}  // namespace assay
