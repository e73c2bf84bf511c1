// SPDX-License-Identifier: Apache-2.0
// Of very many policies in force, a decision looks at those that match, and its case names them.
#include "server/service/decisions/case_file.h"
#include "tests/server/service/fixture.h"

namespace assay::server {
namespace {

class ManyPoliciesTest : public test::ServiceTest {
 protected:
  ManyPoliciesTest() {
    store_good_model(manifest("good"));
    put_policy_in_force();
    // Each asks for what the model does not have.
    for (std::uint64_t i = 0; i < policy::kIndexPoliciesFrom; ++i) {
      const Json document = {
          {"name", "team-" + std::to_string(i)},
          {"version", 1},
          {"mode", "enforce"},
          {"match", {{"namespaces", {"team-" + std::to_string(i)}}}},
          {"require", {{{"id", "long"}, {"parameters", {{"hash", {"sha384"}}}}}}}};
      const auto stored = accept_policy(
          *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
          actor_);
      const StatementId id = stored->row.id;
      EXPECT_TRUE(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                        policy_approval(id, i + 2, policy_approver_), actor_));
    }
  }
  // Nothing when no policy selects the workload.
  std::optional<Decision> decide_in(const std::string& name_space, bool skip_unselected = false,
                                    const std::string& resource = "nvidia.com/gpu") {
    const DecisionRequest request{.point = DecisionPoint::kCreate,
                                  .models = {"acme/demo"},
                                  .workload = {name_space, {}, {resource}},
                                  .context = Json::object(),
                                  .principal = "tester",
                                  .skip_unselected = skip_unselected};
    const auto answer = decide(*services_, request);
    EXPECT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->selected, answer->decision.has_value());
    return answer->decision;
  }
  std::size_t policies_in_case(const Decision& decision) {
    return load_case(*store_->snapshot().value(), decision.facts)->policies.size();
  }
};

TEST_F(ManyPoliciesTest, Decisions_AreAboutThoseThatMatch) {
  const Decision allowed = decide_in("elsewhere").value();
  EXPECT_TRUE(allowed.verdict.allowed);
  EXPECT_EQ(policies_in_case(allowed), 1U);
  const Decision denied = decide_in("team-7").value();
  EXPECT_FALSE(denied.verdict.allowed);
  ASSERT_EQ(denied.verdict.policies.size(), 2U);
  EXPECT_EQ(denied.verdict.policies[1].name, "team-7");
  EXPECT_EQ(policies_in_case(denied), 2U);
  for (const Decision& decision : {allowed, denied}) {
    const auto again = replay(*services_, decision.id);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_TRUE(again->reproduced);
  }
  EXPECT_FALSE(decide_in("elsewhere", true, "cpu"));
  EXPECT_TRUE(decide_in("team-7", true, "cpu"));
}

}  // namespace
}  // namespace assay::server
