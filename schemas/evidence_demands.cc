// SPDX-License-Identifier: Apache-2.0
// Demands on stage evidence: shape by policy.schema.json.
#include "schemas/evidence_demands.h"

#include "schemas/core/json_object.h"
#include "schemas/core/names.h"

namespace assay {

namespace {

constexpr Names<AppraisedWhen, 3> kWhen = {{{{AppraisedWhen::kBoth, "both"},
                                             {AppraisedWhen::kThen, "then"},
                                             {AppraisedWhen::kNow, "now"}}}};

Result<AppraisedWhen> appraised_when_from(std::string_view text) {
  return kWhen.parse(text, "evidence is appraised then, now or both", ErrorCode::kSchemaViolation);
}

}  // namespace

std::string_view name(AppraisedWhen when) { return kWhen.of(when); }

static auto members_of(json::As<EvidenceDemands>) {
  using T = EvidenceDemands;
  return std::tuple(
      json::if_set("type", &T::type),
      json::or_default("appraised", &T::appraised, json::named(appraised_when_from)),
      json::if_set("tcb_status_then", &T::tcb_status_then),
      json::if_set("tcb_status_now", &T::tcb_status_now), json::if_set("anchors", &T::anchors),
      json::if_set("reference_values", &T::reference_values),
      json::if_set("max_age_seconds", &T::max_age_seconds),
      json::if_set("made_within_seconds", &T::made_within_seconds),
      json::if_set("dangerous_allow_missing_reference_values", &T::allow_missing_reference_values),
      json::if_set("boot", &T::boot));
}
Json to_json(const EvidenceDemands& demands) { return json::write(demands); }
Result<EvidenceDemands> read_json(json::As<EvidenceDemands> /*type*/, const Json& json) {
  return json::read<EvidenceDemands>(json);
}

}  // namespace assay
