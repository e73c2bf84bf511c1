// SPDX-License-Identifier: Apache-2.0
// assay evidence, for SEV-SNP: is this report genuine and good enough, and making one for tests.
#include "cli/verbs/evidence_snp.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "attestation/simulate/pki.h"
#include "attestation/simulate/snp_faults.h"
#include "attestation/simulate/snp_simulator.h"
#include "attestation/snp/attach.h"
#include "attestation/snp/azure_report.h"
#include "attestation/snp/verify.h"
#include "attestation/verifiers/snp_verifier.h"
#include "cli/verbs/evidence.h"
#include "client/files.h"
#include "schemas/core/sha.h"

namespace assay::cli {
namespace {

namespace snp = attestation::snp;

constexpr std::size_t kMaxCertificateFile = 64U << 10;
constexpr std::size_t kMaxRootFile = 64U << 10;

// --- text

void print_snp_field(std::string_view field, const std::string& value) {
  std::string line(field);
  line.resize(std::max<std::size_t>(line.size() + 1, 19), ' ');
  print_line(line + value);
}

void print_snp_verdict(const snp::AppraisalResult& result) {
  if (result.accepted) {
    print_line("accepted");
    return;
  }
  const snp::Failure& failure = *result.failure;
  print_line("rejected: " + code(failure) + ": " + std::string(meaning(failure.error)));
  if (!failure.expected.empty()) {
    print_snp_field("  expected", failure.expected);
  }
  if (!failure.actual.empty()) {
    print_snp_field("  actual", failure.actual);
  }
}

std::string tcb_text(const snp::Tcb& tcb, snp::Generation generation) {
  std::string text;
  for (const auto& [part, member] : snp::kTcbParts) {
    if (snp::has_part(generation, part)) {
      text += (text.empty() ? "" : ", ") + std::string(part) + " " + std::to_string(tcb.*member);
    }
  }
  return text;
}

void print_snp_tcb(const snp::AppraisalResult& result) {
  if (result.tcb_status) {
    print_snp_field("TCB", std::string(name(*result.tcb_status)) +
                               (*result.tcb_status == snp::TcbStatus::kUnrated
                                    ? ": the policy has no minimum for this generation"
                                    : ""));
  }
  if (result.tcbs) {
    print_snp_field("  reported", tcb_text(result.tcbs->reported, *result.generation));
    print_snp_field("  committed", tcb_text(result.tcbs->committed, *result.generation));
    print_snp_field("  launch", tcb_text(result.tcbs->launch, *result.generation));
  }
}

void print_snp_origin(const snp::AppraisalResult& result) {
  if (result.report && result.leaf) {
    const bool hidden = result.report->chip_id == snp::ChipId{};
    print_snp_field("machine",
                    std::string(product(*result.generation)) + ", signed by a " +
                        std::string(name(result.report->signing_key)) +
                        (result.leaf->provider.empty() ? "" : " of " + result.leaf->provider));
    print_snp_field(hidden ? "guest" : "chip", hex_encode(snp::platform_of(*result.report)) +
                                                   (hidden ? " (the host hides the chip)" : ""));
  }
  if (result.anchor) {
    print_snp_field("root", result.anchor_is_amd ? "AMD's"
                                                 : result.anchor->text() +
                                                       ", not AMD's: perhaps no hardware at all");
  }
  if (result.valid_from && result.valid_until) {
    print_snp_field("valid",
                    to_rfc3339(*result.valid_from) + " to " + to_rfc3339(*result.valid_until));
  }
}

void print_snp_guest(const snp::AppraisalResult& result) {
  if (!result.report) {
    return;
  }
  for (std::size_t i = 0; i < snp::kReferenceCount; ++i) {
    const auto reference = static_cast<snp::Reference>(i);
    print_snp_field(name(reference), hex_encode(value_of(*result.report, reference)));
  }
  print_snp_field("report data", hex_encode(result.report->report_data));
  print_snp_field("VMPL", std::to_string(result.report->vmpl));
}

void print_snp_result(const Context& context, const snp::AppraisalResult& result) {
  if (context.json()) {
    print_json(to_json(result));
    return;
  }
  print_snp_verdict(result);
  print_snp_tcb(result);
  print_snp_origin(result);
  print_snp_guest(result);
  if (result.accepted) {
    std::string open;
    for (const std::string& item : result.not_constrained) {
      open += (open.empty() ? "" : ", ") + item;
    }
    if (!open.empty()) {
      print_snp_field("not constrained", open);
    }
    if (!result.report_data_bound) {
      print_line(
          "Report data was not compared: the evidence may be old, and answers nobody's "
          "challenge.");
    }
  }
  Table table({"CHECK", "OUTCOME", "SPECIFIED IN"});
  for (const snp::Check& check : result.checks) {
    table.row({std::string(check.id), std::string(name(check.outcome)), std::string(check.spec)});
  }
  print_table(context, table);
}

// --- inputs

Result<std::vector<snp::TrustAnchor>> read_snp_roots(const std::string& path,
                                                     const std::vector<Bytes>& more) {
  std::vector<snp::TrustAnchor> anchors;
  if (!path.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, kMaxRootFile));
    ASSAY_ASSIGN(snp::TrustAnchor anchor, snp::TrustAnchor::from_bytes(bytes));
    anchors.push_back(std::move(anchor));
  } else {
    for (const snp::Generation generation : snp::kGenerations) {
      anchors.push_back(snp::amd_root(generation));
    }
  }
  for (const Bytes& der : more) {
    ASSAY_ASSIGN(snp::TrustAnchor anchor, snp::TrustAnchor::from_bytes(der));
    anchors.push_back(std::move(anchor));
  }
  return anchors;
}

