// SPDX-License-Identifier: Apache-2.0
// assay fill: puts a model into the empty directory of a pod, and verifies it on the way.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/fill_decision.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/signals.h"
#include "cli/verbs/trusted_manifest.h"
#include "cli/verbs/verbs.h"
#include "gpu_hash/artifact_copy.h"
#include "gpu_hash/cpu_engine.h"
#include "schemas/core/random.h"
#include "worker/service.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;

struct FillOptions {
  std::vector<std::string> paths;  // SOURCE and DESTINATION, or the directory to verify
  std::string source;              // directory of the model of a URI
  std::string sources;             // directory that holds models by name
  std::string model;
  ManifestFlags manifest;
  DecisionFlags decision;
  bool in_place = false;
  std::uint64_t threads = 0;
};

// What the arguments mean.
struct Task {
  std::filesystem::path source;  // empty: verify in place
  std::filesystem::path destination;
  ModelReference wanted;
};

// What may be put there, and why.
struct Granted {
  Manifest manifest;
  ArtifactId artifact;
  std::string decision;                    // id; empty: the service was not asked
  std::optional<TrustedManifest> trusted;  // absent: the manifest is the service's
};

// "a" for "a/": a directory that is not there yet has a name to be made under.
std::filesystem::path without_slash(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  return end == std::string::npos ? path : path.substr(0, end + 1);
}

Result<std::filesystem::path> source_of(const FillOptions& options, const std::string& argument,
                                        ModelReference& wanted) {
  if (!argument.starts_with(kModelScheme)) {
    if (!options.source.empty() || !options.sources.empty()) {
      return fail(ErrorCode::kUsage, "--source and --sources say where the model of a URI lies",
                  argument);
    }
    return argument;
  }
  if (!options.model.empty()) {
    return fail(ErrorCode::kUsage, "The URI names the model: leave out --model", argument);
  }
  ASSAY_ASSIGN(wanted, parse_model_reference(argument.substr(kModelScheme.size())));
  if (options.source.empty() == options.sources.empty()) {
    return fail(ErrorCode::kUsage,
                "A URI needs --source or --sources, which say where the model lies");
  }
  if (!options.source.empty()) {
    return options.source;
  }
  if (wanted.name.empty()) {
    return fail(ErrorCode::kUsage, "--sources needs the name of the model in the URI", argument);
  }
  return std::filesystem::path(options.sources) / wanted.name;
}

Result<Task> task_of(const FillOptions& options) {
  Task task;
  if (!options.model.empty()) {
    ASSAY_ASSIGN(task.wanted, parse_model_reference(options.model));
  }
  if (options.paths.size() != (options.in_place ? 1U : 2U)) {
    return fail(ErrorCode::kUsage, options.in_place
                                       ? "--verify-in-place takes the directory of the model alone"
                                       : "Give SOURCE and DESTINATION");
  }
  if (options.threads > kMaxThreads) {
    return fail(ErrorCode::kUsage, "--threads is at most 1024");
  }
  if (!options.decision.id.empty() && !is_uuid_v7(options.decision.id)) {
    return fail(ErrorCode::kUsage, "The id of a decision is a UUID of version 7",
                options.decision.id);
  }
  const TrustFlags& trust = options.manifest.trust;
  if (options.manifest.envelope.empty() && (!trust.keys.empty() || !trust.trust.empty())) {
    return fail(ErrorCode::kUsage, "Keys are for signatures of --manifest");
  }
  task.destination = without_slash(options.paths.back());
  if (!options.in_place) {
    ASSAY_ASSIGN(task.source, source_of(options, options.paths.front(), task.wanted));
  }
  const bool asks = options.manifest.envelope.empty() && options.decision.id.empty();
  if (asks && task.wanted.text().empty()) {
    return fail(ErrorCode::kUsage,
                "Say which model: --manifest, --decision, --model, or a URI assay://NAME");
  }
  return task;
}

Json result_json(const Task& task, const Granted* granted) {
  Json json = {{"filled", false},
               {"verified_in_place", task.source.empty()},
               {"destination", task.destination.string()}};
  if (granted != nullptr) {
    json["artifact"] = granted->artifact.text();
    json["name"] = granted->manifest.name;
    json["decision"] = granted->decision.empty() ? Json(nullptr) : Json(granted->decision);
    json["signers"] = granted->trusted ? signers_json(granted->trusted->signers) : Json::array();
  }
  return json;
}

