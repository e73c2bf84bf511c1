// SPDX-License-Identifier: Apache-2.0
// What policies may say in tests of predicates, relations, requests and windows: what is read is
// written again, and everything else is refused with its place.
#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "schemas/instant.h"
#include "schemas/policy_document.h"
#include "schemas/semver.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::where_of;

Json with_conditions(const Json& conditions) {
  Json json = Json::parse(embedded::kPolicySchemaJson)["examples"][0];
  json["require"] = conditions.is_array() ? conditions : Json::array({conditions});
  return json;
}

Json statement_with(const char* member, const Json& value) {
  return {{"id", "it"},
          {"statement", {{"predicate_type", "https://example.com/x/v1"}, {member, value}}}};
}

// The policy with one test in a statement condition.
Result<PolicyDocument> parse_with_test(const char* text) {
  return parse_policy(
      bytes_of(with_conditions({statement_with("where", Json::array({Json::parse(text)}))})));
}

constexpr const char* kTests[] = {
    R"({"pointer":"/a","op":"==","value":1})",
    R"({"pointer":"/a","op":"<","value":1.5})",
    R"({"pointer":"/t","op":">=","type":"timestamp","value":"2026-01-01T00:00:00Z"})",
    R"({"pointer":"/t","op":">=","type":"timestamp","value":{"now_minus_seconds":86400}})",
    R"({"pointer":"/v","op":"in","type":"semver","value":["1.2.3","2.0.0-rc.1"]})",
    R"({"pointer":"/n","op":"matches","value":"acme/.*"})",
    R"({"pointer":"/l","op":"subset","value":["a",1,null]})",
    R"({"pointer":"/l","op":"superset","value":["a"]})",
    R"({"pointer":"/l","op":"disjoint","value":["a"]})",
    R"({"pointer":"/l","op":"contains","value":"a"})",
    R"({"pointer":"/l","op":"exists","value":false})",
    R"({"any":"/i","where":[{"pointer":"/n","op":"==","value":"X"}]})",
    R"({"each":"/i","where":[{"none":"/tags","where":[{"pointer":"","op":"==","value":"X"}]}]})"};

TEST(PredicateTests, AreReadAndWritten) {
  for (const char* text : kTests) {
    const auto policy = parse_with_test(text);
    ASSERT_TRUE(policy) << text << to_string(policy.error());
    const Json written = to_json(*policy);
    EXPECT_EQ(written["require"][0]["statement"]["where"][0], Json::parse(text));
    EXPECT_TRUE(parse_policy(bytes_of(written))) << text;
  }
}

