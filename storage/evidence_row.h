// SPDX-License-Identifier: Apache-2.0
// The row of stored evidence, part of the store about nodes (storage/node_store.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/anchor.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/measured_boot.h"

namespace assay::storage {

// Evidence that an enrolment, a report or a statement depends on, and its newest appraisal.
struct EvidenceRow {
  // "node:NAME" for an enrolment, "job:ID" for a report, "device:PLATFORM" for a device of an
  // enrolment; for a statement as stage_subject() says.
  std::string subject;
  std::string node;        // node that gave the evidence; empty for a statement
  std::string type;        // of the evidence
  DocumentId evidence;     // stored document: see server/service/nodes/reappraise.h
  Bytes expected;          // required report data, 64 bytes
  std::string platform;    // required platform; empty: any
  DocumentId policy;       // digest of the appraisal policy that was applied
  std::string error;       // error code of the refusal; empty: accepted
  DocumentId appraisal;    // stored result
  Timestamp appraised_at;  // when first appraised; later appraisals keep it
  std::string tcb_status;
  std::optional<Anchor> anchor;
  bool anchor_is_vendor = false;
  Json marks = Json::object();  // high-water marks of the collateral, by name
  // What the service keeps of evidence for a statement (server/service/nodes/stage_evidence.h);
  // null for the evidence of nodes.
  Json stage{};
  // Which reference values matched: by measurement, a list of the names of their sources
  // (AppraisedEvidence in attestation/evidence_verifier.h). Empty when refused.
  Json matched = Json::object();
  std::optional<MeasuredBoot> boot{};  // of an accepted event log
  // When the first of what the newest appraisal rests on ends: collateral, certificates, imported
  // reference values. Absent: nothing that it rests on ends, or the evidence was refused for other
  // reasons than that its collateral had ended.
  std::optional<Timestamp> valid_until{};
  // When to see whether there is newer collateral, so that it counts for longer. Absent: never.
  std::optional<Timestamp> look_at{};
  // DeviceState of accepted evidence of a device (schemas/device_state.h); otherwise null.
  Json device{};
};

// Returns the subject of evidence of this type, with which `key` shows where it signed `statement`:
// "statement:STATEMENT ID/KEY ID/TYPE".
[[nodiscard]] inline std::string stage_subject(const StatementId& statement, const KeyId& key,
                                               std::string_view type) {
  return "statement:" + statement.text() + "/" + key.text() + "/" + std::string(type);
}

}  // namespace assay::storage
