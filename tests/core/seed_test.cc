// SPDX-License-Identifier: Apache-2.0
// A seed that a failing test prints can be given back.
#include "tests/support/seed.h"

#include <optional>

#include <gtest/gtest.h>

namespace assay {
namespace {

class Seed : public ::testing::Test {
 protected:
  Seed() {
    if (const char* given = std::getenv("ASSAY_SEED")) {
      before_ = given;
    }
    ::unsetenv("ASSAY_SEED");
  }
  ~Seed() override {
    ::unsetenv("ASSAY_SEED");
    if (before_) {
      ::setenv("ASSAY_SEED", before_->c_str(), 1);
    }
  }

  std::optional<std::string> before_;
};

TEST_F(Seed, ThatIsGivenBack_IsTheSame) {
  const std::uint64_t fresh = random_test_seed();
  EXPECT_NE(random_test_seed(), fresh) << "another one each time";
  const std::string said = test_seed_text(fresh);
  const std::size_t from = said.find('=') + 1;
  ::setenv("ASSAY_SEED", said.substr(from, said.find(' ', from) - from).c_str(), 1);
  EXPECT_EQ(random_test_seed(), fresh);
  EXPECT_EQ(random_test_seed(), fresh);
}

TEST_F(Seed, ThatIsNoNumber_EndsTheTest) {
  for (const char* text : {"", "x", "1x", "-1", "18446744073709551616"}) {
    ::setenv("ASSAY_SEED", text, 1);
    EXPECT_DEATH(static_cast<void>(random_test_seed()), "ASSAY_SEED is no number") << text;
  }
  ::setenv("ASSAY_SEED", "18446744073709551615", 1);
  EXPECT_EQ(random_test_seed(), 18446744073709551615U);
}

}  // namespace
}  // namespace assay
