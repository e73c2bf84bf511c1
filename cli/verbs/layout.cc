// SPDX-License-Identifier: Apache-2.0
// assay layout: records how a server holds the weights of a model.
#include <chrono>
#include <memory>
#include <thread>
#include <unistd.h>
#include <utility>

#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/verbs/device_options.h"
#include "cli/verbs/signals.h"
#include "cli/verbs/verbs.h"
#include "schemas/lifecycle.h"
#include "worker/instances/check.h"
#include "worker/instances/listener.h"
#include "worker/record.h"

namespace assay::cli {

namespace {

struct RecordOptions {
  std::string artifact;
  std::string name;
  std::string layout_name;
  std::string socket;
  std::string instance = "main";
  std::string pod;
  std::string engine;
  std::string engine_version;
  std::uint64_t wait_seconds = 600;
  std::string tensors_out;
  std::string publisher_key;
  std::string out;
  SigningFlags signing;
  DeviceFlags device;
};

Status check(const RecordOptions& options) {
  ASSAY_TRY(check_instance_name(options.instance));
  ASSAY_TRY(check_model_name(options.layout_name));
  if (!options.pod.empty()) {
    ASSAY_TRY(check_pod_uid(options.pod));
  }
  if (!options.socket.starts_with('/')) {
    return fail(ErrorCode::kUsage, "--register-socket is an absolute path", options.socket);
  }
  if (options.wait_seconds < 1 || options.wait_seconds > 86'400) {
    return fail(ErrorCode::kUsage, "--wait is from 1 to 86400 seconds");
  }
  constexpr std::size_t kMaxWord = 128;
  for (const std::string* const word : {&options.engine, &options.engine_version}) {
    if (word->empty() || word->size() > kMaxWord) {
      return fail(ErrorCode::kUsage, "--engine and --engine-version have 1 to 128 characters");
    }
  }
  return {};
}

// Waits until all processes of the instance are registered.
Result<std::vector<std::shared_ptr<worker::Owner>>> wait_for(const RecordOptions& options,
                                                             worker::Registry& registry,
                                                             const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto end = worker::Steady::now() + std::chrono::seconds(options.wait_seconds);
  while (!stop.stop_requested() && worker::Steady::now() < end) {
    auto owners = registry.find(options.pod, options.instance);
    if (worker::is_whole(owners)) {
      return owners;
    }
    owners.clear();
    if (const auto refused = registry.refused(options.pod, options.instance)) {
      return fail(ErrorCode::kInstanceMissing,
                  "The registration was refused: " + refused->code + ": " + refused->detail);
    }
    worker::pause(kPause, stop);
  }
  return fail(ErrorCode::kInstanceMissing,
              "Not all processes of instance " + options.instance + " registered in time");
}

Result<Manifest> record_at(const Context& context, const RecordOptions& options,
                           const ArtifactId& source) {
  const SignalWatch signals{std::chrono::seconds(1)};
  ASSAY_ASSIGN(const auto drivers, make_drivers(context, options.device.timeout_seconds));
  ASSAY_ASSIGN(const auto engine, make_engine(*drivers, options.device));
  worker::LocalChecks checks(*engine, context.random);
  worker::Registry registry;
  worker::InstanceShared shared(context.clock, context.random, registry,
                                worker::PeerRules{.uids = {static_cast<std::uint32_t>(getuid())}});
  ASSAY_ASSIGN(const auto listener, worker::InstanceListener::open(options.socket, shared));
  message(context, "waiting for instance " + options.instance + " at " + options.socket);
  ASSAY_ASSIGN(auto owners, wait_for(options, registry, signals.drain()));
  return worker::record_tensors(std::move(owners), source, options.layout_name, checks,
                                signals.drain());
}

Result<Exit> record(const Context& context, const RecordOptions& options) {
  ASSAY_TRY(check(options));
  ASSAY_ASSIGN(const NamedModel source, load_named_model(options.artifact, options.name));
  ASSAY_ASSIGN(const Manifest tensors, record_at(context, options, source.artifact));
  ASSAY_ASSIGN(const ArtifactId layout, artifact_id(tensors));
  ASSAY_ASSIGN(const Statement published, to_statement(tensors));
  Lifecycle lifecycle;
  lifecycle.stage = "layout";
  lifecycle.parameters = {{"layout", layout.text()},
                          {"engine", options.engine},
                          {"engine_version", options.engine_version}};
  ASSAY_ASSIGN(
      const Statement statement,
      to_statement(lifecycle, {{source.name,
                                {{source.artifact.digest_name(), source.artifact.root().hex()}}}}));
  SigningFlags publisher = options.signing;
  publisher.keys.clear();
  if (!options.publisher_key.empty()) {
    publisher.keys.push_back(options.publisher_key);
  }
  ASSAY_TRY(sign_and_write(context, statement, options.signing, options.out,
                           {{"stage", lifecycle.stage}, {"layout", layout.text()}}));
  return sign_and_write(context, published, publisher, options.tensors_out,
                        {{"layout", layout.text()},
                         {"tensors", tensors.artifact.entries.size()},
                         {"source", source.artifact.text()}});
}

void add_record(const Command& group, Context& context) {
  auto options = std::make_shared<RecordOptions>();
  const Command verb =
      group.add("record", "Hash what a running reference process holds, as a published layout");
  verb.argument("MODEL", options->artifact,
                "artifact id of the model's files, or a file with their manifest");
  verb.option("--name", options->name, "NAME", "name of the model; needed with an artifact id");
  verb.option("--layout-name", options->layout_name, "NAME",
              "name under which the manifest of tensors is published");
  verb.required();
  verb.option("--register-socket", options->socket, "PATH",
              "Unix socket to open, at which the reference process registers");
  verb.required();
  verb.option("--instance", options->instance, "NAME", "instance that registers (default main)");
  verb.option("--pod", options->pod, "UID", "pod of the process (default: it runs in none)");
  verb.option("--engine", options->engine, "NAME", "program that holds the weights, such as vllm");
  verb.required();
  verb.option("--engine-version", options->engine_version, "VERSION", "its version");
  verb.required();
  verb.option("--wait", options->wait_seconds, "SECONDS",
              "how long to wait for the processes (default 600)");
  verb.option("--tensors-out", options->tensors_out, "FILE",
              "where to write the manifest of tensors");
  verb.required();
  verb.option("--publisher-key", options->publisher_key, "FILE",
              "private key of a publisher, which signs the manifest of tensors");
  verb.option("--out", options->out, "FILE", "where to write the statement of stage layout");
  verb.required();
  add_signing_options(verb, options->signing, false);
  add_device_options(verb, options->device);
  verb.note(
      "Run it on a clean machine, and start the server there with this socket. It registers its\n"
      "weights without a layout. For weights that no layout expresses: quantized or repacked "
      "ones.");
  verb.example(
      "assay layout record llama.json --layout-name acme/llama-vllm --engine vllm \\\n"
      "      --engine-version 0.11.0 --register-socket /run/assay/record.sock \\\n"
      "      --tensors-out tensors.json --publisher-key publisher.pem \\\n"
      "      --key layouts.pem --out layout.json",
      "record a server of one process, and sign both documents");
  verb.action([options, &context] { return record(context, *options); });
}

}  // namespace

void add_layout(const Command& root, Context& context) {
  const Command group = root.add("layout", "How servers hold the weights of a model in memory");
  add_record(group, context);
}

}  // namespace assay::cli
