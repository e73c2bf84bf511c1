// SPDX-License-Identifier: Apache-2.0
// assay evidence: what a machine says about itself, and making it for tests.
#include "cli/verbs/evidence.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "attestation/provider/configfs_tsm.h"
#include "attestation/simulate/pki.h"
#include "attestation/simulate/simulator.h"
#include "attestation/simulate/snp_simulator.h"
#include "attestation/tdx/appraisal_policy.h"
#include "attestation/tdx/collateral.h"
#include "cli/output.h"
#include "cli/verbs/evidence_nvidia.h"
#include "cli/verbs/evidence_snp.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/sha.h"
#include "schemas/trust.h"

namespace assay::cli {

namespace {

using attestation::EvidenceProvider;
using attestation::SimulatorOptions;

// Hex of either case.
Result<Bytes> decode_hex(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return hex_decode(lower);
}

template <std::size_t N>
Result<std::array<std::uint8_t, N>> decode_hex_array(std::string_view text,
                                                     const std::string& name) {
  const auto bytes = decode_hex(text);
  if (!bytes || bytes->size() != N) {
    return fail(ErrorCode::kUsage, name + " is " + std::to_string(2 * N) + " hex digits");
  }
  std::array<std::uint8_t, N> value{};
  std::ranges::copy(*bytes, value.begin());
  return value;
}

// Time as it was told, for a simulation that is to be the same again.
class FixedClock final : public Clock {
 public:
  explicit FixedClock(Timestamp now) : now_(now) {}
  [[nodiscard]] Timestamp now() const override { return now_; }

