// SPDX-License-Identifier: Apache-2.0
// Reference sets: documents, and where policies may name them.
#include "schemas/reference_set.h"

#include <gtest/gtest.h>

#include "schemas/policy_document.h"

namespace assay {
namespace {

Json people() {
  return {{"name", "managers"},
          {"version", 2},
          {"kind", "identities"},
          {"values", {"alice@acme.example", "bob"}}};
}

Result<ReferenceSet> parse(const Json& json) { return parse_reference_set(as_bytes(json.dump())); }

std::string refusal(const Json& json) {
  const auto set = parse(json);
  return set ? "accepted" : std::string(info(set.error().code).code) + " " + set.error().where;
}

Json with(const char* member, const Json& value) {
  Json json = people();
  json[member] = value;
  return json;
}

TEST(ReferenceSet, WhatIsWritten_ReadsBackAsTheSame) {
  Json json = with("description", "Who may approve.");
  EXPECT_EQ(to_json(parse(json).value()), json);
  for (const auto& [kind, value] : {std::pair<const char*, Json>{"digests", "sha384:0a"},
                                    {"measurements", std::string(96, 'a')},
                                    {"licences", "GPL-2.0 WITH Classpath-exception-2.0"},
                                    {"patterns", "system:serviceaccounts:*"},
                                    {"values", 0.5},
                                    {"values", nullptr}}) {
    json["kind"] = kind;
    json["values"] = Json::array({value});
    const auto set = parse(json);
    ASSERT_TRUE(set) << kind << to_string(set.error());
    EXPECT_EQ(name(set->kind), kind);
    EXPECT_EQ(to_json(*set), json);
  }
}

TEST(ReferenceSet, ValuesOfAnotherKind_AreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal(with("values", {"bob", 1})), "policy-invalid /values/1");
  EXPECT_EQ(refusal(with("values", {"bob", "with space"})), "policy-invalid /values/1");
  EXPECT_EQ(refusal(with("values", {"bob", "set:others"})), "policy-invalid /values/1");
  EXPECT_EQ(refusal(with("values", {""})), "policy-invalid /values/0");
  EXPECT_EQ(refusal(with("kind", "digests")), "policy-invalid /values/0");
  EXPECT_EQ(refusal(with("kind", "measurements")), "policy-invalid /values/0");
  Json licences = with("kind", "licences");
  licences["values"] = {"MIT", "MIT OR Apache-2.0"};
  EXPECT_EQ(refusal(licences), "policy-invalid /values/1");
}

TEST(ReferenceSet, EmptyDoubledOversizedOrUnknown_IsRefused) {
  EXPECT_EQ(refusal(with("values", Json::array())), "schema-violation /values");
  EXPECT_EQ(refusal(with("values", {"bob", "bob"})), "schema-violation /values/1");
  EXPECT_EQ(refusal(with("values", Json::array({Json::array({"bob"})}))),
            "schema-violation /values/0");
  EXPECT_EQ(refusal(with("kind", "colours")), "schema-violation /kind");
  EXPECT_EQ(refusal(with("name", "set:x")), "schema-violation /name");
  EXPECT_EQ(refusal(with("name", "managers\n")), "schema-violation /name");
  EXPECT_EQ(refusal(with("more", 1)), "unknown-member /more");
  Json many = Json::array();
  for (std::size_t i = 0; i <= kMaxSetValues; ++i) {
    many.push_back("p" + std::to_string(i));
  }
  EXPECT_EQ(refusal(with("values", many)), "schema-violation /values");
  many.erase(0);
  EXPECT_EQ(refusal(with("values", many)), "accepted");
}

Json policy_with(const Json& identities) {
  return {{"name", "p"},
          {"version", 1},
          {"mode", "enforce"},
          {"match", Json::object()},
          {"require",
           {{{"id", "any-of-them"},
             {"any",
              {{{"id", "a"}, {"manifest", Json::object()}},
               {{"id", "b"}, {"manifest", {{"signers", {{"identities", identities}}}}}}}}}}}};
}

TEST(ReferenceSet, ConditionThatNamesASet_IsOpen) {
  const auto policy = parse_policy(as_bytes(policy_with({"carol", "set:managers"}).dump()));
  ASSERT_TRUE(policy) << to_string(policy.error());
  const auto& parts = std::get<AnyCondition>(policy->require.front().kind).of;
  EXPECT_FALSE(policy->require.front().open_set);
  EXPECT_FALSE(parts.at(0).open_set);
  ASSERT_TRUE(parts.at(1).open_set);
  EXPECT_EQ(parts.at(1).open_set->name, "managers");
  EXPECT_EQ(to_json(*policy)["require"][0]["any"][1]["manifest"]["signers"]["identities"],
            (Json{"carol", "set:managers"}));
}

TEST(ReferenceSet, NameThatNoSetCanHave_IsRefusedWithItsPlace) {
  for (const char* entry : {"set:", "set:A", "set:-a", "set:a--b", "set:a_b"}) {
    const auto policy = parse_policy(as_bytes(policy_with({"carol", entry}).dump()));
    ASSERT_FALSE(policy) << entry;
    EXPECT_EQ(policy.error().code, ErrorCode::kPolicyInvalid);
    EXPECT_EQ(policy.error().where, "/require/0/any/1/manifest/signers/identities/1") << entry;
  }
}

}  // namespace
}  // namespace assay
