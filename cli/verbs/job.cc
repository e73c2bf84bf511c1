// SPDX-License-Identifier: Apache-2.0
// assay job: verification of a model by a node.
#include "schemas/job.h"

#include <charconv>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "cli/client/lists.h"
#include "cli/client/model_meant.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "schemas/location.h"

namespace assay::cli {

namespace {

using Steady = std::chrono::steady_clock;

struct WaitFlags {
  bool wait = false;
  std::uint64_t limit = 600;  // seconds
};

void add_wait_options(const Command& verb, WaitFlags& flags) {
  verb.flag("--wait", flags.wait,
            "wait until the job is done; the exit status then says whether the model was verified");
  verb.option("--wait-limit", flags.limit, "SECONDS", "wait at most so long (default 600)");
}

bool is_done(const Json& job) { return !text_at(job, "result").empty(); }

// "changed model.safetensors#layer.0.weight [0, 1048576)": what differs on the node.
std::string difference_line(const Json& difference) {
  std::string line = text_at(difference, "kind") + " " + text_at(difference, "path");
  if (const std::string tensor = text_at(difference, "tensor"); !tensor.empty()) {
    line += "#" + tensor;
  }
  for (const Json& range : list_at(difference, "ranges")) {
    if (range.is_array() && range.size() == 2) {
      line += " [" + range[0].dump() + ", " + range[1].dump() + ")";
    }
  }
  return line;
}

// "pvc://inference/models (volume pv-1)", "volume cache of pod 5f1d...", "instance main of pod
// 5f1d..."
std::string place_of(const Json& job) {
  std::string place = text_at(job, "location");
  if (const std::string volume = text_at(job, "volume"); !volume.empty()) {
    place += " (volume " + volume + ")";
  }
  const auto pod = job.find("pod");
  if (pod != job.end() && pod->is_object()) {
    place += (place.empty() ? "volume " : ", volume ") + text_at(*pod, "volume") + " of pod " +
             text_at(*pod, "uid");
  }
  const auto instance = job.find("instance");
  if (instance != job.end() && instance->is_object()) {
    const std::string uid = text_at(*instance, "pod");
    place = "instance " + text_at(*instance, "instance") + (uid.empty() ? "" : " of pod " + uid);
  }
  return place;
}

void print_job(const Context& context, const Json& job) {
  Table table({"job", text_at(job, "id")});
  table.row({"model", text_at(job, "model_name")});
  table.row({"artifact", text_at(job, "artifact")});
  table.row({"node", text_at(job, "node") + ", " + text_at(job, "scope") + " at " + place_of(job)});
  table.row({"created", text_at(job, "created_at")});
  const std::string result = text_at(job, "result");
  table.row({"state", text_at(job, "state") + (result.empty() ? "" : ": " + result)});
  if (!result.empty()) {
    const auto measured = job.find("worker_measured");
    const bool is_measured =
        measured != job.end() && measured->is_boolean() && measured->get<bool>();
    table.row({"finished", text_at(job, "finished_at")});
    if (const std::string since = text_at(job, "read_since"); !since.empty()) {
      table.row({"read since", since});
    }
    table.row({"reported by", is_measured ? "a measured worker" : "an unmeasured worker"});
  }
  const auto detail = job.find("detail");
  if (detail != job.end() && detail->is_object()) {
    for (const Json& difference : list_at(*detail, "differences")) {
      table.row({"differs", difference_line(difference)});
    }
    if (const std::string code = text_at(*detail, "code"); !code.empty()) {
      table.row({"failed with", code});
    }
    if (const std::string refused = text_at(*detail, "refused"); !refused.empty()) {
      table.row({"registration refused", refused});
    }
    if (const auto read = detail->find("read_protection"); read != detail->end()) {
      table.row({"read under", text_at(*read, "weakest")});
    }
    if (const std::uint64_t spots = number_at(*detail, "spot_checks"); spots > 0) {
      table.row({"spot checks", std::to_string(spots)});
    }
  }
  print_fields(context, table);
}

Result<Json> fetch(Api& api, const std::string& id) {
  return api.get("/v1/jobs/" + percent_encode(id));
}

// The job once it is done, or as it is when nobody waits. request-timeout.
Result<Json> await(Api& api, const std::string& id, const WaitFlags& flags) {
  constexpr std::chrono::milliseconds kFirstLook{100};
  constexpr std::chrono::milliseconds kLongestLook{2'000};
  const Steady::time_point end = Steady::now() + std::chrono::seconds(flags.limit);
  std::chrono::milliseconds look = kFirstLook;
  while (true) {
    ASSAY_ASSIGN(Json job, fetch(api, id));
    if (!flags.wait || is_done(job)) {
      return job;
    }
    if (Steady::now() >= end) {
      return fail(ErrorCode::kRequestTimeout,
                  "The job is not done yet; see 'assay job show " + id + "'");
    }
    std::this_thread::sleep_for(look);
    look = std::min(look * 2, kLongestLook);
  }
}

// Prints the job; with --wait its result is the answer.
Exit finish(const Context& context, const Json& job, const WaitFlags& flags) {
  if (context.json()) {
    print_json(job);
  } else {
    print_job(context, job);
  }
  return flags.wait && text_at(job, "result") != "verified" ? Exit::kNo : Exit::kYes;
}

Status check(const WaitFlags& flags) {
  constexpr std::uint64_t kMaxWait = std::uint64_t{7} * 86'400;
  return flags.limit <= kMaxWait ? Status()
                                 : fail(ErrorCode::kUsage, "One can wait for at most a week");
}

// --- new

struct NewOptions {
  std::string model;
  std::string node;
  std::string instance;
  std::string location;
  std::string pod_uid;
  std::string pod_volume;
  std::string entries;
  WaitFlags wait;
  ConnectionFlags connection;
};

Result<std::vector<std::uint64_t>> read_positions(const std::string& text) {
  std::vector<std::uint64_t> positions;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || stop != part.data() + part.size() ||
        (!positions.empty() && number <= positions.back())) {
      return fail(ErrorCode::kUsage, "Entries are numbers in ascending order, as 0,2,5", text);
    }
    positions.push_back(number);
    begin = end + 1;
  }
  return positions;
}

Result<std::optional<JobPod>> read_pod(const NewOptions& options) {
  if (!options.instance.empty() || (options.pod_uid.empty() && options.pod_volume.empty())) {
    return std::nullopt;
  }
  ASSAY_TRY(check_pod_uid(options.pod_uid));
  ASSAY_TRY(check_volume_name(options.pod_volume));
  return JobPod{options.pod_uid, options.pod_volume};
}

Result<std::optional<JobInstance>> read_instance(const NewOptions& options) {
  if (options.instance.empty()) {
    return std::nullopt;
  }
  if (!options.location.empty() || !options.pod_volume.empty() || !options.entries.empty()) {
    return fail(ErrorCode::kUsage,
                "An instance is verified in memory and as a whole: leave out --location, --volume "
                "and --entries");
  }
  ASSAY_TRY(check_instance_name(options.instance));
  if (!options.pod_uid.empty()) {
    ASSAY_TRY(check_pod_uid(options.pod_uid));
  }
  return JobInstance{options.pod_uid, options.instance};
}

Result<Exit> make(const Context& context, const NewOptions& options) {
  ASSAY_TRY(check(options.wait));
  ASSAY_TRY(check_node_name(options.node));
  ASSAY_ASSIGN(std::optional<JobInstance> instance, read_instance(options));
  ASSAY_ASSIGN(std::vector<std::uint64_t> subset, read_positions(options.entries));
  std::string location;
  if (!options.location.empty()) {
    ASSAY_ASSIGN(location, normalise_location(options.location));
  }
  ASSAY_ASSIGN(std::optional<JobPod> pod, read_pod(options));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const std::string meant, artifact_meant(api, options.model));
  ASSAY_ASSIGN(ArtifactId artifact, ArtifactId::parse(meant));
  const JobRequest request{
      std::move(artifact), instance ? JobScope::kDeviceMemory : JobScope::kFiles,
      options.node,        std::move(location),
      std::move(subset),   std::move(pod),
      std::move(instance)};
  ASSAY_ASSIGN(const Json made,
               api.post("/v1/jobs", as_bytes(to_json(request).dump()), client::kJsonType));
  const std::string id = text_at(made, "id");
  if (!options.wait.wait) {
    if (context.json()) {
      print_json(made);
    } else {
      print_line(id);
    }
    return Exit::kYes;
  }
  message(context, "job " + id + ", waiting for " + options.node);
  ASSAY_ASSIGN(const Json job, await(api, id, options.wait));
  return finish(context, job, options.wait);
}

