// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/simulator.h"

#include <utility>

#include "attestation/simulate/faults.h"
#include "attestation/simulate/simulation.h"
#include "attestation/tdx/tcb_status.h"

namespace assay::attestation {
namespace {

constexpr std::string_view kRelaunch = "TDRelaunchAdvised";

class TdxSimulator final : public Simulator {
 public:
  TdxSimulator(SimulatorOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  [[nodiscard]] std::string_view name() const override { return "simulate"; }
  [[nodiscard]] std::string_view type() const override { return kTdxEvidence; }

  [[nodiscard]] Result<Bytes> quote(const ReportDataBytes& report_data) override {
    return made(report_data).quote;
  }
  [[nodiscard]] Result<Bytes> event_log() override { return made({}).event_log; }
  [[nodiscard]] Result<Json> collateral() override { return to_json(made({}).collateral); }
  [[nodiscard]] Bytes root() const override { return made({}).root; }

 private:
  [[nodiscard]] tdx::Simulation made(const ReportDataBytes& report_data) const {
    tdx::SimulationSpec spec = specification();
    spec.quote.report.report_data = report_data;
    const tdx::Fault* fault = tdx::find_fault(options_.fault);
    return fault == nullptr ? tdx::simulate(spec) : tdx::simulate(std::move(spec), *fault);
  }

  [[nodiscard]] tdx::SimulationSpec specification() const {
    const Timestamp now = clock_.now();
    tdx::SimulationSpec spec = options_.quote_version == 5
                                   ? tdx::valid_simulation_v5(options_.seed, now)
                                   : tdx::valid_simulation(options_.seed, now);
    // The platform is at the newest level, so this is its status, unless the module is older than
    // the one that is loaded now.
    std::string status = options_.tcb_status;
    if (status.starts_with(kRelaunch)) {
      spec.quote.report.tee_tcb_svn[0] -= 1;
      status = status == kRelaunch ? "UpToDate" : "ConfigurationNeeded";
    }
    Json& level = spec.tcb_info["tcbLevels"][0];
    if (level["tcbStatus"] != status) {
      level["tcbStatus"] = status;
      level["advisoryIDs"] = {"INTEL-SA-00001"};
    }
    spec.platform.ppid = options_.platform.value_or(spec.platform.ppid);
    return spec;
  }

  SimulatorOptions options_;
  const Clock& clock_;
};

}  // namespace

std::vector<std::string> simulated_statuses() {
  std::vector<std::string> names;
  const auto count = std::to_underlying(tdx::TcbStatus::kTdRelaunchAdvisedConfigurationNeeded) + 1;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(name(static_cast<tdx::TcbStatus>(i)));
  }
  return names;
}

Result<std::unique_ptr<Simulator>> make_simulator(SimulatorOptions options, const Clock& clock) {
  if (options.seed.empty() || options.seed.size() > kMaxSimulatorSeedBytes) {
    return fail(ErrorCode::kInvalidParameter, "a simulator's seed has 1 to 4096 bytes");
  }
  const auto status = tdx::tcb_status_from(options.tcb_status);
  const bool relaunch = options.tcb_status.starts_with(kRelaunch) && options.quote_version == 5;
  if (!status || (!tdx::is_platform_status(*status) && !relaunch)) {
    return fail(ErrorCode::kInvalidParameter,
                "platforms do not have this TCB status, or only quotes of version 5 show it");
  }
  if (!options.fault.empty() && tdx::find_fault(options.fault) == nullptr) {
    return fail(ErrorCode::kInvalidParameter,
                "the simulator has no fault of this name; 'assay evidence faults' lists them");
  }
  if (options.quote_version != 4 && options.quote_version != 5) {
    return fail(ErrorCode::kInvalidParameter, "quotes have version 4 or 5");
  }
  return std::make_unique<TdxSimulator>(std::move(options), clock);
}

}  // namespace assay::attestation
