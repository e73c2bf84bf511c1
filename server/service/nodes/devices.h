// SPDX-License-Identifier: Apache-2.0
// Devices of a node with evidence of their own. Each has a row of evidence under its identity, so
// one device is never that of two nodes; the node's row lists its devices, with the UUIDs that the
// node says they have. Internal to this folder and to the facts of decisions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/device_state.h"
#include "schemas/enrolment.h"
#include "server/service/nodes/appraisal.h"
#include "server/service/nodes/reappraise.h"

namespace assay::server {

// Returns "device:PLATFORM", of a platform as AppraisedEvidence names it.
[[nodiscard]] std::string device_subject(std::string_view platform);
[[nodiscard]] bool is_device_subject(std::string_view subject);
// Returns whether the node's newest enrolment has the device.
[[nodiscard]] bool has_device(const storage::NodeRow& node, const std::string& subject);

// Puts the accepted devices into the row, without storing it.
void list_devices(const Enrolment& enrolment, const std::vector<Appraised>& devices,
                  storage::NodeRow& row);

// Keeps in `row` since when each device gives evidence, of those that `before` had: for the same
// machine's name, whose evidence never paused.
void carry_devices(const storage::NodeRow& before, storage::NodeRow& row);
// Returns that time by UUID.
[[nodiscard]] std::map<std::string, Timestamp> devices_shown_since(const storage::NodeRow& node);

// Takes the devices of `row` from other nodes: an older enrolment under the same registration ends.
// Forgets those that `before` had and `row` has not. Errors: platform-taken, naming both nodes,
// when a live enrolment under another registration has one.
[[nodiscard]] Status claim_devices(storage::Transaction& transaction,
                                   const std::optional<storage::NodeRow>& before,
                                   const storage::NodeRow& row);
// Forgets the evidence of all devices of a node whose enrolment is over.
[[nodiscard]] Status forget_devices(storage::Transaction& transaction,
                                    const storage::NodeRow& node);

// A device of a node as its evidence stands now.
struct NodeDeviceStanding {
  std::string uuid;
  Standing standing;
};
// Returns the devices of the newest enrolment whose evidence is still kept for this node.
[[nodiscard]] Result<std::vector<NodeDeviceStanding>> devices_of(storage::NodeReads& reads,
                                                                 const storage::NodeRow& node);
// Returns them for people and programs, as they are at `now`.
[[nodiscard]] Result<Json> device_views(storage::NodeReads& reads, const storage::NodeRow& node,
                                        Timestamp now);

}  // namespace assay::server
