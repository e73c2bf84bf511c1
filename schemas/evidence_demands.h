// SPDX-License-Identifier: Apache-2.0
// What a policy demands of stage evidence (schemas/stage_evidence.h): evidence of the hardware that
// held the key which signed a statement. Part of schemas/policy_document.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/boot_demands.h"
#include "schemas/core/json.h"

namespace assay {

// Which appraisals of the evidence must have accepted it. Evidence is appraised when it comes, and
// again whenever the appraisal policy, its anchors or the collateral change.
enum class AppraisedWhen : std::uint8_t {
  kBoth,  // the first and the newest; the newest must be up to date
  kThen,  // the first
  kNow,   // the newest, which must be up to date
};
[[nodiscard]] std::string_view name(AppraisedWhen when);  // "both", "then", "now"

struct EvidenceDemands {
  std::string type{};  // of the evidence; empty: any type
  AppraisedWhen appraised = AppraisedWhen::kBoth;
  // Accepted TCB statuses at the first and at the newest appraisal; empty: any status that the
  // appraisal accepted. A list is used only when `appraised` includes its appraisal.
  std::vector<std::string> tcb_status_then{};
  std::vector<std::string> tcb_status_now{};
  // Digests ("sha256:...") of anchors (root certificates) that are accepted in addition to the
  // vendor's.
  std::vector<std::string> anchors{};
  // Measurement ("mrtd", "rtmr0" to "rtmr3") to its accepted values in lowercase hex. A measurement
  // without values is not constrained here.
  std::map<std::string, std::vector<std::string>> reference_values{};
  std::optional<std::uint64_t> max_age_seconds{};  // since the log entry of the evidence
  // The statement shows by a challenge of the service or a checkpoint of its log (its member
  // "freshness") that it is at most this much older than the log entry of the evidence.
  std::optional<std::uint64_t> made_within_seconds{};
  // JSON: "dangerous_allow_missing_reference_values". When false, either the appraisal policy or
  // `reference_values` must constrain MRTD and RTMR0 to RTMR2.
  bool allow_missing_reference_values = false;
  std::optional<BootDemands> boot{};  // absent: no event log is asked for
  bool operator==(const EvidenceDemands&) const = default;
};

[[nodiscard]] Json to_json(const EvidenceDemands& demands);
[[nodiscard]] Result<EvidenceDemands> read_json(json::As<EvidenceDemands> type, const Json& json);

}  // namespace assay
