// SPDX-License-Identifier: Apache-2.0
// What a plug-in answers (schemas/json/plugin-answer.schema.json), after it was checked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attestation/evidence_verifier.h"

namespace assay::attestation::plugin {

struct Answer {
  bool accepted = false;
  std::string error;  // empty exactly when accepted
  std::string tcb_status;
  Bytes platform;  // what identifies the machine; never empty when accepted
  std::optional<Timestamp> valid_until;
  std::map<std::string, std::string> measurements;
  Trustworthiness trustworthiness;
  std::vector<EvidencePart> parts;
  Json claims = Json::object();
};

// Reads an answer to a call for this type and report data. What does not follow the schema, is
// about another call, or accepts evidence of which it says that something is contraindicated, is no
// answer. Errors: verifier-failed.
[[nodiscard]] Result<Answer> parse_answer(ByteView bytes, std::string_view type,
                                          const ReportDataBytes& expected);

}  // namespace assay::attestation::plugin