void add_new(const Command& group, Context& context) {
  auto options = std::make_shared<NewOptions>();
  const Command verb = group.add("new", "Have a node verify a model where it lies");
  verb.argument("MODEL", options->model,
                "artifact id, a file with its manifest, or the name of a model");
  verb.option("--node", options->node, "NAME", "node that reads the model");
  verb.required();
  verb.option("--location", options->location, "URI",
              "where the model lies, as a manifest of it names it (default: the only location that "
              "manifests name)");
  verb.option("--pod", options->pod_uid, "UID",
              "read what this pod has mounted; with --instance: the pod that runs it");
  verb.option("--volume", options->pod_volume, "NAME",
              "with --pod: its volume, as the kubelet names it: the persistent volume of a claim, "
              "else the volume's name in the pod");
  verb.option("--instance", options->instance, "NAME",
              "what the processes of this model instance, which registered with the node's agent, "
              "have in memory (default: files)");
  verb.option("--entries", options->entries, "N,N",
              "only these entries, by their position in the manifest (default: all, "
              "and nothing "
              "may be there beside them)");
  add_wait_options(verb, options->wait);
  add_connection_options(verb, options->connection);
  verb.note(
      "Needs the role decider or submitter; --wait also needs a role that may read jobs, such "
      "as\nreader. Prints the job's id. With --wait the exit status is 0 when the node verified "
      "the model, 1 when it "
      "did not.");
  verb.example("assay job new acme/llama --node gpu-node-1 --wait",
               "have a node verify a model, and wait for the result");
  verb.example(
      "assay job new assay-tree-v1-sha256:dc66... --node gpu-node-1 --location "
      "pvc://inference/models",
      "say which of several places the node reads");
  verb.example(
      "assay job new acme/llama --node gpu-node-1 --pod 5f1d0c52-... --instance main --wait",
      "have a model verified in the memory of the pod that serves it");
  verb.action([options, &context] { return make(context, *options); });
}

