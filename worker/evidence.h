// SPDX-License-Identifier: Apache-2.0
// Where the node agent gets evidence from: the machine it runs on, the simulator, or nowhere.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "schemas/evidence.h"

namespace assay::cli {

struct WorkerEvidenceFlags {
  std::string kind = "tdx";
  std::string simulator_seed;      // file
  std::string simulator_platform;  // hex
  std::string collateral;          // file
};

// --evidence, --simulator-seed, --simulator-platform, --collateral.
void add_evidence_options(const Command& verb, WorkerEvidenceFlags& flags);

class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;

  // Which machine it is, as enrolments name it: lowercase hex, empty without evidence.
  // evidence-unavailable.
  [[nodiscard]] virtual Result<std::string> platform() = 0;
  // Evidence that binds `data`; nothing from a source without evidence. evidence-unavailable.
  [[nodiscard]] virtual Result<std::optional<Evidence>> collect(const ReportDataBytes& data) = 0;
};

// `context` must outlive the source. usage for flags that do not fit together; errors of the files;
// evidence-unavailable when this machine cannot give any.
[[nodiscard]] Result<std::unique_ptr<EvidenceSource>> make_evidence_source(
    const Context& context, const WorkerEvidenceFlags& flags);

}  // namespace assay::cli
