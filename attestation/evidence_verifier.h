// SPDX-License-Identifier: Apache-2.0
// The interface of what appraises evidence (schemas/evidence.h) of one type, and its result. The
// result depends only on the evidence, the Appraisal (schemas/trust.h: policy and anchors, which
// are the accepted root certificates), the time and the expected report data. verifier_registry.h
// has the verifiers of all types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/anchor.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "schemas/device_state.h"
#include "schemas/evidence.h"
#include "schemas/measured_boot.h"
#include "schemas/trust.h"

namespace assay::attestation {

// A number that never decreases from one appraisal to the next. With a higher one, evidence that
// was appraised under a lower one is stale.
struct HighWater {
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

// One of several parts of composite evidence, such as a device beside the CPU. All of them are
// bound to the same report data.
struct EvidencePart {
  std::string name;  // kebab-case, unique in the evidence: "gpu-0"
  Trustworthiness trustworthiness;
  Json measurements = Json::object();
  bool operator==(const EvidencePart&) const = default;
};

// The result of an appraisal.
struct AppraisedEvidence {
  std::string type;  // type of the evidence
  bool accepted = false;
  std::string error;  // code of the evidence type, such as QUOTE_SIGNATURE; empty when accepted
  std::string tcb_status;         // "UpToDate" and so on; empty when not established
  std::string platform;           // id of the machine in lowercase hex; empty when not established
  std::optional<Anchor> anchor;   // root certificate, or plug-in
  bool anchor_is_vendor = false;  // true: the hardware vendor's production root
  bool has_reference_values = false;     // true: the policy constrains the software's measurements
  std::optional<Timestamp> valid_until;  // end of validity of all collateral and certificates
  std::optional<Digest> collateral;
  // What of the verifier itself can move on (attestation/plugin/plugin_verifier.h). Collateral has
  // marks of its own (attestation/collateral_set.h).
  std::vector<HighWater> high_water;
  Trustworthiness trustworthiness;
  std::vector<EvidencePart> parts;  // of composite evidence, in the order of their names
  // Accepted evidence: by measurement, the names of the sources of the reference values that
  // matched: "appraisal" for the policy's own, or the name of an imported set. A measurement that
  // is not constrained is not in it.
  std::map<std::string, std::vector<std::string>> matched;
  std::optional<MeasuredBoot> boot;   // present when the evidence has a log that was accepted
  std::optional<DeviceState> device;  // of accepted evidence of a device
  Json result;                        // all details, for people and records
};

enum class Purpose : std::uint8_t {
  kInspect,  // only to report what the evidence shows
  kEnrol,    // to enrol a node: without reference values the evidence is refused
             // (REFERENCE_VALUES_MISSING), unless `appraisal` waives them
  kStage,    // for a statement (schemas/stage_evidence.h), with the same demand
  kDevice,   // to enrol a device beside evidence of its node
};

// What verifies evidence of one type: built in, or a plug-in
// (attestation/plugin/plugin_verifier.h). Thread-safe. A verifier keeps nothing of an appraisal
// that could change a later one.
class EvidenceVerifier {
 public:
  virtual ~EvidenceVerifier() = default;

  // Returns the type of evidence that it verifies, such as "tdx"; kebab-case.
  [[nodiscard]] virtual std::string_view type() const = 0;
  // Returns the media type of that evidence. It speaks for no other one.
  [[nodiscard]] virtual std::string_view media_type() const = 0;
  // Returns the plug-in that it is; nullopt when it is built in.
  [[nodiscard]] virtual std::optional<Anchor> plugin() const { return std::nullopt; }

  // Appraises `evidence`, which is of this type. Refused evidence is a result, not an Error: an
  // Error says that the verifier could not decide. Callers treat it as a refusal. May take seconds
  // in a plug-in. Errors: collateral-missing; schema-violation for the policy or the collateral;
  // unsupported-key or invalid-encoding for an anchor; verifier-failed and unavailable of a
  // plug-in.
  [[nodiscard]] virtual Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                           const Appraisal& appraisal,
                                                           Purpose purpose,
                                                           const ReportDataBytes& expected,
                                                           Timestamp now) const = 0;

  // Returns the appraisal policy that is in force where none was chosen.
  [[nodiscard]] virtual Json default_policy() const { return Json::object(); }

  // Checks that an appraisal can be used: its policy and its anchors must parse.
  [[nodiscard]] virtual Status check(const Appraisal& appraisal) const = 0;
};

// Returns true when evidence of this type is about one device of a node, not about the node.
[[nodiscard]] bool is_of_device(std::string_view type);

// Checks devices that were accepted for one node against each other: no one is there twice, and
// those of a board that protects only as a whole are all there. Returns the error code of the
// evidence type; empty: they go together.
[[nodiscard]] std::string fault_of_devices(std::span<const DeviceState> devices);

}  // namespace assay::attestation
