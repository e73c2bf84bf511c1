// SPDX-License-Identifier: Apache-2.0
// assay admission test: what the admission listener says about a review.
#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "cli/client/connect.h"
#include "cli/documents/secrets.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/json_advice.h"
#include "schemas/core/json_foreign.h"

namespace assay::cli {

namespace {

struct TestOptions {
  std::string file;
  bool mutate = false;
  std::string path_secret_file;
  std::uint64_t deadline = 10;  // seconds
  ConnectionFlags connection;
};

// What becomes a review of its creation, as kubectl prints it.
struct Kind {
  std::string_view name;
  std::string_view group;
  std::string_view resource;
};
constexpr std::array kKinds = {Kind{"Pod", "", "pods"},
                               Kind{"Binding", "", "pods"},
                               Kind{"ReplicationController", "", "replicationcontrollers"},
                               Kind{"Deployment", "apps", "deployments"},
                               Kind{"ReplicaSet", "apps", "replicasets"},
                               Kind{"StatefulSet", "apps", "statefulsets"},
                               Kind{"DaemonSet", "apps", "daemonsets"},
                               Kind{"Job", "batch", "jobs"},
                               Kind{"CronJob", "batch", "cronjobs"}};

Result<Json> review_of(const Context& context, Json document) {
  const std::string kind = text_at(document, "kind");
  if (kind == "AdmissionReview") {
    return document;
  }
  const std::string version = text_at(document, "apiVersion");
  const auto known = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& one) {
    return one.name == kind &&
           version == (one.group.empty() ? "" : std::string(one.group) + "/") + "v1";
  });
  if (known == kKinds.end()) {
    return fail(ErrorCode::kUsage,
                "The file holds neither an AdmissionReview nor a Pod, Binding or workload template "
                "(Deployment, Job and so on), in JSON");
  }
  ASSAY_ASSIGN(const std::string uid, make_uuid_v7(context.random, context.clock.now()));
  const auto metadata = document.find("metadata");
  const Json none = Json::object();
  const Json& meta = metadata == document.end() ? none : *metadata;
  const std::string name_space = text_at(meta, "namespace");
  Json request = {
      {"uid", uid},
      {"kind", {{"group", known->group}, {"version", "v1"}, {"kind", kind}}},
      {"resource", {{"group", known->group}, {"version", "v1"}, {"resource", known->resource}}},
      {"operation", "CREATE"},
      {"name", text_at(meta, "name")},
      {"namespace", name_space.empty() ? "default" : name_space},
      {"userInfo", {{"username", "assay-admission-test"}}},
      {"dryRun", true},
      {"object", std::move(document)}};
  if (kind == "Binding") {
    request["subResource"] = "binding";
  }
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request", std::move(request)}};
}

// "/<secret>" for listeners that know their callers by the path.
Result<std::string> path_prefix(const TestOptions& options) {
  if (options.path_secret_file.empty()) {
    return std::string();
  }
  client::protect_process();
  ASSAY_ASSIGN(const SecretBytes secret, client::read_secret_file(options.path_secret_file));
  return "/" + percent_encode(as_text(secret.view()));
}

void print_response(const Json& response, bool allowed) {
  print_line(allowed ? "allow" : "deny");
  const auto status = response.find("status");
  if (status != response.end() && !text_at(*status, "message").empty()) {
    std::istringstream lines(text_at(*status, "message"));
    for (std::string line; std::getline(lines, line);) {
      print_line(line);
    }
  }
  for (const Json& line : list_at(response, "warnings")) {
    print_line("warning: " + (line.is_string() ? line.get<std::string>() : line.dump()));
  }
  const auto annotations = response.find("auditAnnotations");
  if (annotations != response.end() && annotations->is_object()) {
    for (const auto& [name, value] : annotations->items()) {
      print_line(name + ": " + (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  const Result<Bytes> patch = base64_decode(text_at(response, "patch"));
  if (patch && !patch->empty()) {
    print_line("patch: " + std::string(as_text(*patch)));
  }
}

Result<Exit> test(const Context& context, const TestOptions& options) {
  if (options.deadline == 0 || options.deadline > 30) {
    return fail(ErrorCode::kUsage, "The deadline of a webhook is 1 to 30 seconds");
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.file));
  Result<Json> document = parse_foreign_json(bytes);  // as the service reads reviews
  if (!document) {
    return std::unexpected(with_json_advice(document.error(), as_text(bytes), options.file));
  }
  ASSAY_ASSIGN(const Json review, review_of(context, *std::move(document)));
  ASSAY_ASSIGN(const std::string prefix, path_prefix(options));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection, client::Endpoint::kAdmission));
  const std::string path = prefix + "/v1/admission/" + (options.mutate ? "mutate" : "validate") +
                           "?timeout=" + std::to_string(options.deadline) + "s";
  ASSAY_ASSIGN(const Json answer,
               api.post(path, as_bytes(review.dump()), client::kJsonType, false));
  const auto response = answer.is_object() ? answer.find("response") : answer.end();
  if (!answer.is_object() || response == answer.end() || !response->is_object() ||
      !response->contains("allowed") || !response->at("allowed").is_boolean()) {
    return fail(ErrorCode::kSchemaViolation, "The answer is no AdmissionReview with a response");
  }
  const auto request = review.find("request");
  if (request != review.end() && text_at(*response, "uid") != text_at(*request, "uid")) {
    return fail(ErrorCode::kSchemaViolation, "The answer is about another request");
  }
  const bool allowed = response->at("allowed").get<bool>();
  if (context.json()) {
    print_json(answer);
  } else {
    print_response(*response, allowed);
  }
  return allowed ? Exit::kYes : Exit::kNo;
}

}  // namespace

void add_admission(const Command& root, Context& context) {
  const Command group = root.add("admission", "Kubernetes admission");
  auto options = std::make_shared<TestOptions>();
  const Command verb = group.add("test", "Ask the admission listener about a review");
  verb.option("-f,--file", options->file, "FILE",
              "AdmissionReview in JSON, or a Pod, Binding or template; '-' is standard input");
  verb.required();
  verb.flag("--mutate", options->mutate, "ask the mutating webhook, and print its patch");
  verb.option("--path-secret-file", options->path_secret_file, "FILE",
              "file of mode 0600 with the secret path of the listener");
  verb.option("--deadline", options->deadline, "SECONDS",
              "how long the API server would wait (default 10)");
  add_connection_options(verb, options->connection);
  verb.note(
      "--server is the admission listener here (env ASSAY_ADMISSION_SERVER). Exits with 0 when\n"
      "the pod is allowed and with 1 when it is denied. A Pod, a Binding or a template is wrapped\n"
      "into a review of its creation with dryRun set.");
  verb.example(
      "assay admission test -f review.json --server https://assay:8444 --cert kube.crt \\\n"
      "      --cert-key kube.key",
      "ask as the API server does");
  verb.example("kubectl get pod demo -o json | assay admission test -f - --mutate",
               "see what would be changed in a pod");
  verb.action([options, &context] { return test(context, *options); });
}

}  // namespace assay::cli
