// SPDX-License-Identifier: Apache-2.0
// The ways in which the CPU engine computes: that each gives OpenSSL's digests, that a wrong one is
// not used, and which one ran.
#include "gpu_hash/cpu/leaf_hasher.h"

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

constexpr HashAlgorithm kAlgorithms[] = {HashAlgorithm::kSha256, HashAlgorithm::kSha384};

TEST(LeafVariants, OpenSslIsFirstAndEveryOneHasANameOfItsOwn) {
  const std::vector<LeafVariant>& variants = leaf_variants();
  ASSERT_FALSE(variants.empty());
  EXPECT_EQ(variants.front(), LeafVariant::kOpenSsl);
  for (const LeafVariant variant : variants) {
    EXPECT_EQ(std::ranges::count(variants, name(variant), [](auto v) { return name(v); }), 1);
  }
}

TEST(LeafVariants, EachPassesItsTest) {
  for (const LeafVariant variant : leaf_variants()) {
    for (const HashAlgorithm algorithm : kAlgorithms) {
      const auto hasher = make_leaf_hasher(variant, algorithm);
      ASSERT_NE(hasher, nullptr) << name(variant);
      const Status status = test_leaf_hasher(name(variant), algorithm, *hasher);
      EXPECT_TRUE(status.has_value()) << to_string(status.error());
    }
  }
}

constexpr LeafVariant kVariants[] = {LeafVariant::kOpenSsl, LeafVariant::kAvx512,
                                     LeafVariant::kAvx2ShaNi, LeafVariant::kAvx2};

TEST(LeafVariants, NoneRunsWithoutItsInstructions) {
  struct Case {
    ProcessorFeatures features;
    std::vector<LeafVariant> run;
  };
  using enum LeafVariant;
  const Case cases[] = {
      {{}, {kOpenSsl}},
      {{.sha = true}, {kOpenSsl}},  // Goldmont: SHA instructions, no AVX2
      {{.avx2 = true}, {kOpenSsl, kAvx2}},
      {{.avx2 = true, .sha = true}, {kOpenSsl, kAvx2ShaNi, kAvx2}},
      {{.avx2 = true, .avx512 = true}, {kOpenSsl, kAvx512, kAvx2}},
      {{.avx2 = true, .avx512 = true, .sha = true}, {kOpenSsl, kAvx512, kAvx2ShaNi, kAvx2}},
  };
  for (const Case& one : cases) {
    std::vector<LeafVariant> run;
    std::ranges::copy_if(kVariants, std::back_inserter(run),
                         [&](LeafVariant variant) { return runs_on(variant, one.features); });
    EXPECT_EQ(run, one.run) << one.features.avx2 << one.features.avx512 << one.features.sha;
    for (const LeafVariant variant : kVariants) {
      if (!runs_on(variant, one.features)) {
        EXPECT_EQ(make_ipsec_hasher(variant, HashAlgorithm::kSha256, one.features), nullptr);
      }
    }
  }
}

// Right but for one digest: the one of messages of 111 bytes.
class WrongOnce final : public LeafHasher {
 public:
  WrongOnce() : right_(make_leaf_hasher(LeafVariant::kOpenSsl, HashAlgorithm::kSha256)) {}
  [[nodiscard]] std::size_t lanes() const override { return 4; }
  [[nodiscard]] bool needs_prefix() const override { return false; }
  [[nodiscard]] Status hash(std::span<Message> messages) override {
    const Status status = right_->hash(messages);
    for (const Message& message : messages) {
      message.digest[31] ^= message.size == 111 ? 1 : 0;
    }
    return status;
  }

 private:
  std::unique_ptr<LeafHasher> right_;
};

TEST(LeafVariants, OneWrongBitFailsTheTestWithNameAndLength) {
  WrongOnce hasher;
  const Status status = test_leaf_hasher("a broken library", HashAlgorithm::kSha256, hasher);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceSelfTestFailed);
  EXPECT_NE(status.error().detail.find("a broken library: the hash of 112 bytes"),
            std::string::npos)
      << status.error().detail;
}

