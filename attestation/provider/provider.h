// SPDX-License-Identifier: Apache-2.0
// Where a node gets evidence about itself.
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

  // Of the provider: "configfs-tsm", "simulate".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Of the evidence: "tdx".
  [[nodiscard]] virtual std::string_view type() const = 0;

  // Evidence of this machine, now, over `report_data`. May take a second. evidence-unavailable when
  // the machine gives none.
  [[nodiscard]] virtual Result<Bytes> quote(const ReportDataBytes& report_data) = 0;

  // The collateral that belongs to it, valid now; null where somebody else has to bring it.
  [[nodiscard]] virtual Result<Json> collateral() = 0;

  // Which platform the evidence will name, as appraisals do: lowercase hex of the PPID. Nothing is
  // verified. The default takes a quote over zeros to find out. evidence-unavailable.
  [[nodiscard]] virtual Result<std::string> platform();
};

// Quote and collateral as documents carry them.
[[nodiscard]] Result<Evidence> collect_evidence(EvidenceProvider& provider,
                                                const ReportDataBytes& report_data);

}  // namespace assay::attestation
