// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/memory_readers.h"

#include <algorithm>
#include <set>

#include "schemas/memory_facts.h"

namespace assay::server {

void attest_readers(const policy::NodeFact& node, const std::map<std::string, Timestamp>& shown,
                    policy::ReportFact& report) {
  // Devices read all of it: the host's memory that a processor read is no device's.
  report.device_attested = report.memory && !report.memory->read_by.empty() &&
                           report.memory->on_devices == report.memory->in_place;
  std::set<std::string> anchors;
  for (const MemoryReader& reader :
       report.device_attested ? report.memory->read_by : std::vector<MemoryReader>()) {
    const auto device = std::ranges::find(node.devices, reader.uuid, &policy::DeviceFact::uuid);
    const auto since = shown.find(reader.uuid);
    if (reader.uuid.empty() || reader.pci.empty() || device == node.devices.end() ||
        !policy::is_attested(node, *device, device->appraised_at) || since == shown.end() ||
        report.read_since < since->second) {
      report.device_attested = false;
      return;
    }
    if (!device->anchor_is_vendor && device->anchor) {
      anchors.insert(device->anchor->text());
    }
    if (device->valid_until) {
      report.devices_valid_until =
          std::min(*device->valid_until, report.devices_valid_until.value_or(*device->valid_until));
    }
  }
  report.device_anchors = {anchors.begin(), anchors.end()};
}

}  // namespace assay::server
