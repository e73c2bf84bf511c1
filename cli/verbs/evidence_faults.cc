// SPDX-License-Identifier: Apache-2.0
// assay evidence faults: what 'evidence simulate --fault' can make wrong, and what comes of it.
#include <memory>
#include <string>

#include "attestation/simulate/faults.h"
#include "attestation/simulate/simulator.h"
#include "cli/output.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/evidence_nvidia.h"
#include "cli/verbs/evidence_snp.h"

namespace assay::cli {

namespace {

using attestation::tdx::ErrorWithoutFault;
using attestation::tdx::Fault;

Exit list_as_json() {
  Json faults = Json::array();
  for (const Fault& fault : attestation::tdx::faults()) {
    faults.push_back({{"name", fault.name},
                      {"error", fault.error},
                      {"needs", fault.needs.empty() ? Json(nullptr) : Json(fault.needs)}});
  }
  Json without = Json::array();
  for (const ErrorWithoutFault& one : attestation::tdx::errors_without_fault()) {
    without.push_back({{"error", name(one.error)}, {"reason", one.reason}});
  }
  print_json({{"faults", std::move(faults)},
              {"errors_without_fault", std::move(without)},
              {"tcb_statuses", attestation::simulated_statuses()}});
  return Exit::kYes;
}

Exit list(const Context& context) {
  if (context.json()) {
    return list_as_json();
  }
  Table table({"fault", "error", "refused"});
  for (const Fault& fault : attestation::tdx::faults()) {
    table.row({std::string(fault.name), std::string(fault.error),
               fault.needs.empty() ? "always" : "by " + std::string(fault.needs)});
  }
  print_table(context, table);
  for (const ErrorWithoutFault& one : attestation::tdx::errors_without_fault()) {
    message(context,
            "No fault has " + std::string(name(one.error)) + ": " + std::string(one.reason));
  }
  return Exit::kYes;
}

}  // namespace

void add_evidence_faults(const Command& group, Context& context) {
  auto type = std::make_shared<std::string>(kTdxEvidence);
  const Command verb = group.add("faults", "List what can be wrong with simulated evidence");
  verb.note(
      "The names are values of --fault of 'evidence simulate'. The evidence is refused with the\n"
      "error: always, or where an appraisal policy has the member that is named, or where the\n"
      "verifier asks for report data.");
  verb.example("assay evidence faults", "find the fault for an error that you want to see");
  verb.choice("--type", *type, {"tdx", "sev-snp", std::string(kNvidiaEvidence)},
              "of which evidence (default tdx)");
  verb.action([&context, type] {
    if (*type == kNvidiaEvidence) {
      return Result<Exit>(list_nvidia_faults(context));
    }
    return Result<Exit>(*type == kSnpEvidence ? list_snp_faults(context) : list(context));
  });
}

}  // namespace assay::cli
