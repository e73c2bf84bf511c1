// SPDX-License-Identifier: Apache-2.0
// The part of the facts document about stage evidence.
#include "policy/stage_evidence_fact.h"

#include "policy/facts/fact_codec.h"

namespace assay::policy {

static auto members_of(json::As<StageEvidenceFact>) {
  using T = StageEvidenceFact;
  const auto there = [](const T&) { return true; };
  return std::tuple(
      json::always("key", &T::key), json::always("type", &T::type),
      json::always("accepted_at", &T::accepted_at), json::if_set("made_after", &T::made_after),
      json::if_set("anchor", &T::anchor), json::always("anchor_is_vendor", &T::anchor_is_vendor),
      json::group("then", there,
                  std::tuple(json::always("tcb_status", &T::status_then),
                             json::if_set("error", &T::error_then))),
      json::group("now", there,
                  std::tuple(json::always("tcb_status", &T::status_now),
                             json::if_set("error", &T::error_now))),
      json::always("current", &T::current),
      json::always("has_reference_values", &T::has_reference_values),
      json::if_set("measurements", &T::measurements), json::if_set("appraisal", &T::appraisal),
      json::if_set("policy", &T::appraisal_policy),
      json::if_set("reference_values", &T::matched, kMatched),
      json::if_set("boot", &T::boot, json::by(measured_boot_from_json)),
      json::if_set("valid_until", &T::valid_until));
}
static StageEvidenceFact start(json::As<StageEvidenceFact>) {
  return {json::unread<KeyId>(), {}, {}};
}
Json to_json(const StageEvidenceFact& evidence) { return json::write(evidence); }
Result<StageEvidenceFact> read_json(json::As<StageEvidenceFact> /*type*/, const Json& json) {
  return json::read<StageEvidenceFact>(json);
}

}  // namespace assay::policy
