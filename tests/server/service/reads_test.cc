// SPDX-License-Identifier: Apache-2.0
// A request that changes something reads one snapshot before its write and one after, for the
// receipt: what it checks is of one state, and no thread waits for a second reader while it holds
// the first.
#include <gtest/gtest.h>

#include "server/service/decisions/decide.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/policies.h"
#include "tests/server/service/bind_fixture.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

// Notes in order what is asked of it: 'r' for a snapshot, 'w' for a write.
class NotingStore final : public storage::Store {
 public:
  explicit NotingStore(storage::Store& store) : store_(store) {}
  Result<std::unique_ptr<storage::Snapshot>> snapshot() override {
    steps += 'r';
    return store_.snapshot();
  }
  Result<storage::LogState> write(
      const std::function<Status(storage::Transaction&)>& work) override {
    steps += 'w';
    return store_.write(work);
  }
  [[nodiscard]] bool healthy() const override { return store_.healthy(); }

  std::string steps;

 private:
  storage::Store& store_;
};

// `Fixture` with a service whose store notes what is asked of it.
template <typename Fixture>
struct Noting : Fixture {
  Noting() : noting_(*this->store_) {
    this->services_ =
        std::make_unique<Services>(noting_, *this->service_key_, this->clock_, this->random_,
                                   "example.com/log", this->services_->nodes);
  }
  ~Noting() override { this->services_.reset(); }
  // What a call that succeeds did.
  template <typename Call>
  std::string steps_of(const Call& call) {
    noting_.steps.clear();
    const auto result = call();
    EXPECT_TRUE(result) << to_string(result.error());
    return noting_.steps;
  }

  NotingStore noting_;
};
using Reads = Noting<NodeTest>;

struct DecisionReads : Noting<BindTest> {
  std::string steps_of_review(const Json& review) {
    return steps_of([&]() -> Result<Json> {
      Json answer = ask(review);
      EXPECT_EQ(answer["allowed"], true) << answer.dump();
      return answer;
    });
  }
};

TEST_F(Reads, Enrolment_ReadsOnceBeforeAndOnceAfter) {
  const Bytes bytes = good_enrolment(worker_);
  const auto call = [&] { return enrol(*services_, bytes, worker_.principal); };
  EXPECT_EQ(steps_of(call), "rwwr") << "the first write spends the nonce";
  EXPECT_EQ(steps_of(call), "r") << "answered as before";
}

TEST_F(Reads, Report_ReadsOnce) {
  enrol_ok(worker_);
  store_model(model_);
  make_mirror(model_);
  new_job(model_, worker_.node);
  const JobLease held = lease(worker_);
  const Bytes body = submission(worker_, report(held, model_));
  EXPECT_EQ(steps_of([&] { return send(worker_, held, body); }), "rww");
}

TEST_F(Reads, RefusedEvidence_ReadsOnce) {
  const Challenge nonce = challenge(worker_);
  const Bytes bytes = signed_enrolment(
      enrolment(worker_, nonce.nonce, {},
                [this](Enrolment& one) { one.evidence = evidence_for(ReportDataBytes{}); }),
      *worker_.key);
  noting_.steps.clear();
  EXPECT_FALSE(enrol(*services_, bytes, worker_.principal));
  EXPECT_EQ(noting_.steps.substr(0, 2), "rw");
  EXPECT_EQ(std::ranges::count(noting_.steps, 'r'), 1);
}

TEST_F(Reads, PolicyAndItsApproval_ReadOnceBeforeAndOnceAfter) {
  StatementId id = put_policy_in_force();
  EXPECT_EQ(steps_of([&] {
              auto accepted = accept_policy(*services_, policy(2), actor_);
              id = accepted->row.id;
              return accepted;
            }),
            "rwr");
  const Bytes approved = policy_approval(id, 2, policy_approver_);
  EXPECT_EQ(steps_of([&] {
              return apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                           approved, actor_);
            }),
            "rwr");
}

TEST_F(Reads, Manifest_ReadsOnceBeforeAndOnceAfter) {
  const Bytes bytes = signed_manifest(manifest("one"));
  EXPECT_EQ(steps_of([&] { return accept_manifest(*services_, bytes, actor_); }), "rwr");
}

TEST_F(DecisionReads, PodAndItsBinding_ReadOnceBefore) {
  const Json pod = pod_review("uid-1", "acme/demo");
  EXPECT_EQ(steps_of_review(pod), "rw");
  EXPECT_EQ(steps_of_review(binding_review("uid-1")), "rw");
}

TEST_F(DecisionReads, ChangeOfAKnownPod_ReadsOnceBefore) {
  const Json before = pod_review("uid-1", "acme/demo");
  static_cast<void>(ask(before));
  Json after = before["request"]["object"];
  after["spec"]["containers"][0]["image"] = "registry.example.com/other:2";
  EXPECT_EQ(steps_of_review(update_review(before, after)), "rw");
}

TEST_F(DecisionReads, UpdateThatChangesNothing_ReadsOnce) {
  const Json before = pod_review("uid-1", "acme/demo");
  static_cast<void>(ask(before));
  EXPECT_EQ(steps_of_review(update_review(before, before["request"]["object"])), "r");
}

}  // namespace
}  // namespace assay::server::test
