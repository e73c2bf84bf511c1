// SPDX-License-Identifier: Apache-2.0
// The appraisal policy for TDX evidence: what is acceptable among what is genuine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/tcb_status.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx {

// A list of allowed values of one measurement; empty: not constrained.
using References = std::vector<Measurement>;

// The measurements that a policy may constrain, in the order of their names in JSON.
enum class Reference : std::uint8_t {
  kMrtd,
  kMrseam,
  kMrconfigid,
  kMrowner,
  kMrownerconfig,
  kRtmr0,
  kRtmr1,
  kRtmr2,
  kRtmr3,
};
inline constexpr std::size_t kReferenceCount = 9;
// "mrtd", "rtmr0" and so on.
[[nodiscard]] std::string_view name(Reference reference);
// The register of a report that the reference is about. Borrowed.
[[nodiscard]] const Measurement& measurement(const TdReport& report, Reference reference);

struct AppraisalPolicy {
  std::vector<TcbStatus> accept_tcb_status = {TcbStatus::kUpToDate};
  std::uint32_t min_tcb_evaluation_data_number = 0;
  bool allow_evaluation_number_mismatch = true;
  std::vector<std::string> rejected_advisories;
  // How long after the date of its TCB level an OutOfDate platform is still accepted.
  std::uint32_t tcb_grace_seconds = 0;
  bool allow_debug = false;
  bool require_sept_ve_disable = true;
  bool allow_service_td = false;
  std::array<References, kReferenceCount> reference_values;
  // PPIDs or platform instance ids; empty: not constrained.
  std::vector<std::array<std::uint8_t, 16>> platform_allow_list;
  bool require_event_log = false;

  [[nodiscard]] const References& references(Reference reference) const;
};

// Every member is optional, unknown ones are refused. "Revoked" can never be accepted, and an empty
// accept_tcb_status would accept nothing: both are refused. unknown-member, schema-violation.
[[nodiscard]] Result<AppraisalPolicy> parse_appraisal_policy(const Json& json);
[[nodiscard]] Json to_json(const AppraisalPolicy& policy);

// Names of the empty lists: members under which anything goes.
[[nodiscard]] std::vector<std::string> not_constrained(const AppraisalPolicy& policy);

// REFERENCE_VALUES_MISSING unless MRTD and RTMR0 to RTMR2 are constrained: a genuine TD rented by
// an attacker is genuine, too. For conditions on enrolment and stages.
[[nodiscard]] Outcome require_reference_values(const AppraisalPolicy& policy);

}  // namespace assay::attestation::tdx
