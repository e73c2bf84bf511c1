// SPDX-License-Identifier: Apache-2.0
// Who waits for a compiler hears of it, and not for ever.
#include "gpu_hash/preparing.h"

#include <atomic>

#include <gtest/gtest.h>

namespace assay::gpu_hash::test {
namespace {

using std::chrono::milliseconds;

TEST(Preparing, SaysAgainAndAgain_ThatNothingWasHashedYet_AndNothingAfterItsEnd) {
  std::atomic<int> said = 0;
  const BytesDone progress = [&](std::uint64_t bytes) {
    EXPECT_EQ(bytes, 0U);
    ++said;
  };
  {
    const Preparing preparing(progress,
                              {.every = milliseconds(1), .longest = milliseconds(60'000)});
    while (said < 5) {
      std::this_thread::yield();
    }
  }
  const int before = said;
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(said, before);
}

TEST(Preparing, ACompilerThatNeverEnds_IsNotSpokenForAnyLonger) {
  std::atomic<int> said = 0;
  const BytesDone progress = [&](std::uint64_t) { ++said; };
  const Preparing preparing(progress, {.every = milliseconds(1), .longest = milliseconds(30)});
  int before = -1;
  while (said != before) {
    before = said;
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_GE(said, 1);
}

TEST(Preparing, WithNobodyToTell_DoesNothing) {
  const BytesDone nobody;
  const Preparing preparing(nobody);
}

}  // namespace
}  // namespace assay::gpu_hash::test
