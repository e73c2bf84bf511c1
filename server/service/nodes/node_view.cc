// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/node_view.h"

#include "server/service/nodes/devices.h"
#include "server/service/nodes/enrol.h"
#include "server/service/nodes/reappraise.h"

namespace assay::server {
namespace {

constexpr std::string_view kEnrolled = "enrolled";

// As decisions have it: kMaxHeartbeatAgeSeconds (policy/conditions/memory.h).
constexpr std::chrono::seconds kLongestSilence{10};

std::string_view state_of(const storage::NodeRow& node, Timestamp now) {
  if (node.revoked) {
    return "revoked";
  }
  if (node.ended) {
    return "ended";
  }
  return node.expires_at <= now ? "expired" : kEnrolled;
}

Json end_view(const std::optional<Revocation>& end) {
  return end ? Json{{"at", to_rfc3339(end->at)}, {"reason", end->reason}} : Json();
}

// Null when no live worker ever lost the name.
Json superseded_view(const storage::NodeRow::Superseded& superseded) {
  return superseded.at ? Json{{"count", superseded.count},
                              {"at", to_rfc3339(*superseded.at)},
                              {"key_id", superseded.key}}
                       : Json();
}

// As the evidence stands now.
Json measured_view(const Standing& standing) {
  const storage::EvidenceRow& row = standing.row;
  return {{"appraisal", row.appraisal.text()},
          {"appraised_at", to_rfc3339(row.appraised_at)},
          {"evidence_type", row.type},
          {"tcb_status", row.tcb_status},
          {"anchor", row.anchor ? Json(row.anchor->text()) : Json()},
          {"anchor_is_vendor", row.anchor_is_vendor},
          {"policy", row.policy.text()},
          {"current", standing.current},
          {"reference_values", row.matched},
          {"error", row.error.empty() ? Json() : Json(row.error)}};
}

}  // namespace

std::string node_subject(std::string_view node) { return "node:" + std::string(node); }
std::string job_subject(std::string_view job) { return "job:" + std::string(job); }

Result<Json> node_view(storage::NodeReads& reads, const storage::NodeRow& node, Timestamp now) {
  ASSAY_ASSIGN(const auto evidence, standing(reads, node_subject(node.name)));
  const bool measured = node.measured && evidence && evidence->row.error.empty();
  ASSAY_ASSIGN(Json device_evidence, device_views(reads, node, now));
  return Json{{"node", node.name},
              {"state", state_of(node, now)},
              {"principal", node.principal},
              {"registration", node.registration.empty() ? Json() : Json(node.registration)},
              {"key_id", node.key.text()},
              {"platform", node.platform},
              {"enrolled_at", to_rfc3339(node.enrolled_at)},
              {"expires_at", to_rfc3339(node.expires_at)},
              {"ended", end_view(node.ended)},
              {"revoked", end_view(node.revoked)},
              {"superseded", superseded_view(node.superseded)},
              {"devices", node.devices},
              {"device_evidence", std::move(device_evidence)},
              {"enrolment", node.enrolment.text()},
              {"worker_measured", measured},
              {"measured", node.measured && evidence ? measured_view(*evidence) : Json()},
              {"log_index", node.log_index}};
}

void add_instances(const Heartbeats& heartbeats, const storage::NodeRow& node, Timestamp now,
                   Json& view) {
  const auto newest = heartbeats.of(node.name);
  const bool known = newest && newest->key == node.key;
  Json list = Json::array();
  for (const InstanceBeat& beat : known ? newest->instances : std::vector<InstanceBeat>()) {
    const bool old = now - newest->heard_at > kLongestSilence;
    const bool violated = beat.state == InstanceState::kViolated;
    Json findings = Json::array();
    for (const BeatFinding& finding : beat.findings) {
      findings.push_back(to_json(finding));
    }
    list.push_back({{"pod", beat.instance.pod},
                    {"instance", beat.instance.instance},
                    {"artifact", beat.artifact.text()},
                    {"state", name(old && !violated ? InstanceState::kUnknown : beat.state)},
                    {"report", beat.report ? Json(beat.report->text()) : Json()},
                    {"findings", std::move(findings)},
                    {"watch", beat.watch && !old ? to_json(*beat.watch) : Json()}});
    if (violated && view["state"] == kEnrolled) {
      view["state"] = name(beat.state);
    }
  }
  view["instances"] = std::move(list);
  view["heard_at"] = known ? Json(to_rfc3339(newest->heard_at)) : Json();
}

Json enrolled_view(const Enrolled& enrolled) {
  const storage::NodeRow& node = enrolled.node;
  const bool measured = node.measured.has_value();
  return {{"node", node.name},
          {"key_id", node.key.text()},
          {"enrolled_at", to_rfc3339(node.enrolled_at)},
          {"expires_at", to_rfc3339(node.expires_at)},
          {"worker_measured", measured},
          {"tcb_status", measured ? Json(node.measured->tcb_status) : Json()},
          {"anchor", measured ? Json(node.measured->anchor.text()) : Json()},
          {"appraisal", measured ? Json(node.measured->appraisal.text()) : Json()},
          {"superseded", enrolled.superseded ? superseded_view(node.superseded) : Json()},
          {"ear", enrolled.ear},
          {"receipt", enrolled.receipt}};
}

}  // namespace assay::server
