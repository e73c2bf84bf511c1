// SPDX-License-Identifier: Apache-2.0
// Ten thousand decisions of many kinds (ASSAY_DECISIONS: so many) are replayed after a restart:
// each gives its digest.
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/server/service/fixture.h"

namespace assay::server {
namespace {

std::size_t decisions() {
  const char* const text = std::getenv("ASSAY_DECISIONS");
  return text == nullptr ? 10'000 : static_cast<std::size_t>(std::atoi(text));
}

// Writes are durable one by one; many at a time share what that costs.
constexpr std::size_t kThreads = 16;

// Calls `work` with 0 to `count` - 1, on several threads.
void for_each_number(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::array<std::thread, kThreads> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

class ReplayManyTest : public test::ServiceTest {
 protected:
  // Allows and denials, about known and unknown models, at several times and in many namespaces.
  std::string decide_number(std::size_t number) {
    const DecisionRequest request{
        .point = DecisionPoint::kCreate,
        .models = {number % 3 == 0 ? "acme/unknown" : "acme/demo"},
        .workload = {"team-" + std::to_string(number % 97), {}, {"nvidia.com/gpu"}},
        .context = {{"number", number}},
        .principal = "tester"};
    clock_.advance(std::chrono::seconds(1));
    const auto answer = decide(*services_, request);
    return answer ? answer->decision->id : to_string(answer.error());
  }
};

TEST_F(ReplayManyTest, EveryStoredDecision_GivesItsDigestAfterARestart) {
  store_good_model(manifest("good"));
  put_policy_in_force();
  const std::size_t half = decisions() / 2;
  std::vector<std::string> ids(2 * half);
  for_each_number(half, [&](std::size_t i) { ids[i] = decide_number(i); });
  // What changes later is not part of what was decided before.
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{approver_a_.record.id, "lost"}}, {&operator1_, &operator2_}),
      actor_));
  for_each_number(half, [&](std::size_t i) { ids[half + i] = decide_number(half + i); });
  reopen();
  std::atomic<std::size_t> allowed = 0;
  std::atomic<std::size_t> reproduced = 0;
  for_each_number(ids.size(), [&](std::size_t i) {
    const auto answer = replay(*services_, ids[i]);
    EXPECT_TRUE(answer) << ids[i] << (answer ? "" : to_string(answer.error()));
    reproduced += answer && answer->reproduced ? 1U : 0U;
    allowed += answer && answer->verdict.allowed ? 1U : 0U;
  });
  EXPECT_EQ(reproduced, ids.size());
  EXPECT_GT(allowed, half / 2);
  EXPECT_LT(allowed, half);
}

}  // namespace
}  // namespace assay::server