// Whether the error is the answer no: what the service has does not allow it.
bool is_no(const Error& error) {
  return error.code == ErrorCode::kConditionUndecided ||
         error.code == ErrorCode::kSubjectMismatch || error.code == ErrorCode::kRootMismatch;
}

// Checks signatures of the manifest that the user named.
Result<TrustedManifest> named_manifest(const Context& context, const FillOptions& options,
                                       const Task& task, bool& refused) {
  ASSAY_ASSIGN(TrustedManifest trusted, open_manifest(context, options.manifest, refused));
  const ModelReference& wanted = task.wanted;
  if ((!wanted.name.empty() && trusted.manifest.name != wanted.name) ||
      (wanted.artifact && trusted.artifact != *wanted.artifact)) {
    refused = true;
    return fail(ErrorCode::kSubjectMismatch, "The manifest is about " + trusted.manifest.name +
                                                 "@" + trusted.artifact.text() + ", not " +
                                                 wanted.text());
  }
  return trusted;
}

// `refused` is set when the error is the answer no.
Result<Granted> grant(const Context& context, const FillOptions& options, const Task& task,
                      const std::stop_token& stop, bool& refused) {
  std::optional<TrustedManifest> trusted;
  ModelReference wanted = task.wanted;
  if (!options.manifest.envelope.empty()) {
    ASSAY_ASSIGN(trusted, named_manifest(context, options, task, refused));
    wanted.artifact = trusted->artifact;
    if (options.decision.id.empty()) {
      Manifest manifest = trusted->manifest;
      return Granted{std::move(manifest), trusted->artifact, "", std::move(trusted)};
    }
  }
  ASSAY_ASSIGN(const Json decision, fetch_decision(context, options.decision, wanted));
  const auto artifact = artifact_of_decision(
      decision, wanted,
      options.decision.id.empty() ? std::string() : options.decision.workload.name_space,
      context.clock.now());
  if (!artifact) {
    refused = is_no(artifact.error());
    return std::unexpected(artifact.error());
  }
  const std::string id = text_at(decision, "id");
  if (trusted) {
    Manifest manifest = trusted->manifest;
    return Granted{std::move(manifest), *artifact, id, std::move(trusted)};
  }
  ASSAY_ASSIGN(client::Connection connection,
               client::resolve_connection(options.decision.connection));
  ASSAY_ASSIGN(worker::Service service,
               worker::Service::open(caller_of(context), std::move(connection), stop));
  ASSAY_ASSIGN(Manifest manifest, service.manifest(*artifact, wanted.name));
  return Granted{std::move(manifest), *artifact, id, std::nullopt};
}

Exit report(const Context& context, const Task& task, const Granted& granted,
            const gpu_hash::Copied& copied) {
  const gpu_hash::Verified& verified = copied.verified;
  const bool same = verified.differences.empty();
  const bool in_place = task.source.empty() || copied.already_there;
  if (context.json()) {
    Json json = result_json(task, &granted);
    json["filled"] = same;
    json["verified_in_place"] = in_place;
    add_verified(json, verified);
    print_json(json);
    return same ? Exit::kYes : Exit::kNo;
  }
  print_verified(context, verified);
  if (!same) {
    warning("refused: content-mismatch: " + counted(verified.differences.size(), "difference") +
            " from " + granted.artifact.text() +
            (in_place ? " in " + task.destination.string()
                      : "; nothing was left in " + task.destination.string()));
    return Exit::kNo;
  }
  print_line(std::string(in_place ? "verified " : "filled ") + task.destination.string() +
             " with " + granted.manifest.name + " " + granted.artifact.text());
  return Exit::kYes;
}

Result<gpu_hash::Copied> copy(const Context& context, const FillOptions& options, const Task& task,
                              const Granted& granted, const std::stop_token& stop) {
  Progress progress(context, task.source.empty() ? "verifying" : "copying");
  const gpu_hash::Progress update = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  const auto threads = static_cast<unsigned>(options.threads);
  if (!task.source.empty()) {
    return gpu_hash::copy_artifact(task.source, granted.manifest.artifact, task.destination,
                                   threads, update, stop);
  }
  const std::unique_ptr<gpu_hash::Engine> engine = gpu_hash::make_cpu_engine(threads);
  ASSAY_ASSIGN(gpu_hash::Verified verified,
               gpu_hash::verify_artifact(task.destination, granted.manifest.artifact, {}, *engine,
                                         update, stop));
  return gpu_hash::Copied{std::move(verified), false};
}

