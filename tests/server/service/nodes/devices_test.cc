// SPDX-License-Identifier: Apache-2.0
// Devices with evidence of their own: what an enrolment may say of them, whose they are, and what
// becomes of them when something moves on.
#include "server/service/nodes/devices.h"

#include "attestation/evidence_verifier.h"
#include "attestation/simulate/nvidia_faults.h"
#include "attestation/simulate/nvidia_machine.h"
#include "schemas/core/sha.h"
#include "server/service/decisions/collect_node.h"
#include "server/service/nodes/collateral.h"
#include "server/service/nodes/reappraise.h"
#include "tests/server/service/node_fixture.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

using assay::test::code_of;
using attestation::SimulatedGpus;
using attestation::SimulatedMachine;

class Devices : public NodeTest {
 protected:
  Devices() {
    Appraisal appraisal;
    appraisal.evidence_type = kNvidiaEvidence;
    appraisal.policy = Json::object();
    appraisal.dangerous_anchors = {machine({}, {}).root};
    put_appraisal(appraisal);
    SimulatedGpus all;
    all.count = 4;
    const auto imported = import(machine(all, {}).collateral);
    EXPECT_TRUE(imported) << to_string(imported.error());
  }

  SimulatedMachine machine(SimulatedGpus options, const Nonce& nonce) const {
    options.seed = gpu_seed_;
    return attestation::simulate_machine(options, clock_.now(), nonce).value();
  }
  Result<CollateralImported> import(const Json& collateral) {
    const std::string body = Json{{"type", kNvidiaEvidence}, {"collateral", collateral}}.dump();
    return import_collateral(*services_, as_bytes(body), actor_);
  }
  // Puts devices into an enrolment, as an agent does; `changed` changes them before they are bound.
  Change<Enrolment> with(const SimulatedGpus& options,
                         const Change<std::vector<PresentedDevice>>& changed = {},
                         const std::optional<Nonce>& other_nonce = {}) const {
    return [=, this](Enrolment& made) {
      const Nonce nonce = other_nonce.value_or(device_nonce(made.nonce, made.public_key));
      for (const auto& device : machine(options, nonce).devices) {
        made.device_evidence.push_back(
            {device.uuid,
             {std::string(kNvidiaEvidence), to_bytes(device.evidence.dump()), {}, {}}});
      }
      if (changed) {
        changed(made.device_evidence);
      }
      made.request.devices.clear();
      for (const PresentedDevice& device : made.device_evidence) {
        made.request.devices.push_back(sha256(device.evidence.quote));
      }
    };
  }
  static SimulatedGpus two() {
    SimulatedGpus options;
    options.count = 2;
    return options;
  }
  std::string refusal(const Change<Enrolment>& before, const Change<Enrolment>& after = {}) {
    const auto enrolled = enrol_with(worker_, before, after);
    return enrolled ? "enrolled"
                    : std::string(info(enrolled.error().code).code) + " " +
                          enrolled.error().detail + " " + enrolled.error().where;
  }
  policy::NodeFact fact(const Worker& worker) {
    policy::Facts facts;
    const auto snapshot = store_->snapshot().value();
    policy::Workload workload;
    workload.node = worker.node;
    EXPECT_TRUE(collect_node(*services_, *snapshot, {workload}, facts));
    return facts.node.value();
  }
  std::size_t attested(const Worker& worker) {
    const policy::NodeFact node = fact(worker);
    return static_cast<std::size_t>(
        std::ranges::count_if(node.devices, [&](const policy::DeviceFact& device) {
          return policy::is_attested(node, device, clock_.now());
        }));
  }
  void catch_up() {
    while (true) {
      const auto done = reappraise(*services_, 100);
      ASSERT_TRUE(done) << to_string(done.error());
      if (*done == 0) {
        return;
      }
    }
  }

  Bytes gpu_seed_ = to_bytes("devices of server/service");
};

TEST_F(Devices, EnrolledWithTheirNode_AreFactsAndPartsOfTheResult) {
  const auto enrolled = enrol_with(worker_, with(two()));
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  const policy::NodeFact node = fact(worker_);
  ASSERT_EQ(node.devices.size(), 2);
  EXPECT_EQ(attested(worker_), 2);
  const DeviceState& state = node.devices[0].state.value();
  EXPECT_EQ(state.architecture + " " + state.mode + " " + state.measurements, "hopper cc rim");
  EXPECT_FALSE(node.devices[0].anchor_is_vendor);
  policy::Facts facts;
  facts.node = node;
  EXPECT_EQ(policy::facts_from_json(to_json(facts))->node->devices, node.devices);
  const Json view = node_row("gpu-1").value();
  EXPECT_EQ(view["device_evidence"].size(), 2);
  EXPECT_EQ(view["device_evidence"][1]["state"]["kind"], "gpu");
  EXPECT_EQ(view["device_evidence"][0]["uuid"], node.devices[0].uuid);
}

