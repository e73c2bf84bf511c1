// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/snp_simulator.h"

#include <algorithm>
#include <utility>

#include "attestation/simulate/snp_faults.h"
#include "attestation/simulate/snp_simulation.h"
#include "attestation/snp/result.h"
#include "schemas/evidence.h"

namespace assay::attestation {
namespace {

class SnpSimulator final : public Simulator {
 public:
  SnpSimulator(SnpSimulatorOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  [[nodiscard]] std::string_view name() const override { return "simulate"; }
  [[nodiscard]] std::string_view type() const override { return kSnpEvidence; }

  [[nodiscard]] Result<Bytes> quote(const ReportDataBytes& report_data) override {
    return made(report_data).evidence;
  }
  [[nodiscard]] Result<Bytes> event_log() override { return Bytes(); }
  [[nodiscard]] Result<Json> collateral() override {
    const snp::Collateral collateral = made({}).collateral;
    return collateral.crl.empty() ? Json(nullptr) : to_json(collateral);
  }
  [[nodiscard]] Result<std::string> platform() override {
    return plugin_platform(kSnpEvidence, snp::platform_of(specification().report));
  }
  [[nodiscard]] Bytes root() const override { return made({}).root; }

 private:
  [[nodiscard]] snp::SnpSimulation made(const ReportDataBytes& report_data) const {
    snp::SnpSimulationSpec spec = specification();
    spec.report.report_data = report_data;
    const snp::SnpFault* fault = snp::find_snp_fault(options_.fault);
    return fault == nullptr ? snp::simulate(spec) : snp::simulate(std::move(spec), *fault);
  }

  [[nodiscard]] snp::SnpSimulationSpec specification() const {
    snp::SnpSimulationSpec spec = snp::valid_snp_simulation(
        options_.seed, clock_.now(), options_.generation, options_.signing_key);
    if (options_.chip && options_.signing_key == snp::SigningKey::kVcek) {
      spec.report.chip_id = *options_.chip;
      std::copy_n(options_.chip->begin(), spec.leaf_chip_id.size(), spec.leaf_chip_id.begin());
    }
    return spec;
  }

  SnpSimulatorOptions options_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<Simulator>> make_snp_simulator(SnpSimulatorOptions options,
                                                      const Clock& clock) {
  if (options.seed.empty() || options.seed.size() > kMaxSimulatorSeedBytes) {
    return fail(ErrorCode::kInvalidParameter, "a simulator's seed has 1 to 4096 bytes");
  }
  if (!options.fault.empty() && snp::find_snp_fault(options.fault) == nullptr) {
    return fail(ErrorCode::kInvalidParameter,
                "the simulator has no fault of this name; 'assay evidence faults' lists them");
  }
  return std::make_unique<SnpSimulator>(std::move(options), clock);
}

}  // namespace assay::attestation
