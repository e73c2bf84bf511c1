// SPDX-License-Identifier: Apache-2.0
// The result of verifying TDX evidence: verdict, error, TCB, measurements, and every check with the
// values that it compared.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/appraisal/checks.h"
#include "attestation/tdx/error.h"
#include "attestation/tdx/event_log.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/reference_values.h"
#include "attestation/tdx/tcb_evaluate.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx {

using appraisal::Check;
using appraisal::CheckOutcome;

// The identity of the machine, from the PCK certificate after the signatures of its chain were
// verified. The validity times and revocation of the chain are checked later, so the result of
// refused evidence may contain this identity.
struct PlatformIdentity {
  std::array<std::uint8_t, 6> fmspc{};
  std::array<std::uint8_t, 2> pceid{};
  std::array<std::uint8_t, 16> ppid{};
  std::optional<std::array<std::uint8_t, 16>> platform_instance_id;
  std::string pck_ca;
  // SHA-256 of the DER PCK certificate.
  std::optional<Digest> pck_certificate;
};

struct AppraisalResult {
  bool accepted = false;
  std::optional<Failure> failure;  // present exactly when not accepted
  // True when REPORTDATA was equal to an expected value, which shows that the evidence answers a
  // challenge or binds a key. Accepted evidence without this comparison is genuine, but its age is
  // unknown.
  bool report_data_bound = false;

  // The members below are present when the steps that establish them have passed.
  std::optional<TcbEvaluation> tcb;
  std::vector<Shortfall> shortfalls;
  std::optional<TdReport> report;  // present after the quote's signature verified
  std::optional<PlatformIdentity> platform;
  std::optional<std::uint16_t> quote_version;
  std::optional<BodyType> body_type;
  // From the authenticated TCB info: its platform family, and its evaluation number.
  std::optional<std::array<std::uint8_t, 6>> tcb_info_fmspc;
  std::optional<std::uint32_t> tcb_evaluation_number;
  std::optional<std::uint32_t> qe_evaluation_number;
  std::optional<ReplayedLog> event_log;  // present when a log was there and its replay is right
  // The period in which all certificates, CRLs and documents used are valid.
  std::optional<Timestamp> valid_from;
  std::optional<Timestamp> valid_until;

  std::vector<Check> checks;
  std::vector<MatchedReference> matched;     // reference values; empty until all have passed
  std::vector<std::string> not_constrained;  // policy members that constrain nothing
  std::optional<Digest> anchor;
  bool anchor_is_intel = false;
  std::optional<Digest> collateral;
};

// Returns nullopt for accepted evidence, else "NAME" or "NAME:parameter".
[[nodiscard]] std::optional<std::string> error_code(const AppraisalResult& result);

// Returns
// {"verdict","error","type","tcb":{..},"measurements":{..},"platform":{..},"checks":[..],..}.
// Members that are not known are null or empty, never left out.
[[nodiscard]] Json to_json(const AppraisalResult& result);

}  // namespace assay::attestation::tdx
