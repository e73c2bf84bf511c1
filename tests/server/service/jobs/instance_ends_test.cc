// SPDX-License-Identifier: Apache-2.0
// Instances in memory that end: what that means for the pod that had them, or for the other servers
// of a host without Kubernetes.
#include <algorithm>

#include "tests/server/service/jobs/instances_fixture.h"

namespace assay::server::test {
namespace {

class InstanceEnds : public Instances {
 protected:
  // A job verifies the pod's instance.
  void verify_instance(const std::string& instance, const std::string& pod = kPod,
                       const Change<VerificationReport>& change = {}) {
    const JobLease leased = lease_for({pod, instance});
    VerificationReport made = memory_report(leased);
    if (change) {
      change(made);
    }
    const auto answer = send_report(worker_, leased, made);
    ASSERT_TRUE(answer) << to_string(answer.error());
  }

  // The next heartbeat says this of these instances of the pod, and names no others.
  void hear(const std::vector<std::pair<std::string, InstanceState>>& states,
            const std::string& pod = kPod) {
    Heartbeat made = heartbeat(InstanceState::kVerified, pod);
    const InstanceBeat any = made.instances.front();
    made.instances.clear();
    for (const auto& [instance, state] : states) {
      InstanceBeat one = any;
      one.instance.instance = instance;
      one.state = state;
      made.instances.push_back(std::move(one));
    }
    std::ranges::sort(made.instances, {}, &InstanceBeat::instance);
    ASSERT_TRUE(beat(made)->counts);
  }
};

TEST_F(InstanceEnds, SecondInstanceThatEnds_LeavesThePodServing) {
  verify_instance("main");
  verify_instance("draft");
  hear({{"main", InstanceState::kVerified}, {"draft", InstanceState::kVerified}});
  ASSERT_EQ(reasons(), Codes{});
  hear({{"main", InstanceState::kVerified}, {"draft", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{});
  EXPECT_EQ(reasons_for(kPod, true), Codes{});
  // Its report grows old, and what it said is about nothing any more.
  clock_.advance(std::chrono::seconds(3'000));
  verify_instance("main");
  clock_.advance(std::chrono::seconds(1'000));
  hear({{"main", InstanceState::kVerified}, {"draft", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{});
}

TEST_F(InstanceEnds, StopOfOneServerOfAHost_LeavesTheOthers) {
  verify_instance("a", "");
  verify_instance("b", "");
  hear({{"a", InstanceState::kVerified}, {"b", InstanceState::kVerified}}, "");
  ASSERT_EQ(reasons_for(""), Codes{});
  hear({{"a", InstanceState::kVerified}, {"b", InstanceState::kEnded}}, "");
  EXPECT_EQ(reasons_for(""), Codes{});
  hear({{"a", InstanceState::kEnded}, {"b", InstanceState::kEnded}}, "");
  EXPECT_EQ(reasons_for(""), Codes{Reason::kInstanceUnwatched});
}

// Whoever ends the only instance, and goes on serving from memory that nobody looks at.
TEST_F(InstanceEnds, WithoutOneThatIsThere_NothingIsVerified) {
  verify_instance("main");
  hear({{"main", InstanceState::kVerified}});
  ASSERT_EQ(reasons(), Codes{});
  hear({{"main", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  put_policy({{"watched", false}, {"min_redrawn", 17}});
  EXPECT_EQ(reasons(), Codes{Reason::kRedrawsMissing}) << "what was there last still counts";
  put_policy(Json::object());
  verify_instance("draft");
  hear({{"main", InstanceState::kEnded}, {"draft", InstanceState::kUnknown}});
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched}) << "nor is one that nobody looked at";
  hear({{"main", InstanceState::kEnded}, {"new", InstanceState::kUnknown}});
  EXPECT_EQ(reasons(), Codes{Reason::kReportMissing});
}

// What is there is judged as ever, whatever has ended beside it.
TEST_F(InstanceEnds, OnesThatAreThere_AreAllNeeded) {
  verify_instance("main");
  verify_instance("draft");
  verify_instance("old");
  hear({{"main", InstanceState::kVerified},
        {"draft", InstanceState::kUnknown},
        {"old", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched});
  hear({{"main", InstanceState::kVerified},
        {"draft", InstanceState::kViolated},
        {"old", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceViolated});
  hear({{"main", InstanceState::kVerified}, {"old", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{Reason::kInstanceUnwatched}) << "it is not said that it has ended";
}

TEST_F(InstanceEnds, FoundToBeAnother_StaysSoWhenItEnds) {
  verify_instance("main");
  verify_instance("draft", kPod, [](VerificationReport& made) { made.entries.pop_back(); });
  hear({{"main", InstanceState::kVerified}, {"draft", InstanceState::kViolated}});
  EXPECT_EQ(reasons(), Codes{Reason::kModelMismatch});
  hear({{"main", InstanceState::kVerified}, {"draft", InstanceState::kEnded}});
  EXPECT_EQ(reasons(), Codes{Reason::kModelMismatch}) << "whatever the agent says later";
}

// One that was registered as another model, which the pod was not admitted with.
TEST_F(InstanceEnds, AnotherModelThatHasEnded_IsNoMoreInThePod) {
  verify_instance("main");
  Heartbeat made = heartbeat(InstanceState::kVerified);
  made.instances.push_back(made.instances[0]);
  made.instances[1].instance.instance = "other";
  made.instances[1].artifact = model_.id;
  ASSERT_TRUE(beat(made)->counts);
  EXPECT_EQ(reasons_for(kPod, true), Codes{Reason::kReportMissing});
  made.sequence = ++sequence_;
  made.instances[1].state = InstanceState::kEnded;
  ASSERT_TRUE(beat(made)->counts);
  EXPECT_EQ(reasons_for(kPod, true), Codes{});
}

}  // namespace
}  // namespace assay::server::test
