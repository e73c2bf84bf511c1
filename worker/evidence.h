// SPDX-License-Identifier: Apache-2.0
// The source of the node agent's evidence (schemas/evidence.h): the machine that runs the agent,
// the simulator, a program, or none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/evidence.h"
#include "schemas/report_data.h"

namespace assay::worker {

struct EvidenceOptions {
  std::string kind = "tdx";    // or "sev-snp", "simulate", "simulate-snp", "command", "ear", "none"
  std::string simulator_seed;  // file
  std::string simulator_platform;  // hex
  std::string collateral;          // file
  std::string command{};           // path of a program (command_evidence.h, outside_result.h)
  std::string type{};              // of the evidence of "command"
  std::string certificate{};       // file: of the key of "sev-snp", where the host gives none
};

// What evidence is bound to.
struct EvidenceBinding {
  ReportDataBytes report_data;
  // What the report data are made of. Absent for evidence of a stage, which answers no challenge.
  std::optional<ReportDataParts> parts{};
};

class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;

  // Returns the id of the machine as enrolments name it, in lowercase hex. Empty for a source
  // without evidence. Errors: evidence-unavailable.
  [[nodiscard]] virtual Result<std::string> platform() = 0;
  // Collects evidence that is bound to `binding`. Returns nullopt from a source without evidence.
  // Errors: evidence-unavailable.
  [[nodiscard]] virtual Result<std::optional<Evidence>> collect(const EvidenceBinding& binding) = 0;
};

// Makes the source. `clock` and `random` must outlive it. Errors: usage for options that do not fit
// together; those of reading the files; evidence-unavailable when this machine cannot give
// evidence.
[[nodiscard]] Result<std::unique_ptr<EvidenceSource>> make_evidence_source(
    Clock& clock, Random& random, const EvidenceOptions& options);

}  // namespace assay::worker
