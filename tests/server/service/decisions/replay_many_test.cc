// SPDX-License-Identifier: Apache-2.0
// Ten thousand decisions of many kinds (ASSAY_DECISIONS: so many) are replayed after a restart:
// each gives its digest.
#include <cstdlib>

#include "tests/server/service/fixture.h"

namespace assay::server {
namespace {

int decisions() {
  const char* const text = std::getenv("ASSAY_DECISIONS");
  return text == nullptr ? 10'000 : std::atoi(text);
}

class ReplayManyTest : public test::ServiceTest {
 protected:
  // Allows and denials, about known and unknown models, at several times and in many namespaces.
  std::string decide_number(int number) {
    const DecisionRequest request{
        .point = DecisionPoint::kCreate,
        .models = {number % 3 == 0 ? "acme/unknown" : "acme/demo"},
        .workload = {"team-" + std::to_string(number % 97), {}, {"nvidia.com/gpu"}},
        .context = {{"number", number}},
        .principal = "tester"};
    clock_.advance(std::chrono::seconds(1));
    return decide(*services_, request)->decision->id;
  }
};

TEST_F(ReplayManyTest, EveryStoredDecision_GivesItsDigestAfterARestart) {
  store_good_model(manifest("good"));
  put_policy_in_force();
  std::vector<std::string> ids;
  const int count = decisions();
  for (int i = 0; i < count; ++i) {
    if (i == count / 2) {  // what changes later is not part of what was decided before
      ASSERT_TRUE(apply_trust_change(
          *services_,
          trust_change(1, {RevokeKey{approver_a_.record.id, "lost"}}, {&operator1_, &operator2_}),
          actor_));
    }
    ids.push_back(decide_number(i));
  }
  reopen();
  int allowed = 0;
  for (const std::string& id : ids) {
    const auto answer = replay(*services_, id);
    ASSERT_TRUE(answer) << to_string(answer.error());
    ASSERT_TRUE(answer->reproduced) << id;
    allowed += answer->verdict.allowed ? 1 : 0;
  }
  EXPECT_GT(allowed, count / 4);
  EXPECT_LT(allowed, count / 2);
}

}  // namespace
}  // namespace assay::server