// The largest messages that ipsec-mb takes, and what is beyond: without its own checks the library
// computes wrong SHA-384 digests from 65536 bytes on.
TEST(LeafVariants, LengthsAroundTheLibrarysLimit_EqualOpenSsl) {
  const Bytes bytes = pattern(140'000);
  for (const LeafVariant variant : leaf_variants()) {
    for (const HashAlgorithm algorithm : kAlgorithms) {
      const auto hasher = make_leaf_hasher(variant, algorithm);
      for (const std::size_t size : {65532U, 65533U, 65534U, 65535U, 65536U, 131072U}) {
        const ByteView message(&bytes[1], size);
        Bytes digests(hasher->lanes() * digest_size(algorithm));
        std::vector<Message> messages;
        for (std::size_t i = 0; i < hasher->lanes(); ++i) {
          messages.push_back(
              {bytes[0], &bytes[1], size, digests.data() + i * digest_size(algorithm)});
        }
        ASSERT_TRUE(hasher->hash(messages).has_value());
        const Digest want = sha(algorithm, ByteView(bytes).first(size + 1));
        for (std::size_t i = 0; i < hasher->lanes(); ++i) {
          ASSERT_EQ(Digest::wrap(algorithm, digests.data() + i * digest_size(algorithm)), want)
              << name(variant) << ", " << size << " bytes";
        }
      }
    }
  }
}

// Any mix of lengths, so that lanes run empty at different times and short ones are left over.
TEST(LeafVariants, MixedLengths_EqualOpenSsl) {
  Random random;
  SCOPED_TRACE(random.text());
  const Bytes bytes = pattern(150'000);
  for (const LeafVariant variant : leaf_variants()) {
    for (const HashAlgorithm algorithm : kAlgorithms) {
      const auto hasher = make_leaf_hasher(variant, algorithm);
      for (int round = 0; round < 20; ++round) {
        const std::size_t count = 1 + random.below(70);
        const bool alike = random.below(2) == 0;
        Bytes digests(count * digest_size(algorithm));
        std::vector<Message> messages;
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t size = alike ? 4096 : random.below(random.below(2) == 0 ? 200 : 70'000);
          const std::size_t at = 1 + random.below(70'000);
          messages.push_back(
              {bytes[at - 1], &bytes[at], size, digests.data() + i * digest_size(algorithm)});
        }
        const std::vector<Message> given = messages;
        ASSERT_TRUE(hasher->hash(messages).has_value());
        for (const Message& message : given) {
          ASSERT_EQ(Digest::wrap(algorithm, message.digest),
                    sha(algorithm, ByteView(message.data - 1, message.size + 1)))
              << name(variant) << ", " << message.size << " bytes";
        }
      }
    }
  }
}

// A class of tests for the engine under each variant; the other engines' tests run it with the
// fastest one.
class EveryVariant : public testing::TestWithParam<LeafVariant> {
 protected:
  void SetUp() override {
    if (std::ranges::count(leaf_variants(), GetParam()) == 0) {
      GTEST_SKIP() << "this processor or this build cannot run " << name(GetParam());
    }
  }
  [[nodiscard]] static std::unique_ptr<Engine> engine(unsigned threads) {
    return make_cpu_engine(threads, GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryVariant, testing::ValuesIn(kVariants), [](const auto& test) {
  std::string text(name(test.param));
  std::erase(text, '-');
  return text;
});

TEST_P(EveryVariant, Info_SaysWhichVariantRan) {
  const std::string driver = engine(1)->info().driver;
  EXPECT_EQ(driver, describe(GetParam()));
  EXPECT_TRUE(driver.starts_with(GetParam() == LeafVariant::kOpenSsl ? "OpenSSL 3" : "ipsec-mb 1"))
      << driver;
}

TEST_P(EveryVariant, HostAndFile_EqualReference) {
  const TempDir dir;
  for (const HashAlgorithm algorithm : kAlgorithms) {
    for (const std::uint32_t chunk_size : {4096U, 16384U, 1048576U}) {
      const TreeParameters parameters{algorithm, chunk_size};
      for (const std::size_t size : {std::size_t{1}, std::size_t{chunk_size},
                                     std::size_t{17} * 4096 + 5, (std::size_t{3} << 20) + 4097}) {
        const Bytes object = pattern(size);
        const auto source = SourceFile::find(dir.write("object", object));
        ASSERT_TRUE(source.has_value());
        const std::vector<Region> regions = {host_region(object), file_region(*source),
                                             host_region(ByteView(object).first(size / 2))};
        for (const unsigned threads : {1U, 3U}) {
          const auto got = engine(threads)->hash(regions, {parameters, chunk_size, {}, {}});
          ASSERT_TRUE(got.has_value()) << to_string(got.error());
          EXPECT_EQ((*got)[0].root, reference_root(parameters, object)) << size;
          EXPECT_EQ((*got)[1].root, (*got)[0].root) << size;
          EXPECT_EQ((*got)[1].outline, reference_outline(parameters, object, chunk_size));
          EXPECT_EQ((*got)[2].root, reference_root(parameters, ByteView(object).first(size / 2)));
        }
      }
    }
  }
}

TEST(CpuEngine, WithoutAWish_UsesOneOfTheVariantsForEachAlgorithm) {
  const std::string driver = make_cpu_engine()->info().driver;
  EXPECT_TRUE(driver.starts_with(describe(best_leaf_variant(HashAlgorithm::kSha256)))) << driver;
  EXPECT_EQ(best_leaf_variant(HashAlgorithm::kSha384), best_leaf_variant(HashAlgorithm::kSha384));
}

}  // namespace
}  // namespace assay::gpu_hash::test
