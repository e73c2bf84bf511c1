// SPDX-License-Identifier: Apache-2.0
// The long form of fault_test.cc, flip_test.cc and kill_test.cc (make torture).
#include <gtest/gtest.h>

#include "tests/storage/fault_rounds.h"
#include "tests/storage/flip_rounds.h"
#include "tests/storage/kill_rounds.h"

namespace assay::storage {
namespace {

using Fault = FaultVfs::Fault;

TEST(Torture, EveryChangeFails_AcknowledgedWritesStay) { fault_rounds(Fault::kError, 1); }
TEST(Torture, EveryWriteIsHalf_AcknowledgedWritesStay) { fault_rounds(Fault::kHalf, 1); }
TEST(Torture, DiskFullAtEveryChange_AcknowledgedWritesStay) { fault_rounds(Fault::kDiskFull, 1); }
TEST(Torture, PowerGoesAtEveryChange_AcknowledgedWritesStay) {
  for (int i = 0; i < 4 && !HasFailure(); ++i) {
    fault_rounds(Fault::kPowerLoss, 1);
  }
}
TEST(Torture, PagesFlip_NoAnswerIsWrong) { page_flip_rounds(900); }
TEST(Torture, WriteAheadLogFlips_NothingForks) { wal_flip_rounds(300); }
TEST(Torture, DiskIsFullForAMoment_NothingLatches) { readiness_rounds(200); }
TEST(Torture, KilledManyTimes_AcknowledgedWritesStay) { kill_rounds(150, 250); }

}  // namespace
}  // namespace assay::storage