Result<snp::Collateral> read_snp_collateral(const std::string& path, const Json& endorsed,
                                            const snp::AppraisalPolicy& policy) {
  if (!endorsed.is_null()) {
    return snp::collateral_from_json(endorsed);
  }
  if (!path.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, snp::kMaxCollateralBytes));
    return snp::parse_collateral(bytes);
  }
  if (policy.dangerous_allow_missing_crl) {
    return snp::Collateral{};
  }
  return fail(ErrorCode::kCollateralMissing,
              "Without the CRL of AMD's root a revoked CA is not noticed; give --collateral FILE");
}

struct SnpInput {
  Bytes evidence;
  snp::ReportDataExpectation expected = snp::ReportDataExpectation::not_requested();
};

Result<SnpInput> with_certificates(const SnpVerifyOptions& options, SnpInput input) {
  if (!options.certificate.empty()) {
    ASSAY_ASSIGN(const Bytes file, client::read_file(options.certificate, kMaxCertificateFile));
    ASSAY_ASSIGN(input.evidence, snp::attach_certificates(input.evidence, file));
  }
  return input;
}

// Of Azure's form, the report names the runtime data, and these hold what the guest asked for.
Result<SnpInput> read_report(const SnpVerifyOptions& options) {
  ASSAY_ASSIGN(Bytes file, client::read_file(options.report));
  SnpInput input;
  std::optional<ReportDataBytes> wanted;
  if (!options.report_data.empty()) {
    ASSAY_ASSIGN(wanted, parse_report_data(options.report_data));
    input.expected = snp::ReportDataExpectation::exactly(*wanted);
  }
  if (!snp::is_azure_report(file)) {
    input.evidence = std::move(file);
    return with_certificates(options, std::move(input));
  }
  ASSAY_ASSIGN(const snp::AzureReport azure, snp::parse_azure_report(file));
  if (wanted && *wanted == azure.user_data) {
    input.expected = snp::ReportDataExpectation::exactly(azure.report_data);
  }
  input.evidence.assign(azure.report.begin(), azure.report.end());
  return with_certificates(options, std::move(input));
}

// --- simulate

class StandingClock final : public Clock {
 public:
  explicit StandingClock(Timestamp now) : now_(now) {}
  [[nodiscard]] Timestamp now() const override { return now_; }

 private:
  Timestamp now_;
};

Result<attestation::SnpSimulatorOptions> machine_of(const SnpSimulateOptions& options) {
  attestation::SnpSimulatorOptions machine;
  ASSAY_ASSIGN(machine.seed, client::read_file(options.seed, attestation::kMaxSimulatorSeedBytes));
  machine.generation = snp::generation_from(options.generation).value_or(snp::Generation::kMilan);
  machine.signing_key =
      options.signing_key == "vlek" ? snp::SigningKey::kVlek : snp::SigningKey::kVcek;
  if (!options.platform.empty()) {
    const auto bytes = hex_decode(lower_case(options.platform));
    snp::ChipId chip{};
    if (!bytes || bytes->size() != chip.size()) {
      return fail(ErrorCode::kUsage, "A chip id is 128 hex digits");
    }
    std::ranges::copy(*bytes, chip.begin());
    machine.chip = chip;
  }
  return machine;
}

// The measurements and versions of simulated machines of this seed, as a policy names them.
Result<Json> policy_for(const Bytes& evidence) {
  const auto claimed = snp::claimed(evidence);
  const auto tcbs = claimed && claimed->generation
                        ? snp::decode_tcbs(claimed->report, *claimed->generation)
                        : std::unexpected(snp::Failure{});
  if (!tcbs) {
    return fail(ErrorCode::kInternal, "The simulator made a report that does not parse");
  }
  const Json tcb = snp::to_json(tcbs->reported, *claimed->generation);
  return Json{{"reference_values", {{"measurement", {hex_encode(claimed->report.measurement)}}}},
              {"min_tcb", {{std::string(name(*claimed->generation)), {{"reported", tcb}}}}}};
}

