// SPDX-License-Identifier: Apache-2.0
#include "worker/evidence.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attestation/provider/configfs_tsm.h"
#include "attestation/simulate/simulator.h"
#include "attestation/tdx/collateral.h"
#include "client/files.h"
#include "worker/command_evidence.h"
#include "worker/outside_result.h"

namespace assay::worker {

namespace {

using attestation::EvidenceProvider;

class NoEvidence final : public EvidenceSource {
 public:
  [[nodiscard]] Result<std::string> platform() override { return std::string(); }
  [[nodiscard]] Result<std::optional<Evidence>> collect(const EvidenceBinding&) override {
    return std::nullopt;
  }
};

class ProviderEvidence final : public EvidenceSource {
 public:
  ProviderEvidence(std::unique_ptr<EvidenceProvider> provider, std::string collateral_file)
      : provider_(std::move(provider)), collateral_file_(std::move(collateral_file)) {}

  [[nodiscard]] Result<std::string> platform() override {
    if (platform_.empty()) {  // a machine stays the one it is, and asking takes a quote
      ASSAY_ASSIGN(platform_, provider_->platform());
    }
    return platform_;
  }

  [[nodiscard]] Result<std::optional<Evidence>> collect(const EvidenceBinding& binding) override {
    ASSAY_ASSIGN(Evidence evidence, attestation::collect_evidence(*provider_, binding.report_data));
    if (!collateral_file_.empty()) {
      // Read each time: somebody refreshes it while the agent runs.
      ASSAY_ASSIGN(const Bytes text,
                   client::read_file(collateral_file_, kMaxEvidenceCollateralBytes));
      // Only the members that are evidence: bundles from elsewhere may have more.
      ASSAY_ASSIGN(const auto collateral, attestation::tdx::parse_collateral(ByteView(text)));
      evidence.collateral = attestation::tdx::to_json(collateral);
    }
    return evidence;
  }

 private:
  std::unique_ptr<EvidenceProvider> provider_;
  std::string collateral_file_;
  std::string platform_;
};

// PPID of a simulated machine; the seed's own when none is named.
Result<std::optional<std::array<std::uint8_t, 16>>> read_platform(const std::string& hex) {
  if (hex.empty()) {
    return std::nullopt;
  }
  std::array<std::uint8_t, 16> platform{};
  const auto bytes = hex_decode(hex);
  if (!bytes || bytes->size() != platform.size()) {
    return fail(ErrorCode::kUsage, "A simulated platform has 32 hex digits", hex);
  }
  std::ranges::copy(*bytes, platform.begin());
  return platform;
}

Result<std::unique_ptr<EvidenceProvider>> make_provider(Clock& clock, Random& random,
                                                        const EvidenceOptions& options) {
  if (options.kind == "simulate") {
    if (options.simulator_seed.empty()) {
      return fail(ErrorCode::kUsage, "The simulator needs --simulator-seed");
    }
    attestation::SimulatorOptions machine;
    ASSAY_ASSIGN(machine.seed,
                 client::read_file(options.simulator_seed, attestation::kMaxSimulatorSeedBytes));
    ASSAY_ASSIGN(machine.platform, read_platform(options.simulator_platform));
    return attestation::make_simulator(std::move(machine), clock);
  }
  std::error_code error;
  if (!std::filesystem::is_directory(attestation::kTsmReportRoot, error)) {
    return fail(ErrorCode::kEvidenceUnavailable,
                "This machine is no TDX guest, or its kernel gives no reports: there is no " +
                    std::string(attestation::kTsmReportRoot) +
                    ". With --evidence none the worker is not measured");
  }
  return attestation::make_configfs_tsm(random);
}

}  // namespace

Result<std::unique_ptr<EvidenceSource>> make_evidence_source(Clock& clock, Random& random,
                                                             const EvidenceOptions& options) {
  if (options.kind != "simulate" &&
      !(options.simulator_seed.empty() && options.simulator_platform.empty())) {
    return fail(ErrorCode::kUsage,
                "--simulator-seed and --simulator-platform go with --evidence simulate");
  }
  if (options.kind != "command" && options.kind != "ear" && !options.command.empty()) {
    return fail(ErrorCode::kUsage, "--evidence-command goes with --evidence command and ear");
  }
  if (options.kind != "command" && !options.type.empty()) {
    return fail(ErrorCode::kUsage, "--evidence-type goes with --evidence command");
  }
  if (options.kind == "command") {
    return make_command_evidence(options);
  }
  if (options.kind == "ear") {
    return make_outside_result(options);
  }
  if (options.kind == "none") {
    return std::make_unique<NoEvidence>();
  }
  ASSAY_ASSIGN(std::unique_ptr<EvidenceProvider> provider, make_provider(clock, random, options));
  return std::make_unique<ProviderEvidence>(std::move(provider), options.collateral);
}

}  // namespace assay::worker
