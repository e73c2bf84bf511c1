// SPDX-License-Identifier: Apache-2.0
// What is known about stage evidence: evidence of the hardware that held the key which signed a
// statement (schemas/stage_evidence.h). Part of the facts document (policy/facts.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/anchor.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/measured_boot.h"

namespace assay::policy {

// Which reference values matched: by measurement ("mrtd"), the names of the sources of the value:
// "appraisal", or the name of an imported set (schemas/reference_values.h).
using MatchedReferences = std::map<std::string, std::vector<std::string>>;

struct StageEvidenceFact {
  KeyId key;              // the key that signed statement and evidence
  std::string type;       // "tdx"
  Timestamp accepted_at;  // time of its log entry
  // When the service issued the challenge in the statement, or the time of the newest log entry
  // under the checkpoint in it: the evidence was made later. Absent: the statement has neither of
  // this service.
  std::optional<Timestamp> made_after{};
  std::optional<Anchor> anchor{};
  bool anchor_is_vendor = false;
  // TCB status and error code of the first appraisal and of the newest. No error: accepted.
  std::string status_then{};
  std::string error_then{};
  std::string status_now{};
  std::string error_now{};
  bool current = false;  // the newest appraisal used the policy and collateral that are in force
  bool has_reference_values = false;  // the appraisal policy constrains MRTD and RTMR0 to RTMR2
  std::map<std::string, std::string> measurements{};  // "mrtd", "rtmr0"...: lowercase hex
  std::optional<DocumentId> appraisal{};              // the newest result
  std::optional<DocumentId> appraisal_policy{};       // digest of the appraisal policy applied
  MatchedReferences matched{};                        // in the newest appraisal
  std::optional<MeasuredBoot> boot{};  // absent: no event log, or none that was accepted
  // When the first of what the newest appraisal rests on ends, such as collateral or reference
  // values. Absent: nothing of it ends.
  std::optional<Timestamp> valid_until{};
  bool operator==(const StageEvidenceFact&) const = default;
};

[[nodiscard]] Json to_json(const StageEvidenceFact& evidence);
[[nodiscard]] Result<StageEvidenceFact> read_json(json::As<StageEvidenceFact> type,
                                                  const Json& json);

}  // namespace assay::policy