Status write_snp_simulation(const SnpSimulateOptions& options, const Bytes& evidence,
                            const Json& collateral, const Bytes& root) {
  if (!options.out_quote.empty()) {
    ASSAY_TRY(client::write_file(options.out_quote, ByteView(evidence)));
  }
  if (!options.out_collateral.empty()) {
    ASSAY_TRY(client::write_file(options.out_collateral, collateral.dump(2) + "\n"));
  }
  if (!options.out_root.empty()) {
    ASSAY_TRY(client::write_file(options.out_root, attestation::tdx::to_pem(root)));
  }
  return {};
}

}  // namespace

Result<Exit> verify_snp(const Context& context, const SnpVerifyOptions& options) {
  ASSAY_ASSIGN(const SnpInput input, read_report(options));
  ASSAY_ASSIGN(const Endorsed endorsed,
               read_endorsed(context, options.endorsed, kSnpEvidence, input.evidence,
                             options.collateral, options.policy, options.at));
  ASSAY_ASSIGN(const snp::AppraisalPolicy policy, attestation::snp_policy_of(endorsed.appraisal));
  ASSAY_ASSIGN(const auto anchors, read_snp_roots(options.root, endorsed.roots));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const snp::Collateral collateral,
               read_snp_collateral(options.collateral, endorsed.collateral, policy));
  const snp::AppraisalResult result =
      snp::verify(input.evidence, collateral, anchors, {now, input.expected, policy});
  print_snp_result(context, result);
  return result.accepted ? Exit::kYes : Exit::kNo;
}

Result<Exit> simulate_snp(const Context& context, const SnpSimulateOptions& options) {
  ReportDataBytes report_data{};
  if (!options.report_data.empty()) {
    ASSAY_ASSIGN(report_data, parse_report_data(options.report_data));
  }
  ASSAY_ASSIGN(attestation::SnpSimulatorOptions machine, machine_of(options));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  const StandingClock clock(now);
  // The machine does not depend on what is wrong with its evidence.
  ASSAY_ASSIGN(const auto sound, attestation::make_snp_simulator(machine, clock));
  ASSAY_ASSIGN(const Bytes sound_evidence, sound->quote(report_data));
  machine.fault = options.fault;
  ASSAY_ASSIGN(const auto simulator, attestation::make_snp_simulator(std::move(machine), clock));
  ASSAY_ASSIGN(const Bytes evidence, simulator->quote(report_data));
  ASSAY_ASSIGN(const Json collateral, simulator->collateral());
  const Bytes root = sound->root();
  ASSAY_ASSIGN(const std::string platform, sound->platform());
  ASSAY_ASSIGN(Json policy, policy_for(sound_evidence));
  ASSAY_TRY(write_snp_simulation(options, evidence, collateral, root));
  if (context.json()) {
    print_json({{"root", sha256(root).text()},
                {"dangerous_anchor", base64_encode(root)},
                {"platform", platform},
                {"reference_values", policy.at("reference_values")},
                {"min_tcb", policy.at("min_tcb")}});
    return Exit::kYes;
  }
  print_line("root " + sha256(root).text());
  print_line("platform " + platform);
  message(context, "Simulated: accepted only where this root is configured as a dangerous anchor");
  return Exit::kYes;
}

Exit list_snp_faults(const Context& context) {
  if (context.json()) {
    Json faults = Json::array();
    for (const snp::SnpFault& fault : snp::snp_faults()) {
      faults.push_back({{"name", fault.name},
                        {"error", fault.error},
                        {"needs", fault.needs.empty() ? Json(nullptr) : Json(fault.needs)}});
    }
    Json without = Json::array();
    for (const snp::SnpErrorWithoutFault& one : snp::snp_errors_without_fault()) {
      without.push_back({{"error", name(one.error)}, {"reason", one.reason}});
    }
    print_json({{"faults", std::move(faults)}, {"errors_without_fault", std::move(without)}});
    return Exit::kYes;
  }
  Table table({"fault", "error", "refused"});
  for (const snp::SnpFault& fault : snp::snp_faults()) {
    table.row({std::string(fault.name), std::string(fault.error),
               fault.needs.empty() ? "always" : "by " + std::string(fault.needs)});
  }
  print_table(context, table);
  for (const snp::SnpErrorWithoutFault& one : snp::snp_errors_without_fault()) {
    message(context,
            "No fault has " + std::string(name(one.error)) + ": " + std::string(one.reason));
  }
  return Exit::kYes;
}

}  // namespace assay::cli