TEST_F(Devices, ThingsNotProvenOfThem_AreRefusedByName) {
  const Nonce old = device_nonce(challenge(worker_).nonce, worker_.key->public_key());
  struct Case {
    const char* name;
    std::string code;
    Change<Enrolment> before;
    Change<Enrolment> after{};
  };
  const auto faulty = [&](const char* fault) {
    SimulatedGpus options = two();
    options.fault = fault;
    return with(options);
  };
  const std::vector<Case> cases = {
      {"a report that answers an older challenge", "evidence-rejected NONCE_MISMATCH",
       with(two(), {}, old)},
      {"a report that answers the challenge itself", "evidence-rejected NONCE_MISMATCH",
       [&](Enrolment& made) { with(two(), {}, made.nonce)(made); }},
      {"a device twice", "evidence-rejected TOPOLOGY_DOUBLED",
       with(two(),
            [](auto& devices) {
              devices.push_back(devices[0]);
              devices.back().uuid = "GPU-other";
            })},
      {"one UUID for two", "enrolment-mismatch",
       with(two(), [](auto& devices) { devices[1].uuid = devices[0].uuid; })},
      {"one that the request does not name", "enrolment-mismatch", with(two()),
       [](Enrolment& made) { made.device_evidence.pop_back(); }},
      {"in another order than the request", "enrolment-mismatch", with(two()),
       [](Enrolment& made) { std::swap(made.device_evidence[0], made.device_evidence[1]); }},
      {"without evidence of the node", "enrolment-mismatch", with(two()),
       [](Enrolment& made) { made.evidence.reset(); }},
      {"evidence of a machine in the place of one", "evidence-type-unknown",
       with(two(), [](auto& devices) { devices[1].evidence.type = kTdxEvidence; })},
      {"collateral of its own", "schema-violation",
       with(two(), [](auto& devices) { devices[0].evidence.collateral = Json::object(); })},
      {"a device alone",
       "evidence-rejected DEVICE_ALONE",
       {},
       [&](Enrolment& made) {
         Enrolment other = made;
         with(two())(other);
         made.evidence = other.device_evidence[0].evidence;
       }},
      {"other firmware than that of the RIM", "evidence-rejected MEASUREMENT_MISMATCH",
       faulty("firmware")},
      {"a driver without a RIM", "evidence-rejected RIM_MISSING", faulty("old-driver")},
      {"a root that nobody configured", "evidence-rejected DEVICE_CHAIN_UNTRUSTED", faulty("root")},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(refusal(one.before, one.after).starts_with(one.code))
        << one.name << ": " << refusal(one.before, one.after);
  }
  EXPECT_EQ(node_row("gpu-1"), std::nullopt);
}

TEST_F(Devices, OfAnotherNode_AreRefused_AndUnderOneRegistrationTheNewerCounts) {
  ASSERT_TRUE(enrol_with(worker_, with(two())));
  const auto taken = enrol_with(other_, with(two()));
  EXPECT_EQ(code_of(taken), "platform-taken");
  EXPECT_NE(taken.error().detail.find("gpu-1"), std::string::npos) << taken.error().detail;
  EXPECT_NE(taken.error().detail.find("gpu-2"), std::string::npos);
  EXPECT_EQ(attested(worker_), 2);
  // The same node with one device less: it is forgotten, and free for others.
  ASSERT_TRUE(enrol_with(worker_, with(SimulatedGpus{})));
  EXPECT_EQ(fact(worker_).devices.size(), 1);
  SimulatedGpus second;
  second.first = 1;
  EXPECT_TRUE(enrol_with(other_, with(second)));
  EXPECT_EQ(attested(other_), 1);
}

TEST_F(Devices, RevokedLater_CountNoMore) {
  ASSERT_TRUE(enrol_with(worker_, with(two())));
  clock_.advance(std::chrono::hours(2));
  SimulatedGpus revoked = two();
  revoked.fault = "revoked";
  const auto imported = import(machine(revoked, {}).collateral);
  ASSERT_TRUE(imported) << to_string(imported.error());
  EXPECT_FALSE(fact(worker_).devices[1].current);  // stale until it was appraised again
  catch_up();
  EXPECT_EQ(attested(worker_), 1);
  const policy::NodeFact node = fact(worker_);
  EXPECT_EQ(node.devices[1].error.substr(0, 19), "CERTIFICATE_REVOKED");
  EXPECT_TRUE(node.appraisal_error.empty());
}

TEST_F(Devices, AnswersThatEnd_EndThem_UntilNewerOnesCome) {
  ASSERT_TRUE(enrol_with(worker_, with(two())));
  const auto view = [this] { return node_row("gpu-1").value()["device_evidence"][0]; };
  EXPECT_EQ(view()["ended"], false);
  const Timestamp end = parse_rfc3339(view()["valid_until"].get<std::string>()).value();
  clock_.set(end - std::chrono::milliseconds(1));
  EXPECT_EQ(view()["ended"], false);
  clock_.set(end);
  EXPECT_EQ(view()["ended"], true);
  clock_.advance(std::chrono::days(30));
  EXPECT_EQ(attested(worker_), 0);
}

// A vendor signs a RIM again under a certificate that lasts longer; the date of issue may stay.
TEST_F(Devices, RimThatEnded_GivesWayToTheSameOneUnderAValidSigner) {
  gpu_seed_ = to_bytes("another root");
  SimulatedGpus ended = two();
  ended.fault = "expired-rim";
  Appraisal appraisal;
  appraisal.evidence_type = kNvidiaEvidence;
  appraisal.policy = Json::object();
  appraisal.dangerous_anchors = {machine({}, {}).root};
  put_appraisal(appraisal);
  ASSERT_TRUE(import(machine(ended, {}).collateral));
  EXPECT_NE(refusal(with(two())), "enrolled");
  ASSERT_TRUE(import(machine(two(), {}).collateral));
  EXPECT_EQ(refusal(with(two())), "enrolled");
  EXPECT_FALSE(import(machine(ended, {}).collateral)) << "never back";
}

TEST_F(Devices, WithoutReferenceValuesOfTheNode_AreNotAttested) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.policy = Json::object();
  appraisal.dangerous_allow_missing_reference_values = true;
  put_appraisal(appraisal);
  ASSERT_TRUE(enrol_with(worker_, with(two())));
  EXPECT_EQ(fact(worker_).devices.size(), 2);
  EXPECT_FALSE(policy::covers_guest(fact(worker_)));
  EXPECT_EQ(attested(worker_), 0);
}

}  // namespace
}  // namespace assay::server::test
