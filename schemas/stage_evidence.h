// SPDX-License-Identifier: Apache-2.0
// Stage evidence: shows in which hardware the key was held that signed a statement about a stage
// (docs/policies.md, "Evidence of a stage"). It does not show that the stage was carried out
// there. Schema: stage-evidence.schema.json.
#pragma once

#include <string_view>

#include "schemas/core/ids.h"
#include "schemas/evidence.h"

namespace assay {

// DSSE payload type. The key named in the payload signs the payload.
inline constexpr std::string_view kStageEvidencePayloadType =
    "application/vnd.assay.stage-evidence+json";

// JSON: {"statement":ID,"key_id":ID,"evidence":{...}}. The report data of the evidence are
// those of statement_report_data() (schemas/evidence.h).
struct StageEvidence {
  StatementId statement;
  KeyId key;  // the key that signed the statement
  Evidence evidence;
};
[[nodiscard]] Json to_json(const StageEvidence& evidence);
// Errors: those of validate() and of evidence.
[[nodiscard]] Result<StageEvidence> parse_stage_evidence(ByteView payload);

}  // namespace assay
