// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/devices.h"

#include <algorithm>

#include "schemas/core/json_at.h"
#include "server/service/if_found.h"
#include "server/service/nodes/node_view.h"
#include "server/service/nodes/registration.h"

namespace assay::server {
namespace {

constexpr std::string_view kDevicePrefix = "device:";

std::vector<std::string> subjects_in(const storage::NodeRow& node) {
  std::vector<std::string> subjects;
  for (const Json& one : node.device_evidence) {
    subjects.push_back(text_at(one, "subject"));
  }
  return subjects;
}

// The row of the device, if it is kept for this node.
Result<std::optional<storage::EvidenceRow>> own_row(storage::NodeReads& reads,
                                                    const storage::NodeRow& node,
                                                    const std::string& subject) {
  ASSAY_ASSIGN(auto row, if_found(reads.evidence(subject)));
  return row && row->node == node.name ? std::move(row) : std::nullopt;
}

Status forget_device(storage::Transaction& transaction, const storage::NodeRow& node,
                     const std::string& subject) {
  ASSAY_ASSIGN(const auto row, own_row(transaction, node, subject));
  return row ? transaction.forget_evidence(subject) : Status();
}

// The other live node that has the device, if there is one.
Result<std::optional<storage::NodeRow>> other_holder(storage::Transaction& transaction,
                                                     const storage::NodeRow& row,
                                                     const std::string& subject) {
  ASSAY_ASSIGN(const auto evidence, if_found(transaction.evidence(subject)));
  if (!evidence || evidence->node == row.name) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(auto other, if_found(transaction.node(evidence->node)));
  const bool live = other && !other->revoked && !other->ended &&
                    other->expires_at > transaction.now() && has_device(*other, subject);
  return live ? std::move(other) : std::nullopt;
}

}  // namespace

std::string device_subject(std::string_view platform) {
  return std::string(kDevicePrefix) + std::string(platform);
}

bool is_device_subject(std::string_view subject) { return subject.starts_with(kDevicePrefix); }

bool has_device(const storage::NodeRow& node, const std::string& subject) {
  const auto subjects = subjects_in(node);
  return std::ranges::find(subjects, subject) != subjects.end();
}

void list_devices(const Enrolment& enrolment, const std::vector<Appraised>& devices,
                  storage::NodeRow& row) {
  row.device_evidence = Json::array();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    row.device_evidence.push_back({{"subject", device_subject(devices[i].evidence.platform)},
                                   {"uuid", enrolment.device_evidence[i].uuid},
                                   {"since", to_rfc3339(row.enrolled_at)}});
  }
}

void carry_devices(const storage::NodeRow& before, storage::NodeRow& row) {
  if (before.expires_at < row.enrolled_at) {
    return;
  }
  for (Json& one : row.device_evidence) {
    for (const Json& known : before.device_evidence) {
      if (text_at(known, "subject") == text_at(one, "subject") &&
          text_at(known, "uuid") == text_at(one, "uuid")) {
        one["since"] = text_at(known, "since");
      }
    }
  }
}

std::map<std::string, Timestamp> devices_shown_since(const storage::NodeRow& node) {
  std::map<std::string, Timestamp> shown;
  for (const Json& one : node.device_evidence) {
    if (const auto since = parse_rfc3339(text_at(one, "since"))) {
      shown.emplace(text_at(one, "uuid"), *since);
    }
  }
  return shown;
}

Status claim_devices(storage::Transaction& transaction,
                     const std::optional<storage::NodeRow>& before, const storage::NodeRow& row) {
  if (before) {
    for (const std::string& subject : subjects_in(*before)) {
      if (!has_device(row, subject)) {
        ASSAY_TRY(forget_device(transaction, row, subject));
      }
    }
  }
  for (const std::string& subject : subjects_in(row)) {
    ASSAY_ASSIGN(auto other, other_holder(transaction, row, subject));
    if (!other) {
      continue;
    }
    if (other->registration != row.registration || other->principal != row.principal) {
      return fail(ErrorCode::kPlatformTaken,
                  "node " + other->name + " is enrolled with a device of node " + row.name,
                  "/device_evidence");
    }
    ASSAY_TRY(end_node(transaction, *std::move(other), "its device enrolled with " + row.name));
  }
  return {};
}

Status forget_devices(storage::Transaction& transaction, const storage::NodeRow& node) {
  for (const std::string& subject : subjects_in(node)) {
    ASSAY_TRY(forget_device(transaction, node, subject));
  }
  return {};
}

Result<std::vector<NodeDeviceStanding>> devices_of(storage::NodeReads& reads,
                                                   const storage::NodeRow& node) {
  std::vector<NodeDeviceStanding> devices;
  for (const Json& one : node.device_evidence) {
    ASSAY_ASSIGN(auto row, own_row(reads, node, text_at(one, "subject")));
    if (row) {
      ASSAY_ASSIGN(Standing standing, standing_of(reads, *std::move(row)));
      devices.push_back({text_at(one, "uuid"), std::move(standing)});
    }
  }
  return devices;
}

Result<Json> device_views(storage::NodeReads& reads, const storage::NodeRow& node, Timestamp now) {
  ASSAY_ASSIGN(const auto devices, devices_of(reads, node));
  Json views = Json::array();
  for (const NodeDeviceStanding& device : devices) {
    const storage::EvidenceRow& row = device.standing.row;
    views.push_back({{"uuid", device.uuid},
                     {"evidence_type", row.type},
                     {"appraisal", row.appraisal.text()},
                     {"appraised_at", to_rfc3339(row.appraised_at)},
                     {"anchor", row.anchor ? Json(row.anchor->text()) : Json()},
                     {"anchor_is_vendor", row.anchor_is_vendor},
                     {"current", device.standing.current},
                     {"error", row.error.empty() ? Json() : Json(row.error)},
                     {"ended", row.valid_until && *row.valid_until <= now},
                     {"valid_until", row.valid_until ? Json(to_rfc3339(*row.valid_until)) : Json()},
                     {"state", row.device}});
  }
  return views;
}

}  // namespace assay::server
