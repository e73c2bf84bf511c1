// SPDX-License-Identifier: Apache-2.0
// Demands on devices: a node whose two GPUs are as demanded, and one change each that must stop it.
#include <functional>

#include <gtest/gtest.h>

#include "policy/device_fact.h"
#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

DeviceFact gpu(const std::string& uuid) {
  return {.uuid = uuid,
          .appraised_at = from_now(-60),
          .current = true,
          .valid_until = from_now(3600),
          .anchor = Anchor::root(sha256(as_bytes("root of devices"))),
          .anchor_is_vendor = true,
          .state = DeviceState{.vendor = "nvidia",
                               .kind = "gpu",
                               .identity = sha256(as_bytes(uuid)),
                               .architecture = "hopper",
                               .mode = "cc",
                               .driver = "580.65.06",
                               .firmware = "96.00.9F.00.01",
                               .measurements = "rim",
                               .rim = "valid",
                               .revocation = "good",
                               .debug = "disabled"}};
}

Facts node_with_gpus() {
  Facts facts = facts_on_node();
  NodeFact& node = *facts.node;
  node.evidence_type = "tdx";
  for (const char* name : {"mrtd", "rtmr0", "rtmr1", "rtmr2"}) {
    node.matched[name] = {"appraisal"};
  }
  node.devices = {gpu("GPU-a"), gpu("GPU-b")};
  node.devices_registered = 2;
  return facts;
}

struct Case {
  const char* name;
  std::function<void(NodeFact&, DeviceDemands&)> change;
  std::optional<Reason> code;
};

// long-function: a table.
TEST(DeviceDemands, EachThingThatIsNotAsDemanded_Denies) {
  const auto attested = Reason::kDeviceNotAttested;
  const auto accepted = Reason::kDeviceNotAccepted;
  const std::vector<Case> cases = {
      {"as demanded", [](auto&, auto&) {}, {}},
      {"all claims",
       [](auto&, DeviceDemands& d) {
         d = {.vendor = {"nvidia"},
              .architecture = {"hopper"},
              .mode = {"cc"},
              .min_driver = "580.65.6",
              .min_vbios = "96.00.5e.00.01",
              .max_age_seconds = 60};
       },
       {}},
      {"none", [](NodeFact& n, auto&) { n.devices.clear(); }, attested},
      {"one too few", [](NodeFact& n, auto&) { n.devices.pop_back(); }, attested},
      {"one more than registered", [](NodeFact& n, auto&) { n.devices_registered = 1; }, attested},
      {"a switch in the place of a GPU",
       [](NodeFact& n, auto&) { n.devices[1].state->kind = "switch"; }, attested},
      {"a switch beside them, which nobody counts",
       [](NodeFact& n, auto&) {
         n.devices.push_back(gpu("switch"));
         n.devices[2].state->kind = "switch";
       },
       {}},
      {"number not registered", [](NodeFact& n, auto&) { n.devices_registered.reset(); }, attested},
      {"refused", [](NodeFact& n, auto&) { n.devices[1].error = "RIM_EXPIRED"; }, attested},
      {"stale", [](NodeFact& n, auto&) { n.devices[1].current = false; }, attested},
      {"ended", [](NodeFact& n, auto&) { n.devices[0].valid_until = now(); }, attested},
      {"from the future", [](NodeFact& n, auto&) { n.devices[0].appraised_at = from_now(1); },
       attested},
      {"without a state", [](NodeFact& n, auto&) { n.devices[0].state.reset(); }, attested},
      {"another root", [](NodeFact& n, auto&) { n.devices[0].anchor_is_vendor = false; }, attested},
      {"kernel not compared", [](NodeFact& n, auto&) { n.matched.erase("rtmr1"); }, attested},
      {"another type of evidence", [](NodeFact& n, auto&) { n.evidence_type = "ear"; }, attested},
      {"one is enough",
       [](NodeFact& n, DeviceDemands& d) {
         d.all = false;
         n.devices_registered.reset();
         n.devices[0].error = "RIM_EXPIRED";
       },
       {}},
      {"not even one",
       [](NodeFact& n, DeviceDemands& d) {
         d.all = false;
         n.devices[0].error = n.devices[1].error = "RIM_EXPIRED";
       },
       attested},
      {"architecture", [](auto&, DeviceDemands& d) { d.architecture = {"blackwell"}; }, accepted},
      {"mode", [](auto&, DeviceDemands& d) { d.mode = {"ppcie"}; }, accepted},
      {"vendor",
       [](NodeFact& n, DeviceDemands& d) {
         d.vendor = {"nvidia"};
         n.devices[0].state->vendor = "other";
       },
       accepted},
      {"driver", [](auto&, DeviceDemands& d) { d.min_driver = "580.65.7"; }, accepted},
      {"a driver that cannot be compared",
       [](NodeFact& n, DeviceDemands& d) {
         d.min_driver = "1";
         n.devices[0].state->driver = "580.x";
       },
       accepted},
      {"VBIOS", [](auto&, DeviceDemands& d) { d.min_vbios = "96.00.A0"; }, accepted},
      {"age", [](auto&, DeviceDemands& d) { d.max_age_seconds = 59; }, accepted},
      {"waived", [](NodeFact& n, auto&) { n.devices[0].state->measurements = "waived"; }, accepted},
      {"waived, as allowed",
       [](NodeFact& n, DeviceDemands& d) {
         d.allow_waived = true;
         n.devices[0].state->measurements = "waived";
       },
       {}},
      {"not compared",
       [](NodeFact& n, DeviceDemands& d) {
         d.allow_waived = true;
         n.devices[0].state->measurements = "none";
       },
       accepted},
      {"switches alone",
       [](NodeFact& n, auto&) { n.devices[0].state->kind = n.devices[1].state->kind = "switch"; },
       attested},
  };
  for (const Case& one : cases) {
    Facts facts = node_with_gpus();
    NodeCondition condition;
    condition.device.emplace();
    one.change(*facts.node, *condition.device);
    const ConditionResult result = judge_on_node(condition, facts);
    EXPECT_EQ(result.code, one.code) << one.name << ": " << to_json(result).dump();
    EXPECT_EQ(result.outcome == Outcome::kPass, !one.code) << one.name;
  }
}

TEST(DeviceDemands, Versions_AreComparedNumberByNumber) {
  EXPECT_EQ(is_older_version("570.9", "570.10", 10), true);
  EXPECT_EQ(is_older_version("570.10.0", "570.10", 10), false);
  EXPECT_EQ(is_older_version("96.00.9F", "96.00.A0", 16), true);
  for (const char* text : {"", ".", "5.", "5..1", "-5", "5x", "99999999999", "1.2.3.4.5.6.7.8.9"}) {
    EXPECT_EQ(is_older_version(text, "1", 10), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay::policy::test
