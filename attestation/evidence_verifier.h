// SPDX-License-Identifier: Apache-2.0
// Appraisal of evidence of any known type, independent of the source of the evidence. A pure
// function of evidence, appraisal (policy and anchors), time and expected report data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "schemas/evidence.h"
#include "schemas/trust.h"

namespace assay::attestation {

// A number that must never decrease from one appraisal to the next. An example is the evaluation
// number of the collateral for one platform family.
struct HighWater {
  // "tdx/tcb-info/<fmspc>" or "tdx/qe-identity". Under an anchor that is not the vendor's:
  // "tdx/<anchor>/tcb-info/<fmspc>" and so on. A simulator therefore cannot make real collateral
  // look old.
  std::string name;
  std::uint64_t value;
  bool operator==(const HighWater&) const = default;
};

// Trust in each aspect (draft-ietf-rats-ar4si, section 2.3). 0: no claim; from 2: affirming; from
// 32: warning; from 96: contraindicated. Accepted evidence has no contraindicated aspect.
struct Trustworthiness {
  std::int16_t instance_identity = 0;
  std::int16_t configuration = 0;
  std::int16_t executables = 0;
  std::int16_t hardware = 0;
  std::int16_t runtime_opaque = 0;
  bool operator==(const Trustworthiness&) const = default;
};

// The result of an appraisal.
struct AppraisedEvidence {
  std::string type;  // type of the evidence
  bool accepted = false;
  std::string error;  // code of the evidence type, such as QUOTE_SIGNATURE; empty when accepted
  std::string tcb_status;         // "UpToDate" and so on; empty when not established
  std::string platform;           // id of the machine in lowercase hex; empty when not established
  std::optional<Digest> anchor;   // SHA-256 of the root certificate
  bool anchor_is_vendor = false;  // true: the hardware vendor's production root
  bool has_reference_values = false;     // the policy constrains the measurements of the software
  std::optional<Timestamp> valid_until;  // end of validity of the endorsements used
  std::optional<Digest> collateral;
  // Of authenticated collateral. Also set for refused evidence, because its collateral may be
  // genuine.
  std::vector<HighWater> high_water;
  Trustworthiness trustworthiness;
  Json result;  // all details, for people and records
};

enum class Purpose : std::uint8_t {
  kInspect,  // reports what the evidence shows
  kEnrol,    // reference values are needed (REFERENCE_VALUES_MISSING) unless `appraisal` waives it
};

// Appraises `evidence`. Refused evidence is a result, not an Error. Errors: evidence-type-unknown;
// collateral-missing; schema-violation for the policy or the collateral; unsupported-key or
// invalid-encoding for an anchor.
[[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                 const Appraisal& appraisal, Purpose purpose,
                                                 const ReportDataBytes& expected, Timestamp now);

// Returns `own`, the collateral of some evidence, with those parts taken from `newest` that the
// high-water mark `mark` is about. Endorsements age, but the platform they describe stays the same.
// Returns `own` unchanged when `own` or `newest` is not an object, or when `mark` is about no part.
// Errors: evidence-type-unknown.
[[nodiscard]] Result<Json> refreshed(std::string_view evidence_type, Json own,
                                     std::string_view mark, const Json& newest);

// Returns the default appraisal of a type: the vendor's anchor and the default policy. Errors:
// evidence-type-unknown.
[[nodiscard]] Result<Appraisal> default_appraisal(std::string_view evidence_type);

// Checks that an appraisal can be used. An unknown type is an error, and so are a policy or anchors
// that do not parse.
[[nodiscard]] Status check(const Appraisal& appraisal);

}  // namespace assay::attestation
