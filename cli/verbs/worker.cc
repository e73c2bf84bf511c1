// SPDX-License-Identifier: Apache-2.0
// assay worker run: the node agent.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include "attestation/keys.h"
#include "cli/client/connect.h"
#include "cli/documents/keys.h"
#include "cli/documents/secrets.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/device_options.h"
#include "cli/verbs/instance_front.h"
#include "cli/verbs/pod_readiness.h"
#include "cli/verbs/signals.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/worker_reader.h"
#include "client/files.h"
#include "worker/agent.h"

namespace assay::cli {

namespace {

constexpr const char* kKubelet = "/var/lib/kubelet";

struct WorkerOptions {
  std::string node;
  std::vector<std::string> maps;
  std::string kubelet;
  std::string service_account_token{};
  std::string key;
  std::string passphrase_file;
  worker::EvidenceOptions evidence;
  worker::DeviceEvidenceOptions devices;
  DeviceFlags device;
  std::optional<std::uint64_t> metrics_port{};
  RegisterOptions instances{};
  ReadinessOptions readiness{};
  std::uint64_t drain_seconds = 30;
  bool once = false;
  ConnectionFlags connection;
};

Status check(const WorkerOptions& options) {
  ASSAY_TRY(check_node_name(options.node));
  if (options.maps.empty() && options.kubelet.empty() && options.instances.socket.empty()) {
    return fail(ErrorCode::kUsage,
                "Say with --map, --kubelet-dir or --register-socket where models lie");
  }
  ASSAY_TRY(check(options.instances));
  ASSAY_TRY(check(options.readiness));
  if (!options.kubelet.empty() && !options.kubelet.starts_with('/')) {
    return fail(ErrorCode::kUsage, "--kubelet-dir is an absolute path", options.kubelet);
  }
  if (options.metrics_port && *options.metrics_port > std::numeric_limits<std::uint16_t>::max()) {
    return fail(ErrorCode::kUsage, "A port is at most 65535");
  }
  if (options.drain_seconds > 86'400) {
    return fail(ErrorCode::kUsage, "--drain is at most 86400 seconds");
  }
  return {};
}

Result<worker::NodeMap> read_maps(const WorkerOptions& options) {
  std::vector<worker::LocationMap> maps;
  for (const std::string& text : options.maps) {
    ASSAY_ASSIGN(worker::LocationMap map, worker::parse_location_map(text));
    std::error_code error;
    if (!std::filesystem::is_directory(map.directory, error)) {
      return fail(ErrorCode::kUsage, "--map must lead to a directory", text);
    }
    maps.push_back(std::move(map));
  }
  return worker::NodeMap(std::move(maps), options.kubelet.empty() ? kKubelet : options.kubelet);
}

// In memory unless there is a file: such a key ends with the process, and nobody can copy it.
Result<std::unique_ptr<Signer>> worker_key(const WorkerOptions& options) {
  if (!options.key.empty()) {
    return load_signer(options.key, options.passphrase_file);
  }
  client::protect_process();
  return attestation::generate_key(SignatureAlgorithm::kEcdsaP256);
}

// What the node says it could hash with; at least the device that it does hash with.
std::vector<NodeDevice> node_devices(const std::vector<gpu_hash::DeviceInfo>& listed,
                                     const gpu_hash::EngineInfo& engine) {
  constexpr std::size_t kMaxDevices = 64;
  std::vector<NodeDevice> devices = {{engine.id, engine.device, engine.driver}};
  for (const gpu_hash::DeviceInfo& device : listed) {
    if (device.id != engine.id && devices.size() < kMaxDevices) {
      devices.push_back({device.id, device.name, device.driver});
    }
  }
  std::ranges::sort(devices, {}, &NodeDevice::id);
  return devices;
}

void tell_start(worker::Events& events, const WorkerOptions& options, const worker::Parts& parts,
                std::optional<std::uint16_t> port) {
  const gpu_hash::EngineInfo& engine = parts.engine.info();
  Json told = {{"node", options.node},
               {"maps", options.maps},
               {"evidence", options.evidence.kind},
               {"device_evidence", options.devices.kind},
               {"key_id", parts.signer.key_id().text()},
               {"device", engine.id},
               {"device_name", engine.device}};
  if (port) {
    told["metrics_port"] = *port;
  }
  if (!options.instances.socket.empty()) {
    told["register_socket"] = options.instances.socket;
    told["watch"] = watch_json(parts.watch->plan());
  }
  events.tell("started", std::move(told));
}

// One line for each event; whoever watches does not wait for a buffer to fill.
void print_event(const Context& context, const Json& event) {
  if (context.json()) {
    print_json_line(event);
  } else {
    print_line(worker::event_text(event));
  }
  std::fflush(stdout);
}

gpu_hash::Progress show_progress(const Context& context, const std::string& what) {
  const auto progress = std::make_shared<Progress>(context, what);
  return [progress](std::uint64_t done, std::uint64_t total) { progress->update(done, total); };
}

Result<Exit> run(const Context& context, const WorkerOptions& options) {
  ASSAY_TRY(check(options));
  ASSAY_ASSIGN(const worker::NodeMap map, read_maps(options));
  const SignalWatch signals{std::chrono::seconds(options.drain_seconds)};
  ASSAY_ASSIGN(const client::Connection connection, client::resolve_connection(options.connection));
  ASSAY_ASSIGN(worker::Service service,
               worker::Service::open(caller_of(context), connection, signals.abandon()));
  ASSAY_ASSIGN(const std::unique_ptr<Signer> signer, worker_key(options));
  ASSAY_ASSIGN(const std::unique_ptr<worker::EvidenceSource> evidence,
               worker::make_evidence_source(context.clock, context.random, options.evidence));
  ASSAY_ASSIGN(const std::unique_ptr<worker::DeviceEvidence> devices,
               worker::make_device_evidence(context.clock, options.devices));
  ASSAY_ASSIGN(const WorkerEngines engines,
               make_worker_engines(context, options.device, !options.instances.socket.empty()));
  worker::Metrics metrics;
  std::optional<std::uint16_t> port;
  if (options.metrics_port) {
    ASSAY_ASSIGN(port, metrics.serve(static_cast<std::uint16_t>(*options.metrics_port)));
  }
  service.on_contact([&] { metrics.contact(context.clock.now()); });
  worker::Events events(context.clock,
                        [&context](const Json& event) { print_event(context, event); });
  worker::RootsMemory roots;
  worker::Parts parts{
      .clock = context.clock,
      .random = context.random,
      .node = options.node,
      .identity_token_file = options.service_account_token,
      .map = map,
      .signer = *signer,
      .engine = *engines.engine,
      .fallback = engines.fallback.get(),
      .devices = node_devices(engines.devices, engines.engine->info()),
      .evidence = *evidence,
      .service = service,
      .events = events,
      .metrics = metrics,
      .show_progress = [&context](const std::string& what) { return show_progress(context, what); },
      .drain = signals.drain(),
      .abandon = signals.abandon(),
      .device_evidence = devices.get(),
      .roots = &roots};
  ASSAY_ASSIGN(worker::Service beats,
               worker::Service::open(caller_of(context), connection, signals.abandon()));
  ASSAY_ASSIGN(const std::unique_ptr<InstanceFront> front,
               open_instance_front(context, options.instances, options.device.threads, parts,
                                   std::move(beats)));
  ASSAY_ASSIGN(worker::Service decisions,
               worker::Service::open(caller_of(context), connection, signals.drain()));
  tell_start(events, options, parts, port);
  ASSAY_ASSIGN(const std::unique_ptr<PodReadiness> readiness,
               open_pod_readiness(context, options.readiness, parts, std::move(decisions)));
  ASSAY_ASSIGN(const worker::Ending ending, worker::Agent(parts).run(options.once));
  return ending == worker::Ending::kNotVerified ? Exit::kNo : Exit::kYes;
}

void add_evidence_options(const Command& verb, worker::EvidenceOptions& flags) {
  verb.choice(
      "--evidence", flags.kind,
      {"tdx", "sev-snp", "simulate", "simulate-snp", "command", "ear", "none"},
      "where evidence comes from: the TDX guest that this runs in (default), the SEV-SNP "
      "guest, a simulator of either, a program, the result of another verifier, or nowhere");
  verb.option("--evidence-command", flags.command, "PROGRAM",
              "for 'command', a program that prints evidence as JSON for report data in hex, which "
              "a plug-in of the service verifies; for 'ear', one that prints another verifier's "
              "result for report data and a nonce");
  verb.option("--evidence-type", flags.type, "TYPE", "type of the program's evidence");
  verb.option("--simulator-seed", flags.simulator_seed, "FILE",
              "seed of the simulator, as 'assay evidence simulate' takes it; such evidence counts "
              "only where its root is trusted by a dangerous_ setting");
  verb.option(
      "--simulator-platform", flags.simulator_platform, "HEX",
      "which of the machines that the seed makes: 32 hex digits, of simulate-snp 128 (default: "
      "always the same)");
  verb.option("--collateral", flags.collateral, "FILE",
              "what the vendor says about the platform; read again for each piece of evidence, "
              "and sent with it");
  verb.option("--certificate", flags.certificate, "FILE",
              "for 'sev-snp', where the host gives none: certificate of the VCEK or VLEK, DER or "
              "PEM, read again for each piece of evidence");
}

void add_device_evidence_options(const Command& verb, worker::DeviceEvidenceOptions& flags) {
  verb.choice("--device-evidence", flags.kind, {"auto", "require", "none", "simulate"},
              "evidence of NVIDIA GPUs and switches: auto where confidential computing is on "
              "(default), require it, none, or simulated GPUs");
  verb.option("--device-seed", flags.seed, "FILE",
              "seed of simulated GPUs, as 'assay evidence simulate' takes it");
  verb.option("--simulated-devices", flags.count, "N", "number of simulated GPUs (default 1)");
  verb.option("--first-device", flags.first, "N",
              "number of the first simulated GPU: other nodes under the same root (default 0)");
}

void add_run(const Command& group, Context& context) {
  auto options = std::make_shared<WorkerOptions>();
  const Command verb = group.add("run", "Verify models on this node when the service asks for it");
  verb.option("--node", options->node, "NAME", "the node's name, as Kubernetes knows it");
  verb.required();
  verb.option("--map", options->maps, "LOCATION=DIR",
              "read what lies at LOCATION or below it from DIR, an absolute path; may be given "
              "again, and the longest LOCATION counts. Nothing else is ever read. For one claim, "
              "add ',volume=NAME' when the mount does not tell the volume");
  verb.option("--kubelet-dir", options->kubelet, "DIR",
              "where the kubelet mounts the volumes of pods (default /var/lib/kubelet)");
  verb.option("--service-account-token", options->service_account_token, "FILE",
              "ServiceAccount token of Kubernetes for the service's audience, read again at each "
              "enrolment; needed where a pattern registers the node (default: none)");
  add_evidence_options(verb, options->evidence);
  add_device_evidence_options(verb, options->devices);
  verb.option("--key", options->key, "FILE",
              "private key of the worker (default: a new one, in memory alone)");
  verb.option("--passphrase-file", options->passphrase_file, "FILE",
              "file of mode 0600 with the passphrase of an encrypted key");
  add_device_options(verb, options->device);
  add_fallback_option(verb, options->device);
  add_register_options(verb, options->instances);
  add_readiness_options(verb, options->readiness);
  verb.option("--metrics-port", options->metrics_port, "N",
              "serve metrics on 127.0.0.1 at this port; 0 takes a free one (default: none)");
  verb.option("--drain", options->drain_seconds, "SECONDS",
              "after SIGTERM, give a job under way so much time (default 30)");
  verb.flag("--once", options->once, "end after one job");
  add_connection_options(verb, options->connection);
  verb.note(
      "Enrols the node with evidence of where its key lives, and renews the enrolment in time. "
      "Takes\njobs, hashes files and reports what it read, until SIGTERM or SIGINT. Needs the role "
      "worker. Prints one line for "
      "each\n"
      "thing that happens; with -o json one JSON object. Goes on through outages of the service.\n"
      "Exits with 0 when it was told to stop, with 2 when the service refuses the node; with "
      "--once\n"
      "with 0 when the model was verified and 1 when it was not.");
  verb.example("assay worker run --node gpu-node-1 --map pvc://inference=/srv/claims",
               "run on a node that is a TDX guest");
  verb.example(
      "assay worker run --node test-1 --map hostpath:///data=/data --evidence none --device cpu "
      "--once",
      "do one job without evidence, where the service allows that");
  verb.example(
      "assay worker run --node gpu-node-1 --register-socket /run/assay/register.sock "
      "--watch-period 5s --watch-slices 16",
      "verify what processes register, and look at all of it every 5 s");
  verb.example(
      "assay worker run --node gpu-node-1 --register-socket /run/assay/register.sock "
      "--watch-check random --watch-share 25",
      "look at a quarter of it every 2 s, drawn at random");
  verb.action([options, &context] { return run(context, *options); });
}

}  // namespace

void add_worker(const Command& root, Context& context) {
  const Command group = root.add("worker", "The agent that verifies models on a node");
  add_run(group, context);
  add_reader(group, context);
}

}  // namespace assay::cli
