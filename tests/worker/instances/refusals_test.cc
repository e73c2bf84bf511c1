// SPDX-License-Identifier: Apache-2.0
// What the operator hears of registrations that are refused.
#include "worker/instances/refusals.h"

#include "tests/worker/instances/owner_end.h"

namespace assay::worker {
namespace {

using std::chrono::seconds;
using test::Agent;
using test::host_registration;
using test::memory_file;
using test::OwnerEnd;

Refusal refusal_of(const std::string& pod, const std::string& instance) {
  return {pod, "c", 7, instance, "invalid-parameter", "why"};
}

TEST(Refusals, LastOfAPod_UntilThatInstanceRegisters) {
  const Steady::time_point now{};
  Refusals refusals;
  EXPECT_FALSE(refusals.last("p", "a"));
  EXPECT_TRUE(refusals.note(refusal_of("p", "a"), now));
  EXPECT_EQ(refusals.last("p", "a")->code, "invalid-parameter");
  EXPECT_FALSE(refusals.last("p", "b"));
  EXPECT_FALSE(refusals.last("q", "a"));
  refusals.forget("p", "b");
  EXPECT_TRUE(refusals.last("p", "a"));
  refusals.forget("p", "a");
  EXPECT_FALSE(refusals.last("p", "a"));
  // Of a frame that could not be read nobody knows the instance.
  EXPECT_TRUE(refusals.note(refusal_of("p", ""), now));
  EXPECT_TRUE(refusals.last("p", "a"));
  EXPECT_TRUE(refusals.last("p", "b"));
  refusals.forget("p", "b");
  EXPECT_FALSE(refusals.last("p", "a"));
  // Who cannot be identified says nothing about a pod.
  Refusal stranger = refusal_of("", "");
  stranger.pid = 0;
  EXPECT_TRUE(refusals.note(stranger, now));
  EXPECT_FALSE(refusals.last("", "a"));
}

TEST(Refusals, AreToldSoOftenAMinute) {
  const Steady::time_point now{};
  Refusals refusals;
  for (unsigned i = 0; i < Refusals::kToldAMinute; ++i) {
    EXPECT_TRUE(refusals.note(refusal_of("p", "a"), now + seconds(i)));
  }
  EXPECT_FALSE(refusals.note(refusal_of("p", "b"), now + seconds(59)));
  EXPECT_TRUE(refusals.last("p", "b")) << "kept, although it is not told";
  EXPECT_TRUE(refusals.note(refusal_of("q", "a"), now + seconds(59)));
  EXPECT_TRUE(refusals.note(refusal_of("p", "a"), now + seconds(60)));
}

TEST(Refusals, OfSoManyPods_AreKept) {
  Refusals refusals;
  for (unsigned i = 0; i <= Refusals::kPods; ++i) {
    const auto at = Steady::time_point() + seconds(i);
    EXPECT_TRUE(refusals.note(refusal_of("p" + std::to_string(i), "a"), at));
  }
  EXPECT_FALSE(refusals.last("p0", "a"));
  EXPECT_TRUE(refusals.last("p1", "a"));
  EXPECT_TRUE(refusals.last("p" + std::to_string(Refusals::kPods), "a"));
}

TEST(Refusals, OfAConnection_HaveProcessInstanceAndReason) {
  Agent agent;
  const Descriptor file = memory_file(64);
  const auto attempt = [&](const InstanceRegistration& registration, int files) {
    OwnerEnd owner(agent);
    return owner.enter(registration, std::vector<int>(static_cast<std::size_t>(files), file.get()));
  };
  InstanceRegistration overlap = host_registration(1);
  overlap.tensors.push_back({{"again"}, "U8", {64}, {{0, 0, 64}}});
  const std::string code = attempt(overlap, 0);
  ASSERT_TRUE(code.starts_with("refused ")) << code;
  InstanceRegistration larger = host_registration(1, "larger");
  larger.pieces[0].size = 65;
  EXPECT_EQ(attempt(larger, 1), "refused invalid-parameter");
  OwnerEnd first(agent);
  ASSERT_EQ(first.enter(host_registration(1, "b"), {file.get()}), "registered");
  EXPECT_EQ(attempt(host_registration(1, "b"), 1), "refused already-registered");

  const std::vector<Refusal> told = agent.recorder.refusals();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ("refused " + told[0].code, code);
  EXPECT_EQ(told[0].pid, ::getpid());
  EXPECT_EQ(told[0].instance, "");
  EXPECT_NE(told[0].detail.find("/pieces/0"), std::string::npos) << told[0].detail;
  EXPECT_EQ(told[1].instance, "larger");
  EXPECT_EQ(told[1].code, "invalid-parameter");
  EXPECT_EQ(told[2].instance, "b");
  EXPECT_EQ(told[2].code, "already-registered");
  EXPECT_EQ(agent.registry.refused("", "b")->code, "already-registered");
  EXPECT_FALSE(agent.registry.refused("", "larger"));
  first.hang_up();
  OwnerEnd next(agent);
  ASSERT_EQ(next.enter(host_registration(1, "b"), {file.get()}), "registered");
  EXPECT_FALSE(agent.registry.refused("", "b"));
}

// The member that an error names is the owner's: what is told of it has an end, and not within a
// character.
TEST(Refusals, LongWordsOfAnOwner_AreCut) {
  Agent agent;
  {
    OwnerEnd owner(agent);
    owner.send(OwnerHello{"test"});
    ASSERT_EQ(owner.next_type(), "welcome");
    Json frame = Json::parse(to_json(OwnerMessage(host_registration(1))).dump());
    std::string name;
    while (name.size() < 60'000) {
      name += "\xc3\xa4";
    }
    frame[name] = 1;
    ASSERT_TRUE(owner.channel().send(as_bytes(frame.dump())));
    const Json answer = owner.next();
    EXPECT_EQ(answer.value("type", ""), "refused");
    EXPECT_LT(answer.value("detail", "").size(), 600U);
  }
  ASSERT_EQ(agent.recorder.refusals().size(), 1U);
  const std::string detail = agent.recorder.refusals()[0].detail;
  EXPECT_LT(detail.size(), 600U);
  EXPECT_TRUE(detail.ends_with("\xc3\xa4...")) << detail;
}

TEST(Refusals, WhoIsNotIdentified_IsToldWithoutAProcess) {
  Agent agent({}, PeerRules{{::getuid() + 1}});
  {
    OwnerEnd owner(agent);
    EXPECT_EQ(owner.next_type(), "refused forbidden");
  }
  ASSERT_EQ(agent.recorder.refusals().size(), 1U);
  EXPECT_EQ(agent.recorder.refusals()[0].code, "forbidden");
  EXPECT_EQ(agent.recorder.refusals()[0].pid, 0);
}

// An end without a fault is no refusal.
TEST(Refusals, EndOfAConnection_IsNone) {
  Agent agent;
  const Descriptor file = memory_file(64);
  {
    OwnerEnd owner(agent);
    ASSERT_EQ(owner.enter(host_registration(1), {file.get()}), "registered");
  }
  EXPECT_TRUE(agent.recorder.refusals().empty());
}

}  // namespace
}  // namespace assay::worker
