// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/simulator.h"

#include <utility>

#include "attestation/simulate/simulation.h"
#include "attestation/tdx/tcb_status.h"

namespace assay::attestation {
namespace {

class TdxSimulator final : public Simulator {
 public:
  TdxSimulator(SimulatorOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  [[nodiscard]] std::string_view name() const override { return "simulate"; }
  [[nodiscard]] std::string_view type() const override { return kTdxEvidence; }

  [[nodiscard]] Result<Bytes> quote(const ReportDataBytes& report_data) override {
    tdx::SimulationSpec spec = specification();
    spec.quote.report.report_data = report_data;
    return tdx::make_quote(spec.quote, spec.seed, tdx::make_pck_chain(spec));
  }

  [[nodiscard]] Result<Bytes> event_log() override {
    return tdx::make_event_log(specification().event_log);
  }

  [[nodiscard]] Result<Json> collateral() override {
    return to_json(tdx::simulate(specification()).collateral);
  }

  [[nodiscard]] Bytes root() const override { return tdx::simulate(specification()).root; }

 private:
  [[nodiscard]] tdx::SimulationSpec specification() const {
    const Timestamp now = clock_.now();
    tdx::SimulationSpec spec = options_.quote_version == 5
                                   ? tdx::valid_simulation_v5(options_.seed, now)
                                   : tdx::valid_simulation(options_.seed, now);
    // The platform is at the newest level, so this is its status.
    Json& level = spec.tcb_info["tcbLevels"][0];
    if (level["tcbStatus"] != options_.tcb_status) {
      level["tcbStatus"] = options_.tcb_status;
      level["advisoryIDs"] = {"INTEL-SA-00001"};
    }
    spec.platform.ppid = options_.platform.value_or(spec.platform.ppid);
    return spec;
  }

  SimulatorOptions options_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<Simulator>> make_simulator(SimulatorOptions options, const Clock& clock) {
  if (options.seed.empty() || options.seed.size() > kMaxSimulatorSeedBytes) {
    return fail(ErrorCode::kInvalidParameter, "a simulator's seed has 1 to 4096 bytes");
  }
  const auto status = tdx::tcb_status_from(options.tcb_status);
  if (!status || !tdx::is_platform_status(*status)) {
    return fail(ErrorCode::kInvalidParameter, "platforms do not have this TCB status");
  }
  if (options.quote_version != 4 && options.quote_version != 5) {
    return fail(ErrorCode::kInvalidParameter, "quotes have version 4 or 5");
  }
  return std::make_unique<TdxSimulator>(std::move(options), clock);
}

}  // namespace assay::attestation