// --- list and show

struct ListOptions {
  std::string node;
  std::string artifact;
  std::string state;
  ListFlags list;
};

ListView job_view() {
  return {.noun = "job",
          .heads = {"JOB", "NODE", "MODEL", "SCOPE", "STATE", "RESULT", "CREATED"},
          .cells = [](const Json& job) -> std::vector<std::string> {
            return {text_at(job, "id"),        text_at(job, "node"),  text_at(job, "model_name"),
                    text_at(job, "scope"),     text_at(job, "state"), text_at(job, "result"),
                    text_at(job, "created_at")};
          }};
}

Result<Exit> list(const Context& context, const ListOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  Query query;
  query.add("node", options.node);
  ASSAY_ASSIGN(const std::string artifact, subject_meant(api, options.artifact));
  query.add("artifact", artifact);
  query.add("state", options.state);
  ASSAY_ASSIGN(Json jobs, fetch_list(api, "/v1/jobs", query, options.list));
  print_list(context, job_view(), std::move(jobs));
  return Exit::kYes;
}

void add_list(const Command& group, Context& context) {
  auto options = std::make_shared<ListOptions>();
  const Command verb = group.add("list", "Print jobs, newest first");
  verb.option("--node", options->node, "NAME", "only jobs of this node");
  verb.option("--artifact", options->artifact, "MODEL|ID", "only jobs about this model");
  verb.choice("--state", options->state, {"open", "finished"}, "only jobs in this state");
  add_list_options(verb, options->list);
  verb.example("assay job list --node gpu-node-1 --state open", "list what a node still has to do");
  verb.action([options, &context] { return list(context, *options); });
}

struct ShowOptions {
  std::string id;
  WaitFlags wait;
  ConnectionFlags connection;
};

Result<Exit> show(const Context& context, const ShowOptions& options) {
  ASSAY_TRY(check(options.wait));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json job, await(api, options.id, options.wait));
  return finish(context, job, options.wait);
}

void add_show(const Command& group, Context& context) {
  auto options = std::make_shared<ShowOptions>();
  const Command verb = group.add("show", "Print one job and what came out");
  verb.argument("ID", options->id, "the job's id");
  add_wait_options(verb, options->wait);
  add_connection_options(verb, options->connection);
  verb.note(
      "Exits with 0 whatever the result is; with --wait it exits with 1 unless the result "
      "is\n'verified'.");
  verb.example("assay job show 0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11 --wait",
               "wait for the result, and have it as the exit status");
  verb.action([options, &context] { return show(context, *options); });
}

}  // namespace

void add_job(const Command& root, Context& context) {
  const Command group = root.add("job", "Verification of models by nodes");
  add_new(group, context);
  add_list(group, context);
  add_show(group, context);
}

}  // namespace assay::cli
