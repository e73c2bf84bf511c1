// SPDX-License-Identifier: Apache-2.0
// Stage evidence: shape by stage-evidence.schema.json.
#include "schemas/stage_evidence.h"

#include "schemas/document.h"

namespace assay {

static auto members_of(json::As<StageEvidence>) {
  using T = StageEvidence;
  return std::tuple(json::always("statement", &T::statement), json::always("key_id", &T::key),
                    json::always("evidence", &T::evidence));
}
static StageEvidence start(json::As<StageEvidence>) {
  return {json::unread<StatementId>(), json::unread<KeyId>(), {}};
}
Json to_json(const StageEvidence& evidence) { return json::write(evidence); }
Result<StageEvidence> parse_stage_evidence(ByteView payload) {
  return document::parse<StageEvidence>(payload, "stage-evidence");
}

}  // namespace assay
