// SPDX-License-Identifier: Apache-2.0
// Shares and turns of callers.
#include "server/http/fair_queue.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

// How many `caller` gets, one by one.
std::size_t take_all(FairShares& shares, const std::string& caller) {
  std::size_t taken = 0;
  while (shares.fits(caller, 1)) {
    shares.take(caller, 1);
    ++taken;
  }
  return taken;
}

TEST(FairShares, OneCaller_GetsHalf) {
  for (const auto& [limit, most] :
       {std::pair(256U, 128U), {100'000U, 50'000U}, {3U, 2U}, {1U, 1U}}) {
    FairShares shares(limit);
    EXPECT_EQ(take_all(shares, "a"), most) << limit;
  }
}

TEST(FairShares, CallersThatTakeAllTheyCan_LeaveAShareForTheNext) {
  FairShares shares(120);
  EXPECT_EQ(take_all(shares, "a"), 60U);
  EXPECT_EQ(take_all(shares, "b"), 30U);
  EXPECT_EQ(take_all(shares, ""), 15U) << "strangers";
  // Whoever came first gets no more until it has less than the others can get.
  shares.give_back("a", 20);
  EXPECT_EQ(take_all(shares, "a"), 0U);
  EXPECT_EQ(take_all(shares, "b"), 3U);
}

TEST(FairShares, AnyAmount_IsCountedAndGivenBack) {
  FairShares shares(100);
  shares.take("a", 0);
  EXPECT_TRUE(shares.fits("a", 100)) << "nobody else is there";
  EXPECT_FALSE(shares.fits("a", 101));
  shares.take("a", 500);
  EXPECT_FALSE(shares.fits("b", 1)) << "beyond the limit, as memory that is already there";
  shares.give_back("a", 460);
  EXPECT_TRUE(shares.fits("b", 60));
  EXPECT_FALSE(shares.fits("b", 61));
  EXPECT_FALSE(shares.fits("a", 21));
  shares.give_back("a", 40);
  shares.give_back("a", 0);
  EXPECT_TRUE(shares.fits("b", 100));
}

class FairQueueTest : public testing::Test {
 protected:
  void push(const std::string& caller, const std::string& name) {
    queue_.push(caller, [this, name] { done_ += name + " "; });
  }
  std::string pop(int times) {
    done_.clear();
    for (int i = 0; i < times; ++i) {
      queue_.pop()();
    }
    return done_;
  }

  FairQueue queue_{8};
  std::string done_;
};

TEST_F(FairQueueTest, Callers_TakeTurns) {
  for (const char* const name : {"a1", "a2", "a3", "a4"}) {
    push("a", name);
  }
  push("b", "b1");
  push("", "s1");
  push("b", "b2");
  EXPECT_EQ(pop(4), "a1 b1 s1 a2 ");
  push("c", "c1");
  push("", "s2");
  EXPECT_EQ(pop(5), "b2 a3 c1 s2 a4 ");
}

TEST_F(FairQueueTest, OneCaller_IsServedInItsOrder) {
  push("a", "a1");
  push("a", "a2");
  EXPECT_EQ(pop(1), "a1 ");
  push("a", "a3");
  EXPECT_EQ(pop(2), "a2 a3 ");
}

TEST_F(FairQueueTest, Places_AreThoseOfShares) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(queue_.has_room("a")) << i;
    push("a", "a");
  }
  EXPECT_FALSE(queue_.has_room("a"));
  EXPECT_TRUE(queue_.has_room("b"));
  pop(1);
  EXPECT_TRUE(queue_.has_room("a")) << "its place is free again";
}

}  // namespace
}  // namespace assay::server
