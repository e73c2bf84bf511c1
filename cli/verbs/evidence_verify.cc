// SPDX-License-Identifier: Apache-2.0
// assay evidence verify: is this evidence genuine, and good enough. Quotes of TDX are judged here.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attestation/tdx/verify.h"
#include "attestation/tdx_evidence.h"
#include "cli/output.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/evidence_composite.h"
#include "cli/verbs/evidence_endorsed.h"
#include "cli/verbs/evidence_nvidia.h"
#include "cli/verbs/evidence_snp.h"
#include "client/files.h"

namespace assay::cli {

namespace {

namespace tdx = attestation::tdx;

struct VerifyOptions {
  std::string type = "tdx";
  std::vector<std::string> collaterals;
  std::vector<std::string> policies;
  // One at most, where the type is not composite.
  std::string collateral{};
  std::string certificate;
  std::string root;
  std::string at;
  std::string report_data;
  std::string event_log;
  std::string policy{};
  std::string quote;
  EndorsedFlags endorsed;
};

// --- text

void print_field(std::string_view field, const std::string& value) {
  std::string line(field);
  line.resize(std::max<std::size_t>(line.size() + 1, 17), ' ');
  print_line(line + value);
}

std::string join(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ", ") + item;
  }
  return text;
}

void print_verdict(const tdx::AppraisalResult& result) {
  if (result.accepted) {
    print_line("accepted");
    return;
  }
  const tdx::Failure& failure = *result.failure;
  print_line("rejected: " + code(failure) + ": " + std::string(meaning(failure.error)));
  if (!failure.expected.empty()) {
    print_field("  expected", failure.expected);
  }
  if (!failure.actual.empty()) {
    print_field("  actual", failure.actual);
  }
}

void print_tcb(const tdx::AppraisalResult& result) {
  if (result.tcb) {
    const tdx::TcbEvaluation& tcb = *result.tcb;
    print_field("TCB", std::string(name(tcb.status)) + " (platform " +
                           std::string(name(tcb.platform)) +
                           (tcb.module ? ", module " + std::string(name(*tcb.module)) : "") +
                           ", quoting enclave " + std::string(name(tcb.qe)) + "), as of " +
                           to_rfc3339(tcb.date));
    if (!tcb.advisories.empty()) {
      print_field("  advisories", join(tcb.advisories));
    }
  }
  for (const tdx::Shortfall& shortfall : result.shortfalls) {
    print_field("  too low", words(shortfall));
  }
}

void print_origin(const tdx::AppraisalResult& result) {
  if (result.platform) {
    print_field("platform", "FMSPC " + hex_encode(result.platform->fmspc) + ", PPID " +
                                hex_encode(result.platform->ppid) + ", " + result.platform->pck_ca);
  }
  if (result.anchor) {
    print_field("root", result.anchor_is_intel
                            ? "Intel's"
                            : result.anchor->text() + ", not Intel's: perhaps no hardware at all");
  }
  if (result.valid_from && result.valid_until) {
    print_field("valid", to_rfc3339(*result.valid_from) + " to " + to_rfc3339(*result.valid_until));
  }
}

void print_measurements(const tdx::AppraisalResult& result) {
  if (!result.report) {
    return;
  }
  for (const auto reference :
       {tdx::Reference::kMrtd, tdx::Reference::kRtmr0, tdx::Reference::kRtmr1,
        tdx::Reference::kRtmr2, tdx::Reference::kRtmr3, tdx::Reference::kMrseam}) {
    print_field(name(reference), hex_encode(value_of(*result.report, reference)));
  }
  print_field("report data", hex_encode(result.report->report_data));
}

void print_booted(std::string_view field,
                  const std::optional<std::vector<tdx::Measurement>>& digests) {
  if (!digests) {
    print_field(field, "more than " + std::to_string(tdx::kMaxBooted));
    return;
  }
  for (const tdx::Measurement& digest : *digests) {
    print_field(field, hex_encode(digest));
  }
}

// The text of a command line comes from the machine, so that it may hold anything.
void print_command_lines(const std::optional<std::vector<std::string>>& lines) {
  if (!lines) {
    print_field("  command line", "more than " + std::to_string(tdx::kMaxBooted));
    return;
  }
  for (const std::string& line : *lines) {
    print_field("  command line", printable(line));
  }
}

void print_boot(const tdx::AppraisalResult& result) {
  if (!result.event_log) {
    return;
  }
  const tdx::ReplayedLog& log = *result.event_log;
  print_field("event log", std::to_string(log.events) + " events lead to rtmr0, rtmr1 and rtmr2" +
                               (log.explains_rtmr3 ? ", and to rtmr3" : "; rtmr3 is unexplained"));
  const tdx::BootFacts& boot = log.boot;
  print_field("  secure boot", !log.measured.secure_boot
                                   ? "not in the log"
                                   : (*log.measured.secure_boot ? "on" : "off"));
  print_booted("  image", boot.applications);
  print_booted("  kernel", boot.kernels);
  print_command_lines(boot.command_lines);
  print_booted("  load options", boot.load_options);
  print_booted("  initrd", boot.initrds);
}

