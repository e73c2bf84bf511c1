// SPDX-License-Identifier: Apache-2.0
// One folder, one fault, one check for each round.
#include "tests/storage/fault_rounds.h"

#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "server/service/jobs/precedence.h"
#include "tests/storage/durability.h"
#include "tests/storage/store_contract.h"
#include "tests/support/seed.h"

namespace assay::storage {
namespace {

using Fault = FaultVfs::Fault;

class Rounds {
 public:
  Rounds(Fault fault, std::uint64_t seed) : fault_(fault), random_(seed) {}

  // False when the workload ended before its `n`-th change.
  bool round(std::uint64_t n) {
    SCOPED_TRACE("change " + std::to_string(n));
    const TemporaryFolder folder;
    SqliteOptions options;
    options.rules = &server::kReportRules;
    options.path = folder.path() + "/assay.db";
    options.create = true;
    options.origin = kTestOrigin;
    options.readers = 1;
    options.anchor_path = folder.path() + "/anchor.json";

    vfs_.fail_at(n, fault_);
    const auto acknowledged = work(options);
    const bool met = vfs_.met();
    vfs_.fail_at(0, fault_);
    if (fault_ == Fault::kPowerLoss) {
      vfs_.recover(random_);
    }
    EXPECT_TRUE(met || acknowledged.size() == 8) << "without a fault everything succeeds";
    check(options, acknowledged);
    faults_ += met ? 1U : 0U;
    appends_ += acknowledged.size();
    return met;
  }

  void print() const {
    ::testing::Test::RecordProperty("faults", std::to_string(faults_));
    ::testing::Test::RecordProperty("acknowledged_appends", std::to_string(appends_));
    std::cout << "faults: " << faults_ << ", acknowledged appends " << appends_ << ", "
              << (::testing::Test::HasFailure() ? "NOT all found" : "all found") << '\n';
  }

 private:
  std::vector<AcknowledgedWrite> work(const SqliteOptions& options) {
    std::vector<AcknowledgedWrite> acknowledged;
    for (const char* prefix : {"a", "b"}) {
      if (const auto store = open_sqlite(options, signer_, clock_)) {
        const auto part = write_some(**store, prefix, 4);
        acknowledged.insert(acknowledged.end(), part.begin(), part.end());
      }
    }
    return acknowledged;
  }

  void check(const SqliteOptions& options, const std::vector<AcknowledgedWrite>& acknowledged) {
    auto store = open_sqlite(options, signer_, clock_);
    ASSERT_TRUE(store) << to_string(store.error());
    expect_durable(**store, acknowledged);
    EXPECT_EQ(write_some(**store, "after", 1).size(), 1U);
    EXPECT_TRUE((*store)->healthy());
    store->reset();
    expect_intact(options.path);
  }

  const Fault fault_;
  std::size_t faults_ = 0;   // rounds in which the fault happened
  std::size_t appends_ = 0;  // in all rounds
  std::mt19937_64 random_;
  FaultVfs vfs_;
  ManualClock clock_;
  TestSigner signer_;
};

}  // namespace

void fault_rounds(Fault fault, std::uint64_t step) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  Rounds rounds(fault, seed);
  std::uint64_t n = 1 + seed % step;
  while (rounds.round(n) && !::testing::Test::HasFailure()) {
    n += step;
  }
  rounds.print();
  EXPECT_GT(n, 60U) << "the workload changes files more often than that";
}

}  // namespace assay::storage
