// SPDX-License-Identifier: Apache-2.0
// Appraisal of evidence of any known type: what a service needs of it, whatever made it. A pure
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

// A number that must never go back from one appraisal to the next, such as the evaluation number of
// the collateral for one platform family.
struct HighWater {
  // "tdx/tcb-info/<fmspc>", "tdx/qe-identity"; under an anchor that is not the vendor's
  // "tdx/<anchor>/tcb-info/<fmspc>" and so on, so that a simulator cannot age real collateral.
  std::string name;
  std::uint64_t value;
  bool operator==(const HighWater&) const = default;
};

// How far each aspect can be trusted (draft-ietf-rats-ar4si, section 2.3): 0 no claim, from 2
// affirming, from 32 warning, from 96 contraindicated. Accepted evidence has no contraindicated
// aspect.
struct Trustworthiness {
  std::int16_t instance_identity = 0;
  std::int16_t configuration = 0;
  std::int16_t executables = 0;
  std::int16_t hardware = 0;
  std::int16_t runtime_opaque = 0;
  bool operator==(const Trustworthiness&) const = default;
};

struct AppraisedEvidence {
  std::string type;  // of the evidence
  bool accepted = false;
  std::string error;       // code of the evidence type when not accepted, such as QUOTE_SIGNATURE
  std::string tcb_status;  // "UpToDate" ...; empty when it was not established
  std::string platform;    // lowercase hex; which machine; empty when it was not established
  std::optional<Digest> anchor;          // SHA-256 of the root certificate
  bool anchor_is_vendor = false;         // the hardware vendor's production root
  bool has_reference_values = false;     // the measurements that say what runs are constrained
  std::optional<Timestamp> valid_until;  // of the endorsements used
  std::optional<Digest> collateral;
  // Of authenticated collateral; also of refused evidence, whose collateral may be genuine.
  std::vector<HighWater> high_water;
  Trustworthiness trustworthiness;
  Json result;  // everything, for people and records
};

enum class Purpose : std::uint8_t {
  kInspect,  // says what is there
  kEnrol,    // reference values are needed (REFERENCE_VALUES_MISSING) unless `appraisal` waives it
};

// Evidence that is refused is a result; an Error means that there is nothing to appraise:
// evidence-type-unknown, collateral-missing, schema-violation (policy or collateral),
// unsupported-key or invalid-encoding (an anchor).
[[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                 const Appraisal& appraisal, Purpose purpose,
                                                 const ReportDataBytes& expected, Timestamp now);

// Collateral of evidence, `own`, with those parts of `newest` that the mark is about: endorsements
// age, what they are about stays. As `own` when `newest` has nothing of use. evidence-type-unknown.
[[nodiscard]] Result<Json> refreshed(std::string_view evidence_type, Json own,
                                     std::string_view mark, const Json& newest);

// The default appraisal of a type: the vendor's anchor and default policy; evidence-type-unknown.
[[nodiscard]] Result<Appraisal> default_appraisal(std::string_view evidence_type);

// Refuses an appraisal that could not be used: unknown type, policy or anchors that do not parse.
[[nodiscard]] Status check(const Appraisal& appraisal);

}  // namespace assay::attestation
