// SPDX-License-Identifier: Apache-2.0
// Pods whose init container fills a volume with the model, under a policy that says what that
// container may run.
#include "tests/server/service/bind_fixture.h"

namespace assay::server {
namespace {

class Fillers : public test::BindTest {
 protected:
  Fillers() { put_policy(policy()); }

  static std::string digest() { return "sha256:" + std::string(64, '1'); }
  static Json policy() {
    Json made = bind_policy();
    made["version"] = 2;
    made["fill_at_run"] = {digest()};
    made["fillers"] = {{{"image", digest()},
                        {"command", Json::array()},
                        {"args", {"s3://models/demo", "/models"}}}};
    made["require"] = {made["require"][0],
                       {{"id", "in-the-pod"}, {"report", {{"scope", "files"}, {"at", "serve"}}}}};
    return made;
  }
  // A pod whose filler has these members, too.
  static Json review(const Json& members) {
    Json made = pod_review("uid-" + canonical_json(members).value(), "acme/demo");
    Json& spec = made["request"]["object"]["spec"];
    spec["volumes"][0] = {{"name", "model"}, {"emptyDir", Json::object()}};
    Json filler = {{"name", "initializer"},
                   {"image", "registry.example.com/fill@" + digest()},
                   {"args", {"s3://models/demo", "/models"}},
                   {"volumeMounts", {{{"name", "model"}, {"mountPath", "/models"}}}}};
    filler.merge_patch(members);
    spec["initContainers"] = Json::array({filler});
    return made;
  }
  // Why the pod is denied, in the decision; null for one that is allowed.
  Json differing(const Json& members) {
    const Json response = ask(review(members));
    if (response["allowed"]) {
      return nullptr;
    }
    EXPECT_TRUE(denied_with(response, "reference-unbound")) << response.dump(1);
    const Json decision = decision_of(response);
    for (const Json& one : decision["verdict"]["policies"][0]["conditions"]) {
      if (one["id"] == "reference-bound") {
        return one["actual"].value("fillers_differ", Json());
      }
    }
    return "no such condition";
  }
};

TEST_F(Fillers, WhatThePolicySays_Fills) {
  EXPECT_EQ(differing(Json::object()), nullptr);
  EXPECT_EQ(differing({{"command", Json::array()}}), nullptr);
  EXPECT_EQ(differing({{"env", {{{"name", "REGION"}, {"value", "eu"}}}}}), nullptr);
}

TEST_F(Fillers, ChangedList_IsRefusedByItsName) {
  EXPECT_EQ(differing({{"args", {"s3://models/evil", "/models"}}}), Json{"initializer: args"});
  EXPECT_EQ(differing({{"args", nullptr}}), Json{"initializer: args"});
  EXPECT_EQ(differing({{"args", {"s3://models/demo", "/models", "--again"}}}),
            Json{"initializer: args"});
  EXPECT_EQ(differing({{"command", {"/bin/sh"}}}), Json{"initializer: command"});
  EXPECT_EQ(differing({{"command", {"/bin/sh", "-c"}}, {"args", {"x"}}}),
            Json{"initializer: command and args"});
}

// The kubelet would put the value in its place that the pod gives.
TEST_F(Fillers, VariableOfThePod_IsNoValue) {
  const Json env = {{{"name", "MODEL"}, {"value", "s3://models/demo"}}};
  EXPECT_EQ(differing({{"args", {"$(MODEL)", "/models"}}, {"env", env}}),
            Json{"initializer: args"});
}

TEST_F(Fillers, WhatIsNoListOfWords_EqualsNone) {
  EXPECT_EQ(differing({{"command", "fill"}}), Json{"initializer: command"});
  EXPECT_EQ(differing({{"args", {"s3://models/demo", 7}}}), Json{"initializer: args"});
}

}  // namespace
}  // namespace assay::server
