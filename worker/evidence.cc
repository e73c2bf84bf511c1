// SPDX-License-Identifier: Apache-2.0
#include "worker/evidence.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attestation/provider/configfs_tsm.h"
#include "attestation/simulate/simulator.h"
#include "attestation/simulate/snp_simulator.h"
#include "attestation/snp/attach.h"
#include "attestation/snp/collateral.h"
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
  ProviderEvidence(std::unique_ptr<EvidenceProvider> provider, const EvidenceOptions& options)
      : provider_(std::move(provider)),
        collateral_file_(options.collateral),
        certificate_file_(options.certificate) {}

  [[nodiscard]] Result<std::string> platform() override {
    if (platform_.empty()) {  // a machine stays the one it is, and asking takes a quote
      ASSAY_ASSIGN(platform_, provider_->platform());
    }
    return platform_;
  }

  [[nodiscard]] Result<std::optional<Evidence>> collect(const EvidenceBinding& binding) override {
    ASSAY_ASSIGN(Evidence evidence, attestation::collect_evidence(*provider_, binding.report_data));
    // Files are read each time: somebody refreshes them while the agent runs.
    if (!collateral_file_.empty()) {
      ASSAY_ASSIGN(evidence.collateral, read_collateral(evidence.type));
    }
    if (!certificate_file_.empty()) {
      ASSAY_ASSIGN(const Bytes file, client::read_file(certificate_file_, 64U << 10));
      ASSAY_ASSIGN(evidence.quote, attestation::snp::attach_certificates(evidence.quote, file));
    }
    return evidence;
  }

 private:
  // Only the members that are evidence: bundles from elsewhere may have more.
  [[nodiscard]] Result<Json> read_collateral(std::string_view type) const {
    ASSAY_ASSIGN(const Bytes text,
                 client::read_file(collateral_file_, kMaxEvidenceCollateralBytes));
    if (type == kSnpEvidence) {
      ASSAY_ASSIGN(const auto collateral, attestation::snp::parse_collateral(text));
      return attestation::snp::to_json(collateral);
    }
    ASSAY_ASSIGN(const auto collateral, attestation::tdx::parse_collateral(ByteView(text)));
    return attestation::tdx::to_json(collateral);
  }

  std::unique_ptr<EvidenceProvider> provider_;
  std::string collateral_file_;
  std::string certificate_file_;
  std::string platform_;
};

// PPID or chip id of a simulated machine; the seed's own when none is named.
template <std::size_t N>
Result<std::optional<std::array<std::uint8_t, N>>> read_platform(const std::string& hex) {
  if (hex.empty()) {
    return std::nullopt;
  }
  std::array<std::uint8_t, N> platform{};
  const auto bytes = hex_decode(hex);
  if (!bytes || bytes->size() != platform.size()) {
    return fail(ErrorCode::kUsage,
                "A simulated platform has " + std::to_string(2 * N) + " hex digits", hex);
  }
  std::ranges::copy(*bytes, platform.begin());
  return platform;
}

Result<std::unique_ptr<EvidenceProvider>> make_simulated(Clock& clock,
                                                         const EvidenceOptions& options) {
  if (options.simulator_seed.empty()) {
    return fail(ErrorCode::kUsage, "The simulator needs --simulator-seed");
  }
  ASSAY_ASSIGN(Bytes seed,
               client::read_file(options.simulator_seed, attestation::kMaxSimulatorSeedBytes));
  if (options.kind == "simulate-snp") {
    attestation::SnpSimulatorOptions machine;
    machine.seed = std::move(seed);
    ASSAY_ASSIGN(machine.chip, read_platform<64>(options.simulator_platform));
    return attestation::make_snp_simulator(std::move(machine), clock);
  }
  attestation::SimulatorOptions machine;
  machine.seed = std::move(seed);
  ASSAY_ASSIGN(machine.platform, read_platform<16>(options.simulator_platform));
  return attestation::make_simulator(std::move(machine), clock);
}

bool is_simulated(const EvidenceOptions& options) { return options.kind.starts_with("simulate"); }

Result<std::unique_ptr<EvidenceProvider>> make_provider(Clock& clock, Random& random,
                                                        const EvidenceOptions& options) {
  if (is_simulated(options)) {
    return make_simulated(clock, options);
  }
  std::error_code error;
  if (!std::filesystem::is_directory(attestation::kTsmReportRoot, error)) {
    return fail(
        ErrorCode::kEvidenceUnavailable,
        "This machine is no TDX or SEV-SNP guest, or its kernel gives no reports: there is no " +
            std::string(attestation::kTsmReportRoot) +
            ". With --evidence none the worker is not measured");
  }
  attestation::ConfigfsTsmOptions machine;
  machine.type = options.kind;
  return attestation::make_configfs_tsm(random, std::move(machine));
}

}  // namespace

Result<std::unique_ptr<EvidenceSource>> make_evidence_source(Clock& clock, Random& random,
                                                             const EvidenceOptions& options) {
  if (!is_simulated(options) &&
      !(options.simulator_seed.empty() && options.simulator_platform.empty())) {
    return fail(
        ErrorCode::kUsage,
        "--simulator-seed and --simulator-platform go with --evidence simulate and simulate-snp");
  }
  if (options.kind != kSnpEvidence && !options.certificate.empty()) {
    return fail(ErrorCode::kUsage, "--certificate goes with --evidence sev-snp");
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
  return std::make_unique<ProviderEvidence>(std::move(provider), options);
}

}  // namespace assay::worker