TEST(PredicateTests, OfAnotherShape_AreRefused) {
  for (const char* text :
       {R"({"pointer":"/a","op":"like","value":1})",
        R"({"pointer":"/a","op":"=="})",
        R"({"op":"==","value":1})",
        "{}",
        R"({"pointer":"/a","op":"<","value":true})",
        R"({"pointer":"/a","op":"<","value":"1"})",
        R"({"pointer":"/a","op":"<","value":{}})",
        R"({"pointer":"/a","op":"subset","value":"a"})",
        R"({"pointer":"/a","op":"subset","value":[]})",
        R"({"pointer":"/a","op":"exists","value":"yes"})",
        R"({"pointer":"/a","op":"matches","value":""})",
        R"({"pointer":"/a","op":"==","value":1,"type":"text"})",
        R"({"pointer":"/a","op":"==","value":1,"where":[]})",
        R"({"any":"/a"})",
        R"({"any":"/a","where":[]})",
        R"({"some":"/a","where":[]})",
        R"({"any":"/a","none":"/b","where":[{"pointer":"/n","op":"==","value":1}]})",
        R"({"any":"/a","op":"==","where":[{"pointer":"/n","op":"==","value":1}]})",
        R"({"any":"a","where":[{"pointer":"/n","op":"==","value":1}]})",
        R"({"where":[{"pointer":"/n","op":"==","value":1}]})"}) {
    EXPECT_FALSE(parse_with_test(text)) << text;
  }
  EXPECT_EQ(where_of(parse_with_test(R"({"pointer":"/a","op":"matches","value":"("})")),
            "/require/0/statement/where/0/value");
}

// Nesting is bounded before anything is run.
TEST(PredicateTests, NestedTooDeeply_AreRefused) {
  Json test = {{"pointer", ""}, {"op", "=="}, {"value", 1}};
  for (int i = 0; i < 2; ++i) {
    test = {{"any", "/a"}, {"where", Json::array({test})}};
  }
  EXPECT_TRUE(parse_with_test(test.dump().c_str()));
  test = {{"any", "/a"}, {"where", Json::array({test})}};
  EXPECT_FALSE(parse_with_test(test.dump().c_str()));
  EXPECT_FALSE(parse_with_test(
      Json{{"any", "/a"},
           {"where", std::vector<Json>(17, {{"pointer", ""}, {"op", "=="}, {"value", 1}})}}
          .dump()
          .c_str()));
}

TEST(Relations, NameConditionsOfThePolicy) {
  const Json published = {{"id", "published"}, {"manifest", Json::object()}};
  const auto parse = [&](const Json& none_of) {
    return parse_policy(bytes_of(with_conditions(
        {published,
         {{"id", "any"}, {"any", {statement_with("signers", {{"none_of", none_of}})}}}})));
  };
  const auto policy = parse({"published", "publishers"});
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_EQ(to_json(*policy)["require"][1]["any"][0]["statement"]["signers"]["none_of"],
            (Json{"published", "publishers"}));
  for (const char* other : {"it", "any", "nobody", ""}) {
    EXPECT_FALSE(parse(Json::array({other}))) << other;
  }
  EXPECT_EQ(where_of(parse({"published", "nobody"})),
            "/require/1/any/0/statement/signers/none_of/1");
  const Json own = {{"id", "own"}, {"manifest", {{"signers", {{"none_of", {"publishers"}}}}}}};
  EXPECT_FALSE(parse_policy(bytes_of(with_conditions({own}))));
  const Json reserved = {{"id", "publishers"}, {"manifest", Json::object()}};
  EXPECT_FALSE(parse_policy(bytes_of(with_conditions({reserved}))));
}

TEST(Conditions, OnRequestsAndWindows_AreReadAndWritten) {
  const Json conditions = {
      {{"id", "who"}, {"request", {{"users", {"ci-*"}}, {"groups", {"ml"}}}}},
      {{"id", "service"}, {"request", {{"service_accounts", {"prod-*/serving"}}}}},
      {{"id", "when"},
       {"window",
        {{"days", {"mon", "fri"}},
         {"from", "08:00"},
         {"to", "24:00"},
         {"not_before", "2026-01-01T00:00:00.000Z"},
         {"not_after", "2027-01-01T00:00:00.000Z"}}}},
      statement_with("considered", {{"identities", {"eval@acme.example"}}})};
  const auto policy = parse_policy(bytes_of(with_conditions(conditions)));
  ASSERT_TRUE(policy) << to_string(policy.error());
  const Json written = to_json(*policy)["require"];
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(written[i], conditions[i]);
  }
  EXPECT_EQ(written[3]["statement"]["considered"], conditions[3]["statement"]["considered"]);
}

TEST(Conditions, OnRequestsAndWindows_OfAnotherShape_AreRefused) {
  for (const char* text :
       {R"({"request":{}})", R"({"request":{"users":[]}})", R"({"request":{"root":["x"]}})",
        R"({"window":{}})", R"({"window":{"days":["monday"]}})", R"({"window":{"from":"8:00"}})",
        R"({"window":{"from":"24:01"}})", R"({"window":{"from":"18:00","to":"08:00"}})",
        R"({"window":{"not_before":"tomorrow"}})"}) {
    Json condition = Json::parse(text);
    condition["id"] = "it";
    EXPECT_FALSE(parse_policy(bytes_of(with_conditions({condition})))) << text;
  }
  EXPECT_FALSE(
      parse_policy(bytes_of(with_conditions({statement_with("considered", Json::object())}))));
}

TEST(Semver, IsStrict) {
  for (const char* text : {"0.0.4", "1.2.3-0A.is.legal", "1.0.0-alpha+beta", "1.0.0--x",
                           "1.1.2+meta-valid", "1.0.0-0.3.7", "99999999999999999999999.999.9"}) {
    EXPECT_TRUE(parse_semver(text)) << text;
  }
  for (const char* text : {"", "1", "1.2", "1.2.3.4", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3-01",
                           "01.2.3", "-1.2.3", "1.2.3 ", "1.2.3-\xc3\xa4", "v1.2.3", "1.2.3+a+b"}) {
    EXPECT_FALSE(parse_semver(text)) << text;
  }
  EXPECT_FALSE(parse_semver("1.2.3-" + std::string(300, 'a')));
}

TEST(Instant, KeepsWhatThePolicyNeeds) {
  const auto at = [](const char* text) { return parse_instant(text).value(); };
  EXPECT_EQ(at("2026-01-01T01:00:00+01:00"), at("2026-01-01T00:00:00Z"));
  EXPECT_LT(at("2026-01-01T00:00:00.1Z"), at("2026-01-01T00:00:00.100000001Z"));
  EXPECT_EQ(at("2026-01-01T00:00:00-00:00"), at("2026-01-01T00:00:00Z"));
  EXPECT_EQ(floor_of(at("2026-01-01T00:00:00.0019Z")),
            parse_rfc3339("2026-01-01T00:00:00.001Z").value());
  for (const char* text :
       {"", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00ZZ", "1969-12-31T23:59:59Z"}) {
    EXPECT_FALSE(parse_instant(text)) << text;
  }
}

}  // namespace
}  // namespace assay
