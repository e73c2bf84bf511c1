// SPDX-License-Identifier: Apache-2.0
// Changes of instances in memory are kept in the log for ever: who may make how many of them, and
// what the others feel of it.
#include <algorithm>

#include "tests/server/service/jobs/instances_fixture.h"

namespace assay::server::test {
namespace {

using InstanceShares = Instances;

// Every change is in the log for good. A pod spends its own changes, never those of another.
TEST_F(InstanceShares, ChangesWithoutEnd_EndForThePodThatMakesThem) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  const auto storm = [&](const char* pod, InstanceState state) {
    Heartbeat made = heartbeat(InstanceState::kVerified);
    for (std::size_t i = 1; i < kMaxBeatInstances; ++i) {
      InstanceBeat one = made.instances[0];
      one.instance = {pod, "n" + std::to_string(100 + i)};
      one.state = state;
      made.instances.push_back(std::move(one));
    }
    std::ranges::sort(made.instances, {}, &InstanceBeat::instance);
    ASSERT_TRUE(beat(made)->counts);
  };
  const auto state_of = [](int i) {
    return i % 2 == 0 ? InstanceState::kVerified : InstanceState::kUnknown;
  };
  const auto of_pod = [&](const std::string& pod) {
    const auto newest = services_->heartbeats.of(worker_.node);
    return std::ranges::count_if(newest->instances,
                                 [&](const InstanceBeat& one) { return one.instance.pod == pod; });
  };
  const std::size_t whole = kMaxChangesOfAPodAnHour / (kMaxBeatInstances - 1);
  for (std::size_t i = 0; i < whole; ++i) {
    storm("uid-9", state_of(static_cast<int>(i)));
    EXPECT_EQ(of_pod("uid-9"), kMaxBeatInstances - 1) << i;
  }
  const TreeSize before = log_size();
  for (int i = 0; i < 5; ++i) {
    storm("uid-9", state_of(i + static_cast<int>(whole)));
    EXPECT_EQ(of_pod("uid-9"), 0);
  }
  EXPECT_EQ(log_size(), before + 1) << "one record says that the pod is beyond its limit";
  EXPECT_EQ(reasons(), Codes{}) << "of the other pod";
  clock_.advance(std::chrono::hours(1));
  storm("uid-9", InstanceState::kVerified);
  EXPECT_EQ(of_pod("uid-9"), kMaxBeatInstances - 1);
}

TEST_F(InstanceShares, ChangesOfAPod_CountUpToTheLimitAndNotOnePast) {
  const auto spend = [&](std::size_t changes) {
    return services_->heartbeats.spend(worker_.node, "prod", "uid-9", changes, clock_.now());
  };
  EXPECT_EQ(spend(kMaxChangesOfAPodAnHour - 1), Heartbeats::Spent::kYes);
  EXPECT_EQ(spend(2), Heartbeats::Spent::kRefusedFirst);
  EXPECT_EQ(spend(1), Heartbeats::Spent::kYes);
  EXPECT_EQ(spend(1), Heartbeats::Spent::kRefused);
}

TEST_F(InstanceShares, MorePodsThanTheirLimit_LeaveTheFirstOnesAlone) {
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  const auto spend = [&](const std::string& name_space, const std::string& pod) {
    return services_->heartbeats.spend(worker_.node, name_space, pod, 1, clock_.now());
  };
  for (std::size_t i = 1; i < kMaxChangingPodsAnHour; ++i) {
    EXPECT_EQ(spend("", "p" + std::to_string(i)), Heartbeats::Spent::kYes);
  }
  EXPECT_EQ(spend("", "one more"), Heartbeats::Spent::kRefusedFirst);
  beat_ok(InstanceState::kViolated);
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceViolated});
}

TEST_F(InstanceShares, ShortPodsOfANamespace_LeaveOtherNamespacesTheirs) {
  for (const auto& [uid, name_space] : {std::pair{kPod, "inference"}, std::pair{"late", "noisy"}}) {
    put_pod(uid, name_space);
  }
  for (std::size_t i = 0; i < kMaxChangingPodsAnHour; ++i) {
    const std::string uid = "short-" + std::to_string(i);
    put_pod(uid, "noisy");
    beat_ok(InstanceState::kVerified, uid);
  }
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
  ASSERT_TRUE(verify({}, "late"));
  beat_ok(InstanceState::kVerified, "late");
  EXPECT_EQ(reasons_for("late"), Codes{Reason::kInstanceUnwatched}) << "its own has none left";
  // Nor does the share of those that no cluster has reported end the others.
  ASSERT_TRUE(verify({}, "unknown"));
  beat_ok(InstanceState::kVerified, "unknown");
  EXPECT_EQ(reasons_for("unknown"), Codes{});
}

TEST_F(InstanceShares, MoreNamespacesThanAreCountedApart_AreCountedTogether) {
  const auto spend = [&](const std::string& name_space, const std::string& pod) {
    return services_->heartbeats.spend(worker_.node, name_space, pod, 1, clock_.now());
  };
  for (std::size_t i = 0; i < kMaxChangingNamespacesAnHour; ++i) {
    EXPECT_EQ(spend("n" + std::to_string(i), "first"), Heartbeats::Spent::kYes);
  }
  for (std::size_t i = 0; i < kMaxChangingPodsAnHour; ++i) {
    EXPECT_EQ(spend("more" + std::to_string(i), "p" + std::to_string(i)), Heartbeats::Spent::kYes);
  }
  EXPECT_EQ(spend("one more", "one more"), Heartbeats::Spent::kRefusedFirst);
  EXPECT_EQ(spend("n7", "second"), Heartbeats::Spent::kYes);
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(spend("one more", "one more"), Heartbeats::Spent::kYes);
}

// A process registers again and again, and nobody orders a job about it.
TEST_F(InstanceShares, WhatNoJobWasAbout_CostsItsPodNothing_AndMovesTheVersion) {
  const auto registered = [&](const std::string& name) {
    Heartbeat made = heartbeat(InstanceState::kUnknown);
    made.instances[0].instance.instance = name;
    made.instances[0].report.reset();
    return made;
  };
  const TreeSize size = log_size();
  for (std::size_t i = 0; i < kMaxChangesOfAPodAnHour; ++i) {
    const std::uint64_t version = node_version();
    ASSERT_TRUE(beat(registered("n" + std::to_string(i)))->counts);
    EXPECT_EQ(node_version(), version + 1);
  }
  EXPECT_EQ(log_size(), size);
  ASSERT_TRUE(verify());
  beat_ok(InstanceState::kVerified);
  EXPECT_EQ(reasons(), Codes{});
  // A job that found something else counts, too, although its agent names no report then.
  ASSERT_TRUE(verify([](VerificationReport& made) { made.entries.pop_back(); }));
  const TreeSize before = log_size();
  ASSERT_TRUE(beat(registered("main"))->counts);
  EXPECT_EQ(log_size(), before + 1);
}

}  // namespace
}  // namespace assay::server::test
