// SPDX-License-Identifier: Apache-2.0
// Who asked for a pod: read when the pod is created, kept with it, and judged from then on.
#include "server/service/kubernetes/requester.h"

#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

class RequesterTest : public BindTest {
 protected:
  // Only pods of the pipeline, with its service account.
  void SetUp() override {
    Json policy = bind_policy();
    policy["version"] = 2;
    policy["require"].push_back({{"id", "pipeline"},
                                 {"request",
                                  {{"users", {"system:serviceaccount:ci:*"}},
                                   {"groups", {"release-*"}},
                                   {"service_accounts", {"inference/serving"}}}}});
    put_policy(policy);
  }

  static Json created_by(const std::string& user, const Json& groups,
                         const std::string& account = "serving") {
    Json review = pod_review("uid-1", "acme/demo");
    review["request"]["userInfo"] = {{"username", user}, {"groups", groups}};
    review["request"]["object"]["spec"]["serviceAccountName"] = account;
    return review;
  }
  static Json by_the_pipeline() {
    return created_by("system:serviceaccount:ci:deploy", {"release-eu", "system:authenticated"});
  }
};

TEST_F(RequesterTest, ThePipeline_IsLetIn) {
  const Json response = ask(by_the_pipeline());
  EXPECT_EQ(response["auditAnnotations"]["verdict"], "allow") << response.dump();
  EXPECT_EQ(pod_row()->workload["requester"]["user"], "system:serviceaccount:ci:deploy");
  EXPECT_EQ(pod_row()->workload["requester"]["service_account"], "inference/serving");
}

TEST_F(RequesterTest, SomebodyElse_IsRefused) {
  EXPECT_TRUE(denied_with(ask(created_by("mallory", {"release-eu"})), "requester-mismatch"));
  EXPECT_TRUE(denied_with(ask(created_by("system:serviceaccount:ci:deploy", {"other"})),
                          "requester-mismatch"));
  EXPECT_TRUE(
      denied_with(ask(created_by("system:serviceaccount:ci:deploy", {"release-eu"}, "default")),
                  "requester-mismatch"));
}

TEST_F(RequesterTest, WhatTheReviewDoesNotSay_IsNotKnown) {
  Json review = by_the_pipeline();
  review["request"]["userInfo"].erase("groups");
  EXPECT_TRUE(denied_with(ask(review), "requester-unknown"));
  review = by_the_pipeline();
  review["request"]["userInfo"]["groups"] =
      std::vector<std::string>(kMaxUserGroups + 1, "release-eu");
  EXPECT_TRUE(denied_with(ask(review), "requester-unknown"));
  review["request"]["userInfo"]["groups"] = std::vector<std::string>(kMaxUserGroups, "release-eu");
  EXPECT_EQ(ask(review)["allowed"], true);
  review = by_the_pipeline();
  review["request"]["userInfo"]["groups"] = {"release-eu", 7};
  EXPECT_TRUE(denied_with(ask(review), "requester-unknown"));
  review = by_the_pipeline();
  review["request"]["userInfo"]["username"] = std::string(kMaxUserBytes + 1, 'a');
  EXPECT_TRUE(denied_with(ask(review), "requester-unknown"));
}

// The scheduler binds the pod; it is still the pipeline's.
TEST_F(RequesterTest, Binding_IsJudgedByWhoCreatedThePod) {
  ask(by_the_pipeline());
  Json binding = binding_review("uid-1");
  binding["request"]["userInfo"] = {{"username", "system:kube-scheduler"}, {"groups", {"x"}}};
  const Json response = ask(binding);
  EXPECT_EQ(response["allowed"], true) << response.dump();
}

// Whoever updates a pod did not ask for it: an unknown pod has no known user, and a change of a
// known one does not make it somebody else's.
TEST_F(RequesterTest, Updates_DoNotSayWhoAsked) {
  const Json created = by_the_pipeline();
  Json changed = created["request"]["object"];
  changed["spec"]["containers"][0]["image"] = "registry.example.com/other:1";
  Json update = update_review(created, changed);
  update["request"]["userInfo"] = created["request"]["userInfo"];
  EXPECT_TRUE(denied_with(ask(update), "requester-unknown"));
  ask(created);
  update["request"]["userInfo"] = {{"username", "kubelet"}, {"groups", {"x"}}};
  const Json response = ask(update);
  EXPECT_EQ(response["allowed"], true) << response.dump();
  EXPECT_EQ(pod_row()->workload["requester"]["user"], "system:serviceaccount:ci:deploy");
}

}  // namespace
}  // namespace assay::server::test