void print_caveats(const tdx::AppraisalResult& result) {
  if (!result.accepted) {
    return;
  }
  if (!result.not_constrained.empty()) {
    print_field("not constrained", join(result.not_constrained));
  }
  if (!result.report_data_bound) {
    print_line(
        "Report data was not compared: the evidence may be old, and answers nobody's "
        "challenge.");
  }
}

void print_checks(const Context& context, const tdx::AppraisalResult& result) {
  Table table({"CHECK", "OUTCOME", "SPECIFIED IN"});
  for (const tdx::Check& check : result.checks) {
    table.row({std::string(check.id), std::string(name(check.outcome)), std::string(check.spec)});
  }
  print_table(context, table);
}

void print_result(const Context& context, const tdx::AppraisalResult& result) {
  if (context.json()) {
    print_json(to_json(result));
    return;
  }
  print_verdict(result);
  print_tcb(result);
  print_origin(result);
  print_measurements(result);
  print_boot(result);
  print_caveats(result);
  print_checks(context, result);
}

// --- inputs

// The vendor's root or the one named in its place, and those of a bundle.
Result<std::vector<tdx::TrustAnchor>> read_roots(const std::string& path,
                                                 const std::vector<Bytes>& more) {
  std::vector<tdx::TrustAnchor> anchors;
  if (path.empty()) {
    anchors.push_back(tdx::intel_root());
  } else {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
    ASSAY_ASSIGN(tdx::TrustAnchor anchor, tdx::TrustAnchor::from_bytes(bytes));
    anchors.push_back(std::move(anchor));
  }
  for (const Bytes& der : more) {
    ASSAY_ASSIGN(tdx::TrustAnchor anchor, tdx::TrustAnchor::from_der(der));
    anchors.push_back(std::move(anchor));
  }
  return anchors;
}

Result<tdx::Collateral> read_collateral(const std::string& path, const Json& endorsed) {
  if (!endorsed.is_null()) {
    return tdx::collateral_from_json(endorsed);
  }
  if (path.empty()) {
    return fail(ErrorCode::kCollateralMissing,
                "Without collateral nothing is known about the platform; give --collateral FILE");
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  return tdx::parse_collateral(bytes);
}

// A file without a byte must not count as no log.
Result<Bytes> read_event_log(const std::string& path) {
  if (path.empty()) {
    return Bytes();
  }
  ASSAY_ASSIGN(Bytes bytes, client::read_file(path));
  if (bytes.empty()) {
    return fail(ErrorCode::kUsage, "The event log " + path + " is empty");
  }
  return bytes;
}

Result<tdx::ReportDataExpectation> read_expectation(const std::string& hex) {
  if (hex.empty()) {
    return tdx::ReportDataExpectation::not_requested();
  }
  ASSAY_ASSIGN(const ReportDataBytes value, parse_report_data(hex));
  return tdx::ReportDataExpectation::exactly(value);
}

Result<Exit> verify(const Context& context, const VerifyOptions& options) {
  if (options.type == kSnpEvidence) {
    return options.event_log.empty()
               ? verify_snp(context,
                            {options.collateral, options.certificate, options.root, options.at,
                             options.report_data, options.policy, options.quote, options.endorsed})
               : fail(ErrorCode::kUsage, "--event-log is for --type tdx");
  }
  if (!options.certificate.empty()) {
    return fail(ErrorCode::kUsage, "--certificate is for --type sev-snp");
  }
  ASSAY_ASSIGN(const Bytes quote, client::read_file(options.quote));
  ASSAY_ASSIGN(const Endorsed endorsed,
               read_endorsed(context, options.endorsed, options.type, quote, options.collateral,
                             options.policy, options.at));
  ASSAY_ASSIGN(const tdx::AppraisalPolicy policy, attestation::tdx_policy_of(endorsed.appraisal));
  ASSAY_ASSIGN(const auto anchors, read_roots(options.root, endorsed.roots));
  ASSAY_ASSIGN(const auto expectation, read_expectation(options.report_data));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const tdx::Collateral collateral,
               read_collateral(options.collateral, endorsed.collateral));
  ASSAY_ASSIGN(const Bytes event_log, read_event_log(options.event_log));
  const tdx::AppraisalResult result =
      tdx::verify(quote, collateral, anchors, {now, expectation, policy, event_log});
  print_result(context, result);
  return result.accepted ? Exit::kYes : Exit::kNo;
}

