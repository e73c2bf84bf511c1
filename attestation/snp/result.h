// SPDX-License-Identifier: Apache-2.0
// The result of verifying SEV-SNP evidence: verdict, error, TCB, measurements, and every check with
// the values that it compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/appraisal/checks.h"
#include "attestation/snp/error.h"
#include "attestation/snp/guest_checks.h"
#include "attestation/snp/reference_values.h"
#include "attestation/snp/report.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"

namespace assay::attestation::snp {

using appraisal::Check;
using appraisal::CheckOutcome;

// Whether the TCB is new enough. AMD signs no list of levels, so that only the policy's minimums
// tell.
enum class TcbStatus : std::uint8_t {
  kUpToDate,   // at or above the minimums of the policy
  kOutOfDate,  // a part is below
  kUnrated,    // the policy has no minimum for this generation
};
// Returns "UpToDate", "OutOfDate" or "Unrated".
[[nodiscard]] std::string_view name(TcbStatus status);

struct AppraisalResult {
  bool accepted = false;
  std::optional<Failure> failure;  // present exactly when not accepted
  // True when REPORT_DATA was equal to an expected value. Accepted evidence without this comparison
  // is genuine, but its age is unknown.
  bool report_data_bound = false;

  // The members below are present when the steps that establish them have passed.
  std::optional<std::uint32_t> report_version;
  std::optional<Generation> generation;
  std::optional<Report> report;  // present after the report's signature verified
  std::optional<ReportTcbs> tcbs;
  std::optional<TcbStatus> tcb_status;
  std::optional<LeafExtensions> leaf;      // after the signatures of its chain were verified
  std::optional<Digest> leaf_certificate;  // SHA-256 of its DER
  std::optional<Timestamp> valid_from;     // all certificates and the CRL are valid
  std::optional<Timestamp> valid_until;

  std::vector<Check> checks;
  std::vector<MatchedReference> matched;     // reference values; empty until all have passed
  std::vector<std::string> not_constrained;  // policy members that constrain nothing
  std::optional<Digest> anchor;
  bool anchor_is_amd = false;
  std::optional<Digest> collateral;
};

// Returns nullopt for accepted evidence, else "NAME" or "NAME:parameter".
[[nodiscard]] std::optional<std::string> error_code(const AppraisalResult& result);

// Returns what identifies the machine: the chip id, or the guest's REPORT_ID where the host hides
// the chip.
[[nodiscard]] ByteView platform_of(const Report& report);

// Returns
// {"verdict","error","type","tcb":{..},"measurements":{..},"platform":{..},"checks":[..],..}.
// Members that are not known are null or empty, never left out.
[[nodiscard]] Json to_json(const AppraisalResult& result);

}  // namespace assay::attestation::snp
