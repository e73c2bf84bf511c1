// SPDX-License-Identifier: Apache-2.0
// Questions about impact through the API: who may ask, and what is refused.

#include <gtest/gtest.h>

#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

class ImpactTest : public test::ApiTest {
 protected:
  ImpactTest() {
    store_good_model(model_);
    put_policy_in_force();
    const Json request = {{"point", "create"},
                          {"model", "acme/demo"},
                          {"workload", {{"namespace", "prod"}, {"resources", {"nvidia.com/gpu"}}}}};
    EXPECT_EQ(post_json("/v1/decisions", "decider", request).status, 200);
  }
  Manifest model_ = manifest("good");
  Json question_ = {{"hypothesis", {{"revoke_keys", {publisher_.record.id.text()}}}}};
};

TEST_F(ImpactTest, WhoWritesApprovesOrAudits_MayAsk) {
  for (const char* const role : {"policy-author", "policy-approver", "auditor", "admin"}) {
    const auto answer = post_json("/v1/impact/decisions", role, question_);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["examined"], 1);
    EXPECT_EQ(answer.json()["denied"], 1);
    EXPECT_EQ(post_json("/v1/impact/pods", role, question_).status, 200);
    EXPECT_EQ(get("/v1/pods/affected", role).status, 200);
  }
  for (const char* const role : {"reader", "decider", "worker", "admission", "submitter"}) {
    EXPECT_EQ(post_json("/v1/impact/decisions", role, question_).status, 403);
    EXPECT_EQ(post_json("/v1/impact/pods", role, question_).status, 403);
    EXPECT_EQ(get("/v1/pods/affected", role).status, 403);
  }
}

// Nothing of this decision rests on evidence.
TEST_F(ImpactTest, TcbLevelsAndAdvisories) {
  Json level = {{"fmspc", "50806f000000"}, {"date", "2024-03-13T00:00:00Z"}};
  const auto ask = [this, &level](const std::string& path) {
    return post_json(path, "auditor",
                     {{"hypothesis",
                       {{"tcb_levels_lost", {level}}, {"reject_advisories", {"INTEL-SA-00837"}}}}});
  };
  const auto answer = ask("/v1/impact/decisions");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["examined"], 1);
  EXPECT_EQ(answer.json()["denied"], 0);
  EXPECT_EQ(ask("/v1/impact/pods").status, 200);
  level["date"] = "March";
  EXPECT_EQ(ask("/v1/impact/pods").status, 400);
}

TEST_F(ImpactTest, BadQuestions_AreRefusedWithTheirCodes) {
  const auto refused = [this](const std::string& path, const Json& body) {
    const auto answer = post_json(path, "auditor", body);
    return std::to_string(answer.status) + " " + answer.code();
  };
  EXPECT_EQ(refused("/v1/impact/decisions", Json::object()), "400 schema-violation");
  Json wrong = question_;
  wrong["after"] = "somewhere";
  EXPECT_EQ(refused("/v1/impact/decisions", wrong), "400 invalid-parameter");
  EXPECT_EQ(refused("/v1/impact/pods", wrong), "400 invalid-parameter");
  wrong = question_;
  wrong["since"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(refused("/v1/impact/pods", wrong), "400 invalid-parameter");
  const auto turn = services_->impact_turn.try_take();
  for (const char* const path : {"/v1/impact/decisions", "/v1/impact/pods"}) {
    EXPECT_EQ(refused(path, question_), "429 busy") << path;
  }
  EXPECT_EQ(get("/v1/pods/affected").status, 429);
  EXPECT_EQ(get("/v1/pods/affected").header("Retry-After"), "1");
  for (const char* const query : {"key=x", "statement=x", "artifact=x", "after=x", "limit=0"}) {
    EXPECT_EQ(get("/v1/pods/affected?" + std::string(query)).status, 400) << query;
  }
}

}  // namespace
}  // namespace assay::server
