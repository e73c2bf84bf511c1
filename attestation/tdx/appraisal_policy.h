// SPDX-License-Identifier: Apache-2.0
// The appraisal policy for TDX evidence: which genuine evidence is accepted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/tcb_status.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx {

// The allowed values of one measurement. Empty: not constrained.
using References = std::vector<Measurement>;

// The measurements that a policy can constrain, in the order of their names in JSON.
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
// Returns "mrtd", "rtmr0" and so on.
[[nodiscard]] std::string_view name(Reference reference);
[[nodiscard]] std::optional<Reference> reference_from(std::string_view name);
// Returns the register of `report` that `reference` is about. Borrowed from `report`.
[[nodiscard]] const Measurement& value_of(const TdReport& report, Reference reference);

// Imported values that belong together (attestation/tdx/reference_values.h).
struct ReferenceSet {
  std::string name;
  std::array<References, kReferenceCount> values;  // empty: the set says nothing of it
  std::optional<Timestamp> not_before{};
  std::optional<Timestamp> not_after{};
};

struct AppraisalPolicy {
  std::vector<TcbStatus> accept_tcb_status = {TcbStatus::kUpToDate};
  std::uint32_t min_tcb_evaluation_data_number = 0;
  bool allow_evaluation_number_mismatch = true;
  std::vector<std::string> rejected_advisories;
  // An OutOfDate platform is still accepted for this many seconds after the date of its TCB level.
  std::uint32_t tcb_grace_seconds = 0;
  bool allow_debug = false;
  bool require_sept_ve_disable = true;
  bool allow_service_td = false;
  std::array<References, kReferenceCount> reference_values;
  // What was imported beside them, and what is constrained even when no value is left for it. No
  // JSON of a policy has these two.
  std::vector<ReferenceSet> imported;
  std::array<bool, kReferenceCount> constrained{};
  // PPIDs or platform instance ids of the allowed platforms; empty: not constrained.
  std::vector<std::array<std::uint8_t, 16>> platform_allow_list;
  bool require_event_log = false;  // true: evidence without an event log is refused
  // True: the log must explain RTMR3 too, and there must be one. Software in the TD may extend
  // RTMR3 at any time without an event, so honest guests may fail.
  bool require_event_log_rtmr3 = false;

  [[nodiscard]] const References& references(Reference reference) const;
  // Returns true when not every value of this measurement is accepted.
  [[nodiscard]] bool constrains(Reference reference) const;
};

// Parses a policy. Every member is optional. "Revoked" can never be accepted, and an empty
// accept_tcb_status would accept nothing, so both are refused. Errors: unknown-member,
// schema-violation.
[[nodiscard]] Result<AppraisalPolicy> parse_appraisal_policy(const Json& json);
[[nodiscard]] Json to_json(const AppraisalPolicy& policy);

// Returns the names of the members that constrain nothing.
[[nodiscard]] std::vector<std::string> not_constrained(const AppraisalPolicy& policy);

// Checks that MRTD and RTMR0 to RTMR2 are constrained, because a TD that an attacker rents is
// genuine too. Used where evidence must show which software runs, such as enrolment. Errors:
// REFERENCE_VALUES_MISSING.
[[nodiscard]] Outcome require_reference_values(const AppraisalPolicy& policy);

}  // namespace assay::attestation::tdx
