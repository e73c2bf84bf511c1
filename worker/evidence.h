// SPDX-License-Identifier: Apache-2.0
// Where the node agent gets evidence from: the machine it runs on, the simulator, or nowhere.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/evidence.h"

namespace assay::worker {

struct EvidenceOptions {
  std::string kind = "tdx";        // or "simulate", "none"
  std::string simulator_seed;      // file
  std::string simulator_platform;  // hex
  std::string collateral;          // file
};

class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;

  // Which machine it is, as enrolments name it: lowercase hex, empty without evidence.
  // evidence-unavailable.
  [[nodiscard]] virtual Result<std::string> platform() = 0;
  // Evidence that binds `data`; nothing from a source without evidence. evidence-unavailable.
  [[nodiscard]] virtual Result<std::optional<Evidence>> collect(const ReportDataBytes& data) = 0;
};

// `clock` and `random` must outlive the source. usage for options that do not fit together; errors
// of the files; evidence-unavailable when this machine cannot give any.
[[nodiscard]] Result<std::unique_ptr<EvidenceSource>> make_evidence_source(
    Clock& clock, Random& random, const EvidenceOptions& options);

}  // namespace assay::worker
