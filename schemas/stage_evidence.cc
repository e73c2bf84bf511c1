// SPDX-License-Identifier: Apache-2.0
// Stage evidence: shape by stage-evidence.schema.json.
#include "schemas/stage_evidence.h"

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {

Json to_json(const StageEvidence& evidence) {
  Json json = {{"statement", evidence.statement.text()},
               {"key_id", evidence.key.text()},
               {"evidence", to_json(evidence.evidence)}};
  if (!evidence.event_log.empty()) {
    json["event_log"] = base64_encode(evidence.event_log);
  }
  return json;
}

Result<StageEvidence> parse_stage_evidence(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload));
  ASSAY_TRY(validate("stage-evidence", json));
  ASSAY_ASSIGN(StatementId statement, StatementId::parse(members::text(json, "statement")));
  ASSAY_ASSIGN(KeyId key, KeyId::parse(members::text(json, "key_id")));
  auto evidence = evidence_from_json(json["evidence"]);
  if (!evidence) {
    return members::under("/evidence", std::move(evidence).error());
  }
  auto event_log = base64_decode(members::text(json, "event_log"));
  if (!event_log) {
    return members::under("/event_log", std::move(event_log).error());
  }
  if (event_log->size() > kMaxEventLogBytes) {
    return fail(ErrorCode::kLimitExceeded, "an event log has at most 256 KiB", "/event_log");
  }
  return StageEvidence{std::move(statement), std::move(key), *std::move(evidence),
                       *std::move(event_log)};
}

}  // namespace assay
