// SPDX-License-Identifier: Apache-2.0
// Random bytes and UUIDs.
#include "schemas/core/random.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint8_t value) : value_(value) {}
  Status fill(std::span<std::uint8_t> out) override {
    std::fill(out.begin(), out.end(), value_);
    return {};
  }

 private:
  std::uint8_t value_;
};

class BrokenRandom final : public Random {
 public:
  Status fill(std::span<std::uint8_t>) override { return fail(ErrorCode::kInternal, "broken"); }
};

// RFC 9562 appendix A.6: time 0x017F22E279B0.
TEST(Uuid, Version7_HasTimeVersionAndVariant) {
  const Timestamp time{std::chrono::milliseconds(0x017F22E279B0)};
  FixedRandom ones(0xFF);
  FixedRandom zeros(0x00);
  EXPECT_EQ(make_uuid_v7(ones, time), "017f22e2-79b0-7fff-bfff-ffffffffffff");
  EXPECT_EQ(make_uuid_v7(zeros, time), "017f22e2-79b0-7000-8000-000000000000");
}

TEST(Uuid, LaterOnes_SortBehind) {
  SystemRandom random;
  std::string before;
  for (int i = 0; i < 100; ++i) {
    const std::string id = *make_uuid_v7(random, Timestamp(std::chrono::milliseconds(i * 1000)));
    EXPECT_TRUE(is_uuid_v7(id)) << id;
    EXPECT_LT(before, id);
    before = id;
  }
}

TEST(Uuid, OtherSpellings_AreNoVersion7) {
  const std::string good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
  ASSERT_TRUE(is_uuid_v7(good));
  for (const char* text :
       {"", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc3-18c4-dc0c0c07398f",
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "017f22e279b07cc398c4dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f "}) {
    EXPECT_FALSE(is_uuid_v7(text)) << text;
  }
}

TEST(Uuid, NoRandomness_NoId) {
  BrokenRandom broken;
  EXPECT_EQ(test::code_of(make_uuid_v7(broken, Timestamp())), "internal");
}

TEST(SystemRandom, Fill_FillsEverythingDifferently) {
  SystemRandom random;
  std::array<std::uint8_t, 32> first{};
  std::array<std::uint8_t, 32> second{};
  ASSERT_TRUE(random.fill(first));
  ASSERT_TRUE(random.fill(second));
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace assay
