// SPDX-License-Identifier: Apache-2.0
// Stage evidence: shape by stage-evidence.schema.json.
#include "schemas/stage_evidence.h"

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {

Json to_json(const StageEvidence& evidence) {
  return {{"statement", evidence.statement.text()},
          {"key_id", evidence.key.text()},
          {"evidence", to_json(evidence.evidence)}};
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
  return StageEvidence{std::move(statement), std::move(key), *std::move(evidence)};
}

}  // namespace assay
