// SPDX-License-Identifier: Apache-2.0
// A part of what torture_test.cc does with bits that turn on the disk.
#include <gtest/gtest.h>

#include "tests/storage/flip_rounds.h"

namespace assay::storage {
namespace {

TEST(Flip, Pages_NoAnswerIsWrong) { page_flip_rounds(60); }
TEST(Flip, WriteAheadLog_NothingForks) { wal_flip_rounds(40); }
TEST(Flip, FullDisk_NothingLatches) { readiness_rounds(20); }

}  // namespace
}  // namespace assay::storage
