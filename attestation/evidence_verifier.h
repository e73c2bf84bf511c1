// SPDX-License-Identifier: Apache-2.0
// Appraises evidence (schemas/evidence.h) of any known type, whatever its source. The result
// depends only on the evidence, the Appraisal (schemas/trust.h: policy and anchors, which are the
// accepted root certificates), the time and the expected report data.
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
// number of the collateral (the vendor's signed statements about platforms) for one platform
// family.
struct HighWater {
  // "tdx/tcb-info/<fmspc>" or "tdx/qe-identity", under the vendor's anchor. With an anchor other
  // than the vendor's, the name contains the anchor: "tdx/<anchor>/tcb-info/<fmspc>". Collateral of
  // a simulator therefore cannot make real collateral look old.
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
  bool has_reference_values = false;     // true: the policy constrains the software's measurements
  std::optional<Timestamp> valid_until;  // end of validity of all collateral and certificates
  std::optional<Digest> collateral;
  // High-water numbers of the collateral, present when the collateral was authenticated. Refused
  // evidence may have them too, because its collateral may be genuine.
  std::vector<HighWater> high_water;
  Trustworthiness trustworthiness;
  Json result;  // all details, for people and records
};

enum class Purpose : std::uint8_t {
  kInspect,  // only to report what the evidence shows
  kEnrol,    // to enrol a node: without reference values the evidence is refused
             // (REFERENCE_VALUES_MISSING), unless `appraisal` waives them
  kStage,    // for a statement (schemas/stage_evidence.h), with the same demand
};

// Appraises `evidence`. Refused evidence is a result, not an Error. Errors: evidence-type-unknown;
// collateral-missing; schema-violation for the policy or the collateral; unsupported-key or
// invalid-encoding for an anchor.
[[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                 const Appraisal& appraisal, Purpose purpose,
                                                 const ReportDataBytes& expected, Timestamp now);

// Returns `own`, the collateral of some evidence, with newer parts: the parts that the high-water
// mark `mark` is about are taken from `newest`. Newer collateral may replace older collateral,
// because the platform that both describe stays the same. Returns `own` unchanged when `own` or
// `newest` is not an object, or when `mark` is about no part. Errors: evidence-type-unknown.
[[nodiscard]] Result<Json> refreshed(std::string_view evidence_type, Json own,
                                     std::string_view mark, const Json& newest);

// Returns the default appraisal of a type: the vendor's anchor and the default policy. Errors:
// evidence-type-unknown.
[[nodiscard]] Result<Appraisal> default_appraisal(std::string_view evidence_type);

// Checks that an appraisal can be used: its type must be known, and its policy and anchors must
// parse.
[[nodiscard]] Status check(const Appraisal& appraisal);

}  // namespace assay::attestation
