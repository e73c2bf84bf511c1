// SPDX-License-Identifier: Apache-2.0
// Readers of memory: two attested devices, and one change each that makes them others.
#include "server/service/decisions/memory_readers.h"

#include <functional>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"

namespace assay::server {
namespace {

using std::chrono::seconds;

const Timestamp kRead = *parse_rfc3339("2026-06-01T12:00:00Z");
const Anchor kVendor = Anchor::root(sha256(as_bytes("vendor")));
const Anchor kLab = Anchor::root(sha256(as_bytes("lab")));

policy::DeviceFact gpu(const std::string& uuid) {
  return {.uuid = uuid,
          .appraised_at = kRead - seconds(60),
          .current = true,
          .valid_until = kRead + seconds(600),
          .anchor = kVendor,
          .anchor_is_vendor = true,
          .state = DeviceState{.vendor = "nvidia",
                               .kind = "gpu",
                               .identity = sha256(as_bytes(uuid)),
                               .architecture = "hopper",
                               .mode = "cc",
                               .driver = "580.1",
                               .firmware = "96.00",
                               .measurements = "rim",
                               .rim = "valid",
                               .revocation = "good",
                               .debug = "disabled"}};
}

struct Given {
  policy::NodeFact node;
  std::map<std::string, Timestamp> shown;
  policy::ReportFact report;
};

// Two attested GPUs read 100 bytes of device memory.
Given two_readers() {
  Given given;
  policy::NodeFact& node = given.node;
  node.evidence_type = "tdx";
  node.worker_measured = node.appraisal_current = true;
  node.appraised_at = kRead - seconds(60);
  for (const char* name : {"mrtd", "rtmr0", "rtmr1", "rtmr2"}) {
    node.matched[name] = {"appraisal"};
  }
  node.devices = {gpu("GPU-a"), gpu("GPU-b")};
  given.shown = {{"GPU-a", kRead - seconds(3600)}, {"GPU-b", kRead}};
  given.report.read_since = kRead;
  given.report.memory.emplace();
  given.report.memory->in_place = given.report.memory->on_devices = 100;
  given.report.memory->read_by = {{{0}, "opencl:0", "A", "580.1", "GPU-a", "0000:1b:00.0", {}},
                                  {{1}, "opencl:1", "B", "580.1", "GPU-b", "0000:1c:00.0", {}}};
  return given;
}

TEST(AttestedReaders, AreDevicesOfTheNodeThatGaveEvidenceBefore) {
  Given given = two_readers();
  given.node.devices[1].valid_until = kRead + seconds(300);
  attest_readers(given.node, given.shown, given.report);
  EXPECT_TRUE(given.report.device_attested);
  EXPECT_EQ(given.report.devices_valid_until, kRead + seconds(300));
  EXPECT_TRUE(given.report.device_anchors.empty());
}

TEST(AttestedReaders, UnderAnotherAnchor_NameIt) {
  Given given = two_readers();
  for (policy::DeviceFact& device : given.node.devices) {
    device.anchor = kLab;
    device.anchor_is_vendor = false;
  }
  attest_readers(given.node, given.shown, given.report);
  EXPECT_TRUE(given.report.device_attested);
  EXPECT_EQ(given.report.device_anchors, std::vector{kLab.text()});
}

TEST(AttestedReaders, AnythingElse_IsNone) {
  const std::pair<const char*, std::function<void(Given&)>> cases[] = {
      {"nobody read", [](Given& g) { g.report.memory->read_by.clear(); }},
      {"no memory", [](Given& g) { g.report.memory.reset(); }},
      {"memory of the host", [](Given& g) { g.report.memory->on_devices = 99; }},
      {"the processor read", [](Given& g) { g.report.memory->read_by[1].pci.clear(); }},
      {"a device without a name", [](Given& g) { g.report.memory->read_by[1].uuid.clear(); }},
      {"a device of another node", [](Given& g) { g.report.memory->read_by[1].uuid = "GPU-c"; }},
      {"refused evidence", [](Given& g) { g.node.devices[1].error = "RIM_EXPIRED"; }},
      {"evidence that came later", [](Given& g) { g.shown["GPU-b"] += seconds(1); }},
      {"evidence of an unknown time", [](Given& g) { g.shown.erase("GPU-b"); }},
      {"a guest that is not covered", [](Given& g) { g.node.matched.erase("rtmr2"); }},
  };
  for (const auto& [name, change] : cases) {
    Given given = two_readers();
    change(given);
    attest_readers(given.node, given.shown, given.report);
    EXPECT_FALSE(given.report.device_attested) << name;
    EXPECT_TRUE(given.report.device_anchors.empty()) << name;
  }
}

}  // namespace
}  // namespace assay::server
