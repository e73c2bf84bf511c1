// SPDX-License-Identifier: Apache-2.0
// Who has to go when there are too many connections. Sessions are only told apart here, so that
// addresses of this array stand for them.
#include "server/http/connections.h"

#include <array>

#include <gtest/gtest.h>

#include "server/http/memory_budget.h"

namespace assay::server {
namespace {

class ConnectionsTest : public testing::Test {
 protected:
  Session* session(std::size_t n) { return reinterpret_cast<Session*>(&places_.at(n)); }

  Connections connections_{4, 3};

 private:
  std::array<std::max_align_t, 16> places_{};
};

TEST_F(ConnectionsTest, BelowTheLimits_NobodyEnds) {
  for (std::size_t i = 0; i < 3; ++i) {
    const auto place = connections_.make_room("a");
    EXPECT_TRUE(place.free);
    EXPECT_EQ(place.end, nullptr);
    connections_.add(session(i), "a");
  }
  EXPECT_EQ(connections_.size(), 3U);
  EXPECT_EQ(connections_.make_room("b").end, nullptr);
}

TEST_F(ConnectionsTest, TooManyOfOneAddress_ItsLongestSilentOneEnds) {
  for (std::size_t i = 0; i < 3; ++i) {
    connections_.add(session(i), "a");
  }
  connections_.busy(session(0));
  connections_.silent(session(1));  // said something since
  const auto place = connections_.make_room("a");
  EXPECT_TRUE(place.free);
  EXPECT_EQ(place.end, session(2));
  EXPECT_EQ(connections_.size(), 2U) << "forgotten at once, whenever its session goes";
  connections_.remove(session(2));
  EXPECT_EQ(connections_.size(), 2U);
}

TEST_F(ConnectionsTest, TooManyInAll_TheAddressWithTheMostGivesWay) {
  connections_.add(session(0), "b");
  for (std::size_t i = 1; i < 4; ++i) {
    connections_.add(session(i), "a");
  }
  const auto place = connections_.make_room("c");
  EXPECT_TRUE(place.free);
  EXPECT_EQ(place.end, session(1)) << "not b's, which is silent for longer";
}

TEST_F(ConnectionsTest, NobodyIsSilent_TheNewOneGetsNoPlace) {
  for (std::size_t i = 0; i < 4; ++i) {
    connections_.add(session(i), i < 3 ? "a" : "b");
    connections_.busy(session(i));
  }
  EXPECT_FALSE(connections_.make_room("a").free);
  EXPECT_FALSE(connections_.make_room("c").free);
  connections_.silent(session(3));
  EXPECT_EQ(connections_.make_room("c").end, session(3));
}

TEST_F(ConnectionsTest, OneCaller_HasHalfOfThemBusy) {
  for (std::size_t i = 0; i < 4; ++i) {
    connections_.add(session(i), i % 2 == 0 ? "a" : "b");
    connections_.busy(session(i));
  }
  EXPECT_TRUE(connections_.claim(session(0), "x"));
  EXPECT_TRUE(connections_.claim(session(1), "x"));
  EXPECT_TRUE(connections_.claim(session(1), "x")) << "is counted already";
  EXPECT_FALSE(connections_.claim(session(2), "x"));
  EXPECT_TRUE(connections_.claim(session(2), "y"));
  connections_.silent(session(0));
  connections_.busy(session(0));
  EXPECT_TRUE(connections_.claim(session(0), "y")) << "another caller on the same connection";
  EXPECT_FALSE(connections_.claim(session(3), "y"));
  connections_.remove(session(2));
  EXPECT_TRUE(connections_.claim(session(3), "x"));
  EXPECT_FALSE(connections_.claim(session(0), "x"));
  EXPECT_TRUE(connections_.claim(session(0), "y")) << "was counted for nobody meanwhile";
}

TEST_F(ConnectionsTest, OneThatIsGone_ChangesNothing) {
  connections_.add(session(0), "a");
  connections_.remove(session(0));
  connections_.silent(session(0));
  connections_.busy(session(0));
  EXPECT_TRUE(connections_.claim(session(0), "x"));
  connections_.remove(session(0));
  EXPECT_EQ(connections_.size(), 0U);
}

TEST(MemoryBudget, WhatIsHeld_IsSharedAndGivenBack) {
  MemoryBudget budget(100);
  MemoryShare first(budget);
  first.belong_to("a");
  EXPECT_TRUE(first.try_hold(60));
  {
    MemoryShare second(budget);
    second.belong_to("b");
    EXPECT_FALSE(second.try_hold(41));
    EXPECT_TRUE(second.try_hold(40));
    EXPECT_TRUE(second.others_leave_room());
    EXPECT_FALSE(first.try_hold(61));
    EXPECT_TRUE(first.try_hold(10)) << "less is never refused";
    second.hold(500);
    EXPECT_FALSE(first.others_leave_room()) << "an answer that is there counts, whatever the limit";
    EXPECT_TRUE(second.others_leave_room()) << "who holds much is not held up by it";
  }
  EXPECT_TRUE(first.others_leave_room());
  EXPECT_TRUE(first.try_hold(100 - 10));
}

TEST(MemoryBudget, ConnectionsOfOneCaller_ShareWhatItMayHold) {
  MemoryBudget budget(100);
  MemoryShare first(budget);
  MemoryShare second(budget);
  MemoryShare other(budget);
  first.belong_to("a");
  second.belong_to("a");
  other.belong_to("b");
  EXPECT_TRUE(first.try_hold(30));
  EXPECT_TRUE(second.try_hold(20));
  EXPECT_FALSE(second.try_hold(21));
  EXPECT_TRUE(other.try_hold(50));
  other.hold(0);
  first.hold(60);
  EXPECT_FALSE(second.others_leave_room());
  EXPECT_TRUE(other.others_leave_room());
  first.belong_to("b");
  EXPECT_TRUE(second.others_leave_room()) << "what it holds moved with it";
  EXPECT_FALSE(other.others_leave_room());
}

}  // namespace
}  // namespace assay::server
