// SPDX-License-Identifier: Apache-2.0
// Which findings of a lineage condition an explanation names.
#include "policy/lineage/shown.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace assay::policy::test {
namespace {

// Which findings are named must not depend on the order in which they were found.
TEST(Shown, NamesTheSmallest_AndCountsEachOnce) {
  std::vector<int> numbers;
  for (int i = 0; i < 300; ++i) {
    numbers.push_back(i % 100);
  }
  Json expected = Json::array();
  for (int i = 0; i < 16; ++i) {
    expected.push_back({{"number", i}});
  }
  std::mt19937 engine(7);
  for (int round = 0; round < 20; ++round) {
    std::ranges::shuffle(numbers, engine);
    Shown shown;
    for (const int number : numbers) {
      shown.add({{"number", number}});
    }
    Json actual = Json::object();
    shown.put(actual, "findings");
    EXPECT_EQ(actual, (Json{{"findings", expected}, {"findings_count", 100}}));
  }
}

TEST(Shown, UpToSixteen_AreAllNamed) {
  Shown shown;
  Json actual = Json::object();
  shown.put(actual, "findings");
  EXPECT_TRUE(shown.empty());
  EXPECT_EQ(actual, Json::object());
  for (int i = 0; i < 16; ++i) {
    shown.add(i);
  }
  shown.put(actual, "findings");
  EXPECT_EQ(actual["findings"].size(), 16U);
  EXPECT_FALSE(actual.contains("findings_count"));
}

}  // namespace
}  // namespace assay::policy::test
