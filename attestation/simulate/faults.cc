// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/faults.h"

#include <algorithm>
#include <array>
#include <vector>

#include "attestation/simulate/fault_tables.h"

namespace assay::attestation::tdx {
namespace {

constexpr auto kWithoutFault = std::to_array<ErrorWithoutFault>({
    {TdxError::kReferenceValuesMissing, "it is about the policy, before there is evidence"},
});

}  // namespace

std::span<const Fault> faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> joined;
    for (const auto table :
         {quote_faults(), chain_faults(), collateral_faults(), machine_faults()}) {
      joined.insert(joined.end(), table.begin(), table.end());
    }
    return joined;
  }();
  return all;
}

const Fault* find_fault(std::string_view name) {
  const auto all = faults();
  const auto found = std::ranges::find(all, name, &Fault::name);
  return found == all.end() ? nullptr : &*found;
}

std::span<const ErrorWithoutFault> errors_without_fault() { return kWithoutFault; }

Simulation simulate(SimulationSpec spec, const Fault& fault) {
  if (fault.spec != nullptr) {
    fault.spec(spec);
  }
  Simulation simulation = simulate(spec);
  if (fault.quote != nullptr) {
    fault.quote(simulation.quote);
  }
  if (fault.collateral != nullptr) {
    fault.collateral(simulation.collateral);
  }
  if (fault.event_log != nullptr) {
    fault.event_log(simulation.event_log);
  }
  if (fault.made != nullptr) {
    fault.made(spec, simulation);
  }
  return simulation;
}

SimulationSpec foreign(const SimulationSpec& spec) {
  Bytes seed = spec.seed;
  seed.push_back(0);
  return valid_simulation(seed, spec.root_crl.this_update);
}

void change_last_byte(std::string& hex) {
  Bytes bytes = hex_decode(hex).value();
  bytes.back() ^= 1U;
  hex = hex_encode(bytes);
}

}  // namespace assay::attestation::tdx
