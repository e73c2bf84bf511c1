// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/pod_readiness.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cli/client/connect.h"
#include "worker/instances/watch.h"

namespace assay::cli {
namespace {

// Where a pod finds its API server.
constexpr const char* kApiServer = "https://kubernetes.default.svc";
constexpr const char* kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr std::uint64_t kTimeout = 20;  // seconds for one request
constexpr std::uint64_t kLongestPeriod = 3'600;
constexpr std::uint64_t kLongestHold = 86'400;

worker::ReadinessTimes times_from(const ReadinessOptions& options) {
  worker::ReadinessTimes times;
  if (options.period) {
    times.period = std::chrono::seconds(*options.period);
  }
  if (options.hold) {
    times.hold = std::chrono::seconds(*options.hold);
  }
  return times;
}

// From the options alone: variables and profiles name the service, whose credentials are not the
// API server's to see.
client::Connection api_server_of(const ReadinessOptions& options) {
  const std::string account = kAccount;
  client::Connection connection;
  connection.server = options.server.empty() ? kApiServer : options.server;
  connection.ca = options.ca.empty() ? account + "ca.crt" : options.ca;
  connection.token_file = options.token_file.empty() ? account + "token" : options.token_file;
  connection.timeout_seconds = kTimeout;
  connection.retries = 0;
  return connection;
}

std::set<std::string> violated_pods(const worker::InstanceWatch* watch) {
  std::set<std::string> pods;
  if (watch != nullptr) {
    for (const InstanceBeat& beat : watch->beats()) {
      if (beat.state == InstanceState::kViolated) {
        pods.insert(beat.instance.pod);
      }
    }
  }
  return pods;
}

}  // namespace

void add_readiness_options(const Command& verb, ReadinessOptions& options) {
  verb.option("--pod-conditions", options.cluster, "CLUSTER",
              "set the condition assay.dev/verified of pods with this readiness gate "
              "(docs/kserve.md); CLUSTER is the principal of their API server. Needs the role "
              "decider, too (default: none)");
  verb.option("--api-server", options.server, "URL",
              "API server of Kubernetes (default https://kubernetes.default.svc)");
  verb.option("--api-server-ca", options.ca, "FILE",
              "its certificate or CA (default: that of the pod's ServiceAccount)");
  verb.option("--api-server-token", options.token_file, "FILE",
              "token for it, read again for each request (default: that of the ServiceAccount)");
  verb.option("--condition-period", options.period, "SECONDS",
              "ask the service about each pod once in this time (default 10)");
  verb.option("--condition-hold", options.hold, "SECONDS",
              "keep an allow for so long while the service gives no answer (default 300)");
}

Status check(const ReadinessOptions& options) {
  const bool more = !options.server.empty() || !options.ca.empty() || !options.token_file.empty() ||
                    options.period || options.hold;
  if (options.cluster.empty() && more) {
    return fail(ErrorCode::kUsage, "--api-server... and --condition-... need --pod-conditions");
  }
  constexpr std::string_view kScheme = "https://";
  const std::string& server = options.server;
  if (!server.empty() && (!server.starts_with(kScheme) || server.size() == kScheme.size() ||
                          server.find_first_of("/?#@ ", kScheme.size()) != std::string::npos)) {
    return fail(ErrorCode::kUsage, "--api-server is https://HOST[:PORT]", server);
  }
  if (options.period.value_or(1) < 1 || options.period.value_or(1) > kLongestPeriod) {
    return fail(ErrorCode::kUsage, "--condition-period is from 1 to 3600 seconds");
  }
  if (options.hold.value_or(0) > kLongestHold) {
    return fail(ErrorCode::kUsage, "--condition-hold is at most 86400 seconds");
  }
  return {};
}

PodReadiness::PodReadiness(const Context& context, const ReadinessOptions& options,
                           const worker::Parts& parts, worker::Service sender)
    : service(std::move(sender)),
      pods(caller_of(context), api_server_of(options), parts.node, parts.drain),
      rules(
          context.clock, pods,
          [this, cluster = options.cluster, node = parts.node](const std::string& uid,
                                                               bool dry_run) {
            return service.decide({cluster, uid, node, dry_run});
          },
          [watch = parts.watch] { return violated_pods(watch); }, parts.events,
          times_from(options)),
      loop(rules, times_from(options)) {}

Result<std::unique_ptr<PodReadiness>> open_pod_readiness(const Context& context,
                                                         const ReadinessOptions& options,
                                                         const worker::Parts& parts,
                                                         worker::Service service) {
  if (options.cluster.empty()) {
    return std::unique_ptr<PodReadiness>();
  }
  // Told at the start, and not as an event of each round.
  ASSAY_TRY(client::HttpClient::open(caller_of(context), api_server_of(options)));
  return std::make_unique<PodReadiness>(context, options, parts, std::move(service));
}

}  // namespace assay::cli
