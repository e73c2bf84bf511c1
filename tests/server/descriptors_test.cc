// SPDX-License-Identifier: Apache-2.0
// Connections fit into the descriptors that the process may have, whatever else needs them.

#include "server/descriptors.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

Config with_admission() {
  Config config;
  config.store_readers = 6;
  config.admission = AdmissionConfig();
  return config;
}

TEST(Descriptors, EnoughOfThem_LeaveTheLimitsAlone) {
  const Config config = with_admission();
  const std::uint64_t enough =
      2 * (config.limits.max_connections + 1) + reserved_descriptors(config);
  EXPECT_EQ(within_descriptors(config, enough)->max_connections, 1024U);
  EXPECT_EQ(within_descriptors(config, enough - 1)->max_connections, 1023U);
  Config alone = config;
  alone.admission.reset();
  EXPECT_EQ(within_descriptors(alone, enough / 2 + 64)->max_connections, 1024U);
}

TEST(Descriptors, TooFew_AreDividedAndTheReserveStays) {
  const Config config = with_admission();
  for (const std::uint64_t available : {1024U, 512U, 256U, 130U}) {
    const auto limits = within_descriptors(config, available);
    ASSERT_TRUE(limits) << available;
    EXPECT_LT(limits->max_connections, config.limits.max_connections);
    EXPECT_LE(2 * limits->max_connections + reserved_descriptors(config), available);
    EXPECT_EQ(limits->max_connections_per_address, limits->max_connections * 768 / 1024);
  }
}

TEST(Descriptors, TooFewForAnybody_AreRefused) {
  const Config config = with_admission();
  const std::uint64_t least = 2 * 17 + reserved_descriptors(config);
  EXPECT_EQ(within_descriptors(config, least)->max_connections, 16U);
  for (const std::uint64_t available : {least - 1, std::uint64_t{3}, std::uint64_t{0}}) {
    EXPECT_EQ(within_descriptors(config, available).error().code, ErrorCode::kInvalidConfig);
  }
}

TEST(Descriptors, PluginsAndConnectionsToTheDatabase_CountInTheReserve) {
  Config config = with_admission();
  const std::uint64_t before = reserved_descriptors(config);
  config.store_readers += 10;
  EXPECT_EQ(reserved_descriptors(config), before + 20);
  config.plugins.emplace_back();
  EXPECT_GT(reserved_descriptors(config), before + 20 + 16);
}

}  // namespace
}  // namespace assay::server
