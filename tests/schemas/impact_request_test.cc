// SPDX-License-Identifier: Apache-2.0
// Questions about impact: what is read, and what is refused.
#include "schemas/impact_request.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"

namespace assay {
namespace {

const Json& policy() {
  static const Json json = {
      {"name", "prod"},
      {"version", 2},
      {"mode", "enforce"},
      {"match", {{"namespaces", {"prod-*"}}}},
      {"require", {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}}}}};
  return json;
}

Result<ImpactRequest> parse(const Json& json) {
  return parse_impact_request(as_bytes(json.dump()));
}

TEST(ImpactRequest, EveryMemberIsReadAndWritten) {
  const std::string id = "sha256:" + std::string(64, 'a');
  const Json json = {
      {"hypothesis",
       {{"activate", {policy()}},
        {"deactivate", {"old"}},
        {"revoke_keys", {id}},
        {"withdraw_statements", {id}},
        {"without_artifacts", {"assay-tree-v1-" + id, id}},
        {"tcb_status_lost", {"SWHardeningNeeded"}},
        {"tcb_levels_lost", {{{"fmspc", "50806f000000"}, {"date", "2024-03-13T00:00:00.000Z"}}}},
        {"reject_advisories", {"INTEL-SA-00837"}},
        {"revoke_nodes", {"gpu-1"}}}},
      {"since", "2026-11-01T00:00:00.000Z"},
      {"until", "2026-11-02T00:00:00.000Z"},
      {"limit", 7},
      {"after", "12"}};
  const auto request = parse(json);
  ASSERT_TRUE(request) << to_string(request.error());
  EXPECT_EQ(request->hypothesis.activate.at(0).version, 2U);
  EXPECT_EQ(request->hypothesis.revoke_keys.at(0).text(), id);
  EXPECT_EQ(request->hypothesis.without_artifacts.size(), 2U);
  EXPECT_TRUE(request->hypothesis.changes_policies());
  EXPECT_EQ(to_json(*request), json);
  const auto least = parse({{"hypothesis", {{"revoke_nodes", {"gpu-1"}}}}});
  ASSERT_TRUE(least);
  EXPECT_EQ(least->limit, ImpactRequest::kDefaultLimit);
  EXPECT_FALSE(least->hypothesis.changes_policies());
}

// One question has up to 16 policies, and the time of one for their patterns.
TEST(ImpactRequest, PoliciesToActivate_ShareTheBudgetOfPatterns) {
  const auto ask = [](std::size_t policies) {
    Json one = policy();
    const Json test = {{"pointer", "/a"}, {"op", "matches"}, {"value", "(.{0,999}N)"}};
    one["require"][0] = {
        {"id", "s"},
        {"statement", {{"predicate_type", "https://x.example/v1"}, {"where", {test, test}}}}};
    Json question = {{"hypothesis", {{"activate", Json::array()}}}};
    for (std::size_t i = 0; i < policies; ++i) {
      one["name"] = "p" + std::to_string(i);
      question["hypothesis"]["activate"].push_back(one);
    }
    return parse(question);
  };
  EXPECT_TRUE(ask(2));
  EXPECT_EQ(ask(16).error().code, ErrorCode::kPolicyInvalid);
}

TEST(ImpactRequest, Bad_IsRefused) {
  const auto with = [](Json hypothesis) { return Json{{"hypothesis", std::move(hypothesis)}}; };
  Json broken = policy();
  broken["require"] = {{{"id", "images"}, {"manifest", Json::object()}}};
  Json limit = with({{"revoke_nodes", {"gpu-1"}}});
  limit["limit"] = 1001;
  for (const Json& json :
       {Json::object(), with(Json::object()), with({{"revoke_keys", {"sha256:short"}}}),
        with({{"revoke_keys", Json::array()}}), with({{"without_artifacts", {"no digest"}}}),
        with({{"tcb_status_lost", {"Up To"}}}),
        with(
            {{"tcb_levels_lost", {{{"fmspc", "50806F000000"}, {"date", "2024-03-13T00:00:00Z"}}}}}),
        with({{"tcb_levels_lost", {{{"fmspc", "50806f000000"}}}}}),
        with({{"reject_advisories", {"INTEL SA"}}}),
        with({{"revoke_nodes", std::vector<std::string>(65, "gpu-1")}}),
        with({{"activate", std::vector<Json>(17, policy())}}), limit}) {
    const auto refused = parse(json);
    ASSERT_FALSE(refused) << json.dump();
    EXPECT_EQ(refused.error().code, ErrorCode::kSchemaViolation) << json.dump();
  }
  EXPECT_EQ(parse(with({{"unknown", {"x"}}})).error().code, ErrorCode::kUnknownMember);
  for (const Json& json :
       {with({{"activate", {broken}}}), with({{"activate", {policy(), policy()}}})}) {
    EXPECT_EQ(parse(json).error().code, ErrorCode::kPolicyInvalid) << json.dump();
  }
}

}  // namespace
}  // namespace assay
