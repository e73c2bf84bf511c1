// SPDX-License-Identifier: Apache-2.0
// The verbs of "evidence" for SEV-SNP.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/verbs/evidence_endorsed.h"

namespace assay::cli {

// Options of "evidence verify", by the same names.
struct SnpVerifyOptions {
  std::string collateral;
  std::string certificate;
  std::string root;
  std::string at;
  std::string report_data;
  std::string policy;
  std::string report;
  EndorsedFlags endorsed;
};
[[nodiscard]] Result<Exit> verify_snp(const Context& context, const SnpVerifyOptions& options);

// Options of "evidence simulate", by the same names.
struct SnpSimulateOptions {
  std::string seed;
  std::string report_data;
  std::string fault;
  std::string platform;
  std::string generation;
  std::string signing_key;
  std::string at;
  std::string out_quote;
  std::string out_collateral;
  std::string out_root;
};
[[nodiscard]] Result<Exit> simulate_snp(const Context& context, const SnpSimulateOptions& options);

// Prints the faults of simulated SEV-SNP evidence.
[[nodiscard]] Exit list_snp_faults(const Context& context);

}  // namespace assay::cli
