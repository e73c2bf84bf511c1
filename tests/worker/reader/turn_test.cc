// SPDX-License-Identifier: Apache-2.0
// Who gets the engine of the node agent next when several threads ask for it.
#include "worker/reader/turn.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace assay::worker {
namespace {

// A thread that gives its turn back and asks again comes after those that wait already.
TEST(Turn, ComesInTheOrderOfAsking) {
  Turn turn;
  std::vector<int> order;
  std::atomic<bool> waits = false;
  std::jthread other;
  const auto run = [&order](int number) {
    order.push_back(number);
    return Status();
  };
  const auto first = [&] {
    other = std::jthread(
        [&] { EXPECT_TRUE(turn.take({}, [&] { waits = true; }, [&] { return run(2); })); });
    while (!waits) {
      turn.progress();
    }
    return run(1);
  };
  EXPECT_TRUE(turn.take({}, [] {}, first));
  EXPECT_TRUE(turn.take({}, [] {}, [&] { return run(3); }));
  other.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Turn, WhoIsStopped_LetsTheNextOneIn) {
  Turn turn;
  std::stop_source stop;
  std::atomic<int> waiting = 0;
  std::jthread stopped;
  std::jthread next;
  const auto first = [&] {
    stopped = std::jthread([&] {
      const auto status =
          turn.take(stop.get_token(), [&] { waiting |= 1; }, [] { return Status(); });
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
    });
    while ((waiting & 1) == 0) {
      turn.progress();
    }
    next = std::jthread(
        [&] { EXPECT_TRUE(turn.take({}, [&] { waiting |= 2; }, [] { return Status(); })); });
    while ((waiting & 2) == 0) {
      turn.progress();
    }
    stop.request_stop();
    return Status();
  };
  EXPECT_TRUE(turn.take({}, [] {}, first));
  stopped.join();
  next.join();
}

}  // namespace
}  // namespace assay::worker
