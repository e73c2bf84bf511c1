// SPDX-License-Identifier: Apache-2.0
// What verification of TDX evidence found: verdict, error, TCB, measurements, and every check with
// the values it compared.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/tcb_evaluate.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx {

enum class CheckOutcome : std::uint8_t {
  kPass,
  kFail,
  kNotConstrained,  // the policy or the caller asked for nothing; the result says so
};
// "pass", "fail", "not-constrained".
[[nodiscard]] std::string_view name(CheckOutcome outcome);

struct Check {
  std::string_view id;    // stable, kebab-case; a string literal
  std::string_view spec;  // where the check is specified; a string literal
  CheckOutcome outcome = CheckOutcome::kPass;
  std::string expected;
  std::string actual;
};

// Which machine: from the PCK certificate, once its chain is verified.
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
  std::optional<Failure> failure;  // exactly when not accepted
  // REPORTDATA was compared with an expected value: the evidence answers a challenge or binds a
  // key. Accepted evidence without it is genuine, of unknown age.
  bool report_data_bound = false;

  // Present once the steps that establish them have passed; what is absent is not known.
  std::optional<TcbEvaluation> tcb;
  std::vector<Shortfall> shortfalls;
  std::optional<TdReport> report;  // after the quote's signature
  std::optional<PlatformIdentity> platform;
  std::optional<std::uint16_t> quote_version;
  std::optional<BodyType> body_type;
  // Of the authenticated TCB info: which platform family it is about, and how new it is.
  std::optional<std::array<std::uint8_t, 6>> tcb_info_fmspc;
  std::optional<std::uint32_t> tcb_evaluation_number;
  std::optional<std::uint32_t> qe_evaluation_number;
  // When all certificates, CRLs and documents used are valid together.
  std::optional<Timestamp> valid_from;
  std::optional<Timestamp> valid_until;

  std::vector<Check> checks;
  std::vector<std::string> not_constrained;  // policy members that are empty lists
  std::optional<Digest> anchor;
  bool anchor_is_intel = false;
  std::optional<Digest> collateral;
};

// Null for accepted evidence, else "NAME" or "NAME:parameter".
[[nodiscard]] std::optional<std::string> error_code(const AppraisalResult& result);

// {"verdict","error","type","tcb":{..},"measurements":{..},"platform":{..},"checks":[..],..};
// members that are not known are null or empty, never left out.
[[nodiscard]] Json to_json(const AppraisalResult& result);

}  // namespace assay::attestation::tdx