// Said with --quiet, too: whoever reads the log of the container must know what was not asked.
void tell_grant(const Granted& granted) {
  if (granted.decision.empty()) {
    warning("no service was asked: signatures of the manifest were checked, and no policy");
  } else {
    warning("allowed by decision " + granted.decision);
  }
}

Result<Exit> fill(const Context& context, FillOptions& options) {
  std::string& name_space = options.decision.workload.name_space;
  if (const char* value = std::getenv("ASSAY_FILL_NAMESPACE");
      name_space.empty() && value != nullptr) {
    name_space = value;
  }
  ASSAY_ASSIGN(const Task task, task_of(options));
  // A signal ends the copy, and what was written is removed.
  const SignalWatch signals{std::chrono::seconds(0)};
  bool refused = false;
  const Result<Granted> granted = grant(context, options, task, signals.drain(), refused);
  if (!granted) {
    return refused || is_no(granted.error())
               ? Result<Exit>(refuse(context, granted.error(), result_json(task, nullptr)))
               : std::unexpected(granted.error());
  }
  tell_grant(*granted);
  const auto copied = copy(context, options, task, *granted, signals.drain());
  if (!copied) {
    return is_difference(copied.error().code)
               ? Result<Exit>(refuse(context, copied.error(), result_json(task, &*granted)))
               : std::unexpected(copied.error());
  }
  return report(context, task, *granted, *copied);
}

void add_options(const Command& verb, FillOptions& options) {
  verb.arguments("PATH", options.paths,
                 "SOURCE and DESTINATION: a directory or file that holds the model, or "
                 "assay://NAME, and where the model goes; with --verify-in-place the directory "
                 "alone");
  verb.option("--source", options.source, "DIR", "where the model of a URI lies");
  verb.option("--sources", options.sources, "DIR",
              "where models of URIs lie by their names: DIR/NAME");
  verb.option("--manifest", options.manifest.envelope, "FILE",
              "signed manifest of the model; without --decision no service is asked then");
  add_trust_options(verb, options.manifest.trust);
  verb.option("--model", options.model, "MODEL",
              "name, artifact id or NAME@ARTIFACT, where SOURCE is no URI");
  verb.option("--decision", options.decision.id, "ID",
              "rely on this stored decision (default: ask for one)");
  add_workload_options(verb, options.decision.workload);
  verb.flag("--verify-in-place", options.in_place,
            "copy nothing: verify what lies in the directory");
  verb.option("--threads", options.threads, "N", "threads that hash (default: one for each core)");
  add_connection_options(verb, options.decision.connection);
}

}  // namespace

void add_fill(const Command& root, Context& context) {
  auto options = std::make_shared<FillOptions>();
  const Command verb =
      root.add("fill", "Put a verified model into a directory, for init containers");
  add_options(verb, *options);
  verb.note(
      "First the decision: with --decision a stored one, else one that the service makes now.\n"
      "With --manifest and without --decision the signatures of the manifest count alone.\n"
      "ASSAY_FILL_NAMESPACE stands for --namespace.\n"
      "Then every byte is read once, hashed and written beside the destination. Only when all of\n"
      "them are those of the manifest the files get their names; otherwise nothing is left. A\n"
      "destination that holds files is verified and never changed. Exits with 0 when the model is\n"
      "there, with 1 when the answer is no, with 2 when there is no answer.");
  verb.example("assay fill /source /mnt/models --manifest llama.json --key publisher.pem.pub",
               "copy what a key signed, without a service");
  verb.example(
      "assay fill --sources /models --namespace prod assay://acme/llama /mnt/models",
      "ask the service, and copy /models/acme/llama; KServe appends the last two arguments");
  verb.example("assay fill --verify-in-place /mnt/models --model acme/llama --namespace prod",
               "in a later init container: verify what another one downloaded");
  verb.action([options, &context] { return fill(context, *options); });
}

}  // namespace assay::cli