 private:
  Timestamp now_;
};

// --- simulate

struct SimulateOptions {
  std::string type{kTdxEvidence};
  std::string generation;
  std::string signing_key;
  std::string seed;
  std::string report_data;
  std::string tcb_status = "UpToDate";
  std::uint64_t quote_version = 4;
  std::string fault;
  std::string platform;
  std::string at;
  std::string out_quote;
  std::string out_event_log;
  std::string out_collateral;
  std::string out_root;
  std::shared_ptr<NvidiaSimulateOptions> nvidia;
  std::string out_appraisal;
};

// The measurements that simulated machines of this seed have, as a policy names them.
Result<Json> reference_values(const Bytes& quote) {
  const auto parsed = attestation::tdx::parse_quote(quote);
  if (!parsed) {
    return fail(ErrorCode::kInternal, "The simulator made a quote that does not parse");
  }
  Json values = Json::object();
  for (const auto reference :
       {attestation::tdx::Reference::kMrtd, attestation::tdx::Reference::kRtmr0,
        attestation::tdx::Reference::kRtmr1, attestation::tdx::Reference::kRtmr2}) {
    values[std::string(name(reference))] =
        Json::array({hex_encode(value_of(parsed->report, reference))});
  }
  return values;
}

struct SimulatedParts {
  Bytes quote;
  Bytes event_log;
  Json collateral;
  Bytes root;  // DER
};

bool writes_nothing(const SimulateOptions& options) {
  return options.out_quote.empty() && options.out_event_log.empty() &&
         options.out_collateral.empty() && options.out_root.empty() &&
         options.out_appraisal.empty();
}

Status write_simulation(const SimulateOptions& options, const SimulatedParts& parts) {
  if (!options.out_quote.empty()) {
    ASSAY_TRY(client::write_file(options.out_quote, ByteView(parts.quote)));
  }
  if (!options.out_event_log.empty()) {
    ASSAY_TRY(client::write_file(options.out_event_log, ByteView(parts.event_log)));
  }
  if (!options.out_collateral.empty()) {
    ASSAY_TRY(client::write_file(options.out_collateral, parts.collateral.dump(2) + "\n"));
  }
  if (!options.out_root.empty()) {
    ASSAY_TRY(client::write_file(options.out_root, attestation::tdx::to_pem(parts.root)));
  }
  return {};
}

Result<Exit> simulate_other(const Context& context, const SimulateOptions& options) {
  if (options.tcb_status != SimulateOptions().tcb_status ||
      options.quote_version != SimulateOptions().quote_version || !options.out_event_log.empty() ||
      !options.out_appraisal.empty()) {
    return fail(ErrorCode::kUsage,
                "--tcb-status, --quote-version, --out-event-log and --out-appraisal are for "
                "--type tdx");
  }
  return simulate_snp(context, {options.seed, options.report_data, options.fault, options.platform,
                                options.generation, options.signing_key, options.at,
                                options.out_quote, options.out_collateral, options.out_root});
}

// long-function: one statement for each file that is written.
Result<Exit> simulate(const Context& context, const SimulateOptions& options) {
  ReportDataBytes report_data{};
  if (!options.report_data.empty()) {
    ASSAY_ASSIGN(report_data, parse_report_data(options.report_data));
  }
  if (writes_nothing(options)) {
    return fail(ErrorCode::kUsage,
                "Give --out-quote, --out-event-log, --out-collateral, --out-root or "
                "--out-appraisal");
  }
  if (options.type == kSnpEvidence) {
    return simulate_other(context, options);
  }
  if (options.type == kNvidiaEvidence) {
    return simulate_nvidia(context, {options.seed, options.fault, options.at, options.out_quote,
                                     options.out_collateral, options.out_root, *options.nvidia});
  }
  if (!options.generation.empty() || !options.signing_key.empty()) {
    return fail(ErrorCode::kUsage, "--generation and --signing-key are for --type sev-snp");
  }
  SimulatorOptions machine;
  ASSAY_ASSIGN(machine.seed, client::read_file(options.seed, attestation::kMaxSimulatorSeedBytes));
  machine.tcb_status = options.tcb_status;
  machine.quote_version = options.quote_version;
  if (!options.platform.empty()) {
    ASSAY_ASSIGN(machine.platform, decode_hex_array<16>(options.platform, "A platform"));
  }
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  const FixedClock clock(now);
  // What the machine is does not depend on what is wrong with its evidence.
  ASSAY_ASSIGN(const auto sound, attestation::make_simulator(machine, clock));
  ASSAY_ASSIGN(const Bytes sound_quote, sound->quote(report_data));
  machine.fault = options.fault;
  ASSAY_ASSIGN(const auto simulator, attestation::make_simulator(std::move(machine), clock));
  SimulatedParts parts;
  ASSAY_ASSIGN(parts.quote, simulator->quote(report_data));
  ASSAY_ASSIGN(parts.event_log, simulator->event_log());
  ASSAY_ASSIGN(parts.collateral, simulator->collateral());
  parts.root = simulator->root();
  const Bytes& root = parts.root;
  ASSAY_ASSIGN(const std::string platform, sound->platform());
  ASSAY_ASSIGN(Json references, reference_values(sound_quote));
  ASSAY_TRY(write_simulation(options, parts));
  if (!options.out_appraisal.empty()) {
    const Json appraisal = {{"evidence_type", kTdxEvidence},
                            {"policy", {{"reference_values", references}}},
                            {"dangerous_anchors", {base64_encode(root)}}};
    ASSAY_TRY(appraisal_from_json(appraisal));
    ASSAY_TRY(client::write_file(options.out_appraisal, appraisal.dump(2) + "\n"));
  }
  if (context.json()) {
    print_json({{"root", sha256(root).text()},
                {"dangerous_anchor", base64_encode(root)},
                {"platform", platform},
                {"reference_values", std::move(references)}});
    return Exit::kYes;
  }
  print_line("root " + sha256(root).text());
  print_line("platform " + platform);
  message(context, "Simulated: accepted only where this root is configured as a dangerous anchor");
  return Exit::kYes;
}

// --- collect

struct CollectOptions {
  std::string type{kTdxEvidence};
  std::string provider = "auto";
  std::string report_data;
  std::string seed;
  std::string configfs{attestation::kTsmReportRoot};
  std::string ccel{attestation::kCcelFile};
  std::string out;
  std::string out_event_log;
};

// "auto" is this machine's own evidence: nothing simulated ever comes without asking for it.
Result<std::unique_ptr<EvidenceProvider>> choose_provider(const Context& context,
                                                          const CollectOptions& options) {
  if (options.provider != "simulate") {
    if (!options.seed.empty()) {
      return fail(ErrorCode::kUsage, "--seed is for --provider simulate");
    }
    return attestation::make_configfs_tsm(context.random,
                                          {options.configfs, {}, options.ccel, options.type});
  }
  if (options.seed.empty()) {
    return fail(ErrorCode::kUsage, "A simulated machine needs --seed FILE");
  }
  ASSAY_ASSIGN(Bytes seed, client::read_file(options.seed, attestation::kMaxSimulatorSeedBytes));
  if (options.type == kSnpEvidence) {
    attestation::SnpSimulatorOptions machine;
    machine.seed = std::move(seed);
    return attestation::make_snp_simulator(std::move(machine), context.clock);
  }
  SimulatorOptions machine;
  machine.seed = std::move(seed);
  ASSAY_ASSIGN(auto simulator, attestation::make_simulator(std::move(machine), context.clock));
  return simulator;
}

Status write_event_log(EvidenceProvider& provider, const std::string& path) {
  ASSAY_ASSIGN(const Bytes log, provider.event_log());
  if (log.empty()) {
    return fail(ErrorCode::kEvidenceUnavailable,
                "This machine has no event log that this user may read; as root, look at " +
                    std::string(attestation::kCcelFile));
  }
  return client::write_file(path, ByteView(log));
}

Result<Exit> collect(const Context& context, const CollectOptions& options) {
  ASSAY_ASSIGN(const ReportDataBytes report_data, parse_report_data(options.report_data));
  ASSAY_ASSIGN(const auto provider, choose_provider(context, options));
  ASSAY_ASSIGN(const Bytes quote, provider->quote(report_data));
  if (!options.out_event_log.empty()) {
    ASSAY_TRY(write_event_log(*provider, options.out_event_log));
  }
  ASSAY_TRY(client::write_file(options.out, ByteView(quote)));
  if (options.out == "-") {
    return Exit::kYes;
  }
  if (context.json()) {
    print_json({{"provider", provider->name()},
                {"type", provider->type()},
                {"bytes", quote.size()},
                {"file", options.out}});
  } else {
    message(context, std::string(provider->type()) + " quote of " + std::to_string(quote.size()) +
                         " bytes from " + std::string(provider->name()));
  }
  return Exit::kYes;
}

}  // namespace

Result<ReportDataBytes> parse_report_data(std::string_view hex) {
  return decode_hex_array<64>(hex, "Report data");
}

Result<Timestamp> evidence_time(const std::string& at, const Clock& clock) {
  if (at.empty()) {
    return clock.now();
  }
  return parse_rfc3339(at);
}

void add_evidence_simulate(const Command& group, Context& context) {
  auto options = std::make_shared<SimulateOptions>();
  const Command verb = group.add("simulate", "Make evidence of a machine that does not exist");
  verb.choice("--type", options->type, {"tdx", "sev-snp", std::string(kNvidiaEvidence)},
              "of which kind (default tdx)");
  verb.option("--seed", options->seed, "FILE",
              "bytes that keys, platform and measurements follow from");
  verb.required();
  verb.option("--report-data", options->report_data, "HEX",
              "64 bytes that the quote carries (default zeros)");
  verb.choice("--tcb-status", options->tcb_status, attestation::simulated_statuses(),
              "what the collateral says about the platform (default UpToDate)");
  verb.option("--fault", options->fault, "NAME",
              "what is wrong with the evidence: a name of 'evidence faults'");
  verb.option("--quote-version", options->quote_version, "N", "4 or 5 (default 4)");
  verb.option("--platform", options->platform, "HEX",
              "PPID, 16 bytes, or chip id, 64 bytes: other machines under the same root");
  verb.choice("--generation", options->generation, {"milan", "genoa", "turin"},
              "of a simulated SEV-SNP machine (default milan)");
  verb.choice("--signing-key", options->signing_key, {"vcek", "vlek"},
              "key that signs a simulated SEV-SNP report (default vcek)");
  verb.option("--at", options->at, "TIME",
              "when it is made; collateral lasts 29 days (default now)");
  verb.option("--out-quote", options->out_quote, "FILE", "where to write the quote");
  verb.option("--out-event-log", options->out_event_log, "FILE",
              "where to write what the machine measured when it started");
  verb.option("--out-collateral", options->out_collateral, "FILE", "where to write the collateral");
  verb.option("--out-root", options->out_root, "FILE", "where to write the root certificate (PEM)");
  verb.option("--out-appraisal", options->out_appraisal, "FILE",
              "where to write an appraisal that accepts these machines, for 'assay trust change'; "
              "of --type tdx");
  verb.note(
      "The evidence is genuine in every respect but its root, and is accepted only where that is\n"
      "configured as a dangerous anchor. With -o json: the anchor and the reference values for an\n"
      "appraisal policy.");
  verb.example(
      "assay evidence simulate --seed seed --out-quote q --out-collateral c.json --out-root r.pem",
      "make all that 'evidence verify' needs");
  options->nvidia = add_nvidia_simulation(verb);
  verb.action([&context, options] { return simulate(context, *options); });
}

void add_evidence_collect(const Command& group, Context& context) {
  auto options = std::make_shared<CollectOptions>();
  const Command verb = group.add("collect", "Take evidence of this machine");
  verb.choice("--type", options->type, {"tdx", "sev-snp"}, "of which kind (default tdx)");
  verb.choice("--provider", options->provider, {"auto", "configfs-tsm", "simulate"},
              "where it comes from; auto is the machine's own (default auto)");
  verb.option("--report-data", options->report_data, "HEX", "64 bytes that the quote carries");
  verb.required();
  verb.option("--out", options->out, "FILE", "where to write the quote");
  verb.required();
  verb.option("--out-event-log", options->out_event_log, "FILE",
              "where to write what the machine measured when it started");
  verb.option("--ccel", options->ccel, "FILE",
              "the machine's event log (default " + std::string(attestation::kCcelFile) + ")");
  verb.option(
      "--configfs", options->configfs, "DIR",
      "the kernel's folder of reports (default " + std::string(attestation::kTsmReportRoot) + ")");
  verb.option("--seed", options->seed, "FILE", "seed of the simulated machine");
  verb.note(
      "Needs a TDX or SEV-SNP guest with Linux 6.7 or later, its driver tdx_guest or sev-guest,\n"
      "and configfs. Of SEV-SNP, the certificates that the host gives follow the report.");
  verb.example("assay evidence collect --report-data $(sha512sum key.pem.pub | cut -c-128) --out q",
               "take a quote that binds a key");
  verb.action([&context, options] { return collect(context, *options); });
}

void add_evidence(const Command& root, Context& context) {
  const Command group = root.add("evidence", "What machines prove about themselves");
  add_evidence_verify(group, context);
  add_evidence_collect(group, context);
  add_evidence_devices(group, context);
  add_evidence_simulate(group, context);
  add_evidence_faults(group, context);
  add_evidence_plugin(group, context);
}

}  // namespace assay::cli
