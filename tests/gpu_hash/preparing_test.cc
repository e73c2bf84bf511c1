// SPDX-License-Identifier: Apache-2.0
// Who waits for a compiler hears of it, and not for ever.
#include "gpu_hash/preparing.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace assay::gpu_hash::test {
namespace {

using std::chrono::milliseconds;

// A thread that called this tells `ended` when it ends.
void tell_end(std::promise<void>& ended) {
  struct AtEnd {
    std::promise<void>* told = nullptr;
    ~AtEnd() { told->set_value(); }
  };
  static thread_local AtEnd at_end;
  at_end.told = &ended;
}

TEST(Preparing, SaysAgainAndAgain_ThatNothingWasHashedYet_AndNothingAfterItsEnd) {
  std::atomic<int> said = 0;
  std::promise<void> ended;
  const BytesDone progress = [&](std::uint64_t bytes) {
    tell_end(ended);
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
  EXPECT_EQ(ended.get_future().wait_for(milliseconds(0)), std::future_status::ready);
}

TEST(Preparing, ACompilerThatNeverEnds_IsNotSpokenForAnyLonger) {
  std::atomic<int> said = 0;
  std::promise<void> ended;
  const BytesDone progress = [&](std::uint64_t) {
    tell_end(ended);
    ++said;
  };
  const Preparing preparing(progress, {.every = milliseconds(1), .longest = milliseconds(30)});
  ended.get_future().wait();
  EXPECT_GE(said, 1);
}

TEST(Preparing, WithNobodyToTell_DoesNothing) {
  const BytesDone nobody;
  const Preparing preparing(nobody);
}

}  // namespace
}  // namespace assay::gpu_hash::test
