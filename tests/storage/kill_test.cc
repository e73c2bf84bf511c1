// SPDX-License-Identifier: Apache-2.0
// A few sudden deaths (torture_test.cc has many).
#include <gtest/gtest.h>

#include "tests/storage/kill_rounds.h"

namespace assay::storage {
namespace {

TEST(Kill, RandomMoments_AcknowledgedWritesStay) { kill_rounds(9, 150); }

}  // namespace
}  // namespace assay::storage
