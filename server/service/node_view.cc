// SPDX-License-Identifier: Apache-2.0
// Nodes as answers show them.
#include "server/service/nodes.h"

namespace assay::server {
namespace {

std::string_view state_of(const storage::NodeRow& node, Timestamp now) {
  if (node.revoked) {
    return "revoked";
  }
  return node.expires_at <= now ? "expired" : "enrolled";
}

Json measured_view(const storage::NodeRow::Measured& measured) {
  return {{"appraisal", measured.appraisal.text()},
          {"appraised_at", to_rfc3339(measured.appraised_at)},
          {"evidence_type", measured.evidence_type},
          {"tcb_status", measured.tcb_status},
          {"anchor", measured.anchor.text()},
          {"anchor_is_vendor", measured.anchor_is_vendor}};
}

}  // namespace

std::string node_subject(std::string_view node) { return "node:" + std::string(node); }
std::string job_subject(std::string_view job) { return "job:" + std::string(job); }

Json node_view(const storage::NodeRow& node, Timestamp now) {
  Json view = {{"node", node.name},
               {"state", state_of(node, now)},
               {"principal", node.principal},
               {"key_id", node.key.text()},
               {"platform", node.platform},
               {"enrolled_at", to_rfc3339(node.enrolled_at)},
               {"expires_at", to_rfc3339(node.expires_at)},
               {"revoked", Json()},
               {"devices", node.devices},
               {"enrolment", node.enrolment.text()},
               {"worker_measured", node.measured.has_value()},
               {"measured", Json()},
               {"log_index", node.log_index}};
  if (node.revoked) {
    view["revoked"] = {{"at", to_rfc3339(node.revoked->at)}, {"reason", node.revoked->reason}};
  }
  if (node.measured) {
    view["measured"] = measured_view(*node.measured);
  }
  return view;
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
          {"ear", enrolled.ear},
          {"receipt", enrolled.receipt}};
}

}  // namespace assay::server
