// SPDX-License-Identifier: Apache-2.0
// Known PCK chains: bounded, and the one that was not used for the longest time goes first.
#include "attestation/tdx/pck_cache.h"

#include <gtest/gtest.h>

#include "attestation/tdx/collateral.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

Digest text(std::size_t number) { return sha256(as_bytes(std::to_string(number))); }

TEST(PckCache, OneMoreThanItHolds_ForgetsTheOldest) {
  PckCache cache;
  const auto chain = std::make_shared<const PckChain>();
  EXPECT_EQ(cache.find(text(0)), nullptr);
  for (std::size_t i = 0; i < kMaxKnownLeaves; ++i) {
    cache.keep(text(i), chain);
  }
  EXPECT_EQ(cache.find(text(0)), chain) << "used again, so the second is the oldest";
  cache.keep(text(kMaxKnownLeaves), chain);
  EXPECT_EQ(cache.find(text(1)), nullptr);
  EXPECT_EQ(cache.find(text(0)), chain);
  EXPECT_EQ(cache.find(text(kMaxKnownLeaves)), chain);
}

// Two quotes of one machine that are verified at the same time both keep its chain.
TEST(PckCache, ChainThatIsKeptTwice_StaysTheFirst) {
  PckCache cache;
  const auto first = std::make_shared<const PckChain>();
  cache.keep(text(0), first);
  cache.keep(text(0), std::make_shared<const PckChain>());
  EXPECT_EQ(cache.find(text(0)), first);
}

}  // namespace
}  // namespace assay::attestation::tdx
