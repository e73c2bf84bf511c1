// SPDX-License-Identifier: Apache-2.0
// Sources of evidence about a node.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/evidence.h"

namespace assay::attestation {

class EvidenceProvider {
 public:
  virtual ~EvidenceProvider() = default;

  // Returns the name of the provider: "configfs-tsm", "simulate".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns the type of the evidence: "tdx".
  [[nodiscard]] virtual std::string_view type() const = 0;

  // Obtains new evidence of this machine that contains `report_data`. This may take a second.
  // Errors: evidence-unavailable when the machine cannot produce evidence.
  [[nodiscard]] virtual Result<Bytes> quote(const ReportDataBytes& report_data) = 0;

  // Returns the collateral (the vendor's signed statements about the platform) for the evidence,
  // valid now. A null value means that the verifier must already have the collateral.
  [[nodiscard]] virtual Result<Json> collateral() = 0;

  // Returns the log of what firmware, boot loader and kernel measured since this machine started,
  // without padding; empty where the machine has none, or this process may not read it. Errors:
  // evidence-unavailable for a log that is malformed or longer than kMaxEventLogBytes.
  [[nodiscard]] virtual Result<Bytes> event_log() = 0;

  // Returns the platform that evidence of this machine names: the PPID in lowercase hex, as in
  // AppraisedEvidence (evidence_verifier.h). No signature is verified. The default implementation
  // reads the platform from a quote whose report data is zero. Errors: evidence-unavailable.
  [[nodiscard]] virtual Result<std::string> platform();
};

// Calls quote(), event_log() and collateral(), and returns the three in the form that documents
// contain.
[[nodiscard]] Result<Evidence> collect_evidence(EvidenceProvider& provider,
                                                const ReportDataBytes& report_data);

}  // namespace assay::attestation
