// SPDX-License-Identifier: Apache-2.0
// Checks of a verifier plug-in for its author: cases with known verdicts, and what must hold for
// each of them when the evidence or the report data changes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attestation/evidence_verifier.h"

namespace assay::attestation::plugin {

// Cases with expected verdicts. JSON: schemas/json/plugin-vectors.schema.json.
struct Vectors {
  struct Vector {
    std::string name;
    Evidence evidence;
    Appraisal appraisal;
    ReportDataBytes report_data{};
    Timestamp now{};
    Json expect;
  };
  std::string type;
  std::string media_type;
  std::vector<Vector> vectors;
};
// Errors: the JSON errors; those of validate(); invalid-encoding; invalid-time.
[[nodiscard]] Result<Vectors> parse_vectors(ByteView document);

struct ConformanceCheck {
  std::string vector;
  std::string
      check;  // "verdict", "repeated", "report-data", "empty", "truncated", "extended", "flipped"
  bool passed = false;
  std::string detail;  // empty when passed
};

// Runs all checks. For each vector: the verdict is the expected one, and the same again. For each
// vector that is expected to be accepted, as well: evidence that is empty, shorter, longer, or has
// another bit, and evidence for other report data, is rejected; it never leads to an error, with
// which a node could end the process of the verifier.
[[nodiscard]] std::vector<ConformanceCheck> check_conformance(const EvidenceVerifier& verifier,
                                                              const Vectors& vectors);

}  // namespace assay::attestation::plugin