// The value of an option that only evidence of several types has several times.
Result<std::string> only_value(const std::vector<std::string>& values, const std::string& option) {
  if (values.size() > 1) {
    return fail(ErrorCode::kUsage, option + " is given several times for --type composite alone");
  }
  return values.empty() ? std::string() : values.front();
}

Result<Exit> verify_enrolment(const Context& context, const VerifyOptions& options,
                              const NvidiaVerifyOptions& nvidia) {
  const bool others = !options.certificate.empty() || !options.event_log.empty() ||
                      !options.report_data.empty() || !options.root.empty() ||
                      !nvidia.rims.empty() || !nvidia.answers.empty() || !nvidia.rim_root.empty();
  if (others) {
    return fail(ErrorCode::kUsage,
                "--type composite takes --collateral, --endorsements with --operators, --policy, "
                "--nonce and --at "
                "alone");
  }
  return verify_composite(context, {options.quote, options.collaterals, options.policies,
                                    options.at, nvidia.nonce, options.endorsed});
}

Result<Exit> verify_type(const Context& context, VerifyOptions options,
                         const NvidiaVerifyOptions& nvidia) {
  if (options.type == "composite") {
    return verify_enrolment(context, options, nvidia);
  }
  ASSAY_ASSIGN(options.collateral, only_value(options.collaterals, "--collateral"));
  ASSAY_ASSIGN(options.policy, only_value(options.policies, "--policy"));
  if (options.type != kNvidiaEvidence) {
    return verify(context, options);
  }
  if (!options.certificate.empty() || !options.event_log.empty() || !options.report_data.empty()) {
    return fail(ErrorCode::kUsage,
                "--certificate, --event-log and --report-data are not for --type nvidia-gpu");
  }
  return verify_nvidia(context,
                       {options.quote, options.collateral, options.root, options.at, options.policy,
                        options.endorsed},
                       nvidia);
}

}  // namespace

void add_evidence_verify(const Command& group, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  const Command verb = group.add("verify", "Verify a quote or report offline, and appraise it");
  verb.argument("QUOTE", options->quote,
                "the quote or report as the machine gave it (binary); of devices a JSON list; an "
                "enrolment's envelope");
  verb.choice("--type", options->type,
              {"tdx", "sev-snp", std::string(kNvidiaEvidence), "composite"},
              "what kind of evidence it is (default tdx)");
  verb.option("--collateral", options->collaterals, "FILE",
              "JSON of TCB info, QE identity, CRLs and their chains; for sev-snp the CRL of AMD's "
              "root, as JSON or in DER; for nvidia-gpu JSON of RIMs and OCSP answers; composite: "
              "one for each type");
  add_endorsed_options(verb, options->endorsed);
  verb.option("--certificate", options->certificate, "FILE",
              "for sev-snp: certificate of the VCEK or VLEK, and its CAs if they are not AMD's "
              "(DER or PEM), for a report that comes without");
  verb.option("--root", options->root, "FILE",
              "trust this root (DER or PEM) in place of the vendor's");
  verb.option("--at", options->at, "TIME", "as of this time, RFC 3339 (default now)");
  verb.option("--report-data", options->report_data, "HEX",
              "64 bytes that the quote must carry: a challenge, or a bound key");
  verb.option("--event-log", options->event_log, "FILE",
              "event log of the guest: it must lead to the registers in the quote");
  verb.option(
      "--policy", options->policies, "FILE",
      "appraisal policy (JSON): statuses, reference values (default: UpToDate, no debugging); "
      "composite: appraisals, as 'assay trust show -o json' has them; several times");
  verb.note(
      "Exits with 1 when the evidence is rejected; the first check that fails says why. Without\n"
      "--report-data accepted evidence is genuine, but of unknown age.");
  verb.example(
      "assay evidence verify --type tdx --collateral collateral.json --report-data $HEX quote",
      "verify a quote that answers a challenge");
  verb.example("assay evidence verify --endorsements bundle.json --operators bootstrap.json quote",
               "verify a quote with the network off");
  verb.example(
      "assay evidence verify --type sev-snp --collateral milan.crl --certificate vcek.der report",
      "verify a report of SEV-SNP");
  verb.example(
      "assay evidence verify --collateral c.json --event-log /sys/firmware/acpi/tables/data/CCEL q",
      "see what the machine started: secure boot, kernel, command line, initial RAM disk");
  verb.example(
      "assay evidence verify --collateral c.json --root test.pem --at 2026-03-01T00:00:00Z -o json "
      "q",
      "judge as of a time, under another root, and print JSON");
  verb.example(
      "assay evidence verify --type composite --collateral tdx.json --collateral gpus.json "
      "--policy trust.json --nonce $HEX enrolment.json",
      "come to the service's verdict about a node and its devices, with the network off");
  const auto nvidia = add_nvidia_options(verb);
  verb.action([&context, options, nvidia] { return verify_type(context, *options, *nvidia); });
}

}  // namespace assay::cli
