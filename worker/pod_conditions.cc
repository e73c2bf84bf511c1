// SPDX-License-Identifier: Apache-2.0
#include "worker/pod_conditions.h"

#include <algorithm>
#include <utility>

#include "client/api.h"
#include "schemas/core/json_at.h"
#include "schemas/core/json_foreign.h"
#include "schemas/job.h"

namespace assay::worker {
namespace {

constexpr const char* kStrategicMerge = "application/strategic-merge-patch+json";

bool has_gate(const Json& spec) {
  return std::ranges::any_of(array_at(spec, "readinessGates"), [](const Json& gate) {
    return text_at(gate, "conditionType") == kVerifiedCondition;
  });
}

bool has_ended(const Json& status) {
  const std::string phase = text_at(status, "phase");
  return phase == "Succeeded" || phase == "Failed";
}

// Names go into the paths of requests.
bool is_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

std::optional<PodCondition> shown_in(const Json& status) {
  for (const Json& condition : array_at(status, "conditions")) {
    if (text_at(condition, "type") == kVerifiedCondition) {
      return PodCondition{text_at(condition, "status"), text_at(condition, "reason"),
                          text_at(condition, "message")};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<GatedPod>> gated_pods(ByteView list, const std::string& node) {
  JsonLimits limits;
  limits.max_bytes = client::kMaxResponseBytes;
  ASSAY_ASSIGN(const Json json, parse_foreign_json(list, limits));
  const std::string kind = text_at(json, "kind");
  if (kind != "PodList" || !member_at(json, "items").is_array()) {
    return fail(ErrorCode::kSchemaViolation, "The API server's answer is no list of pods");
  }
  std::vector<GatedPod> pods;
  for (const Json& item : array_at(json, "items")) {
    const Json& metadata = object_at(item, "metadata");
    const Json& spec = object_at(item, "spec");
    const Json& status = object_at(item, "status");
    if (text_at(spec, "nodeName") != node || !has_gate(spec) || has_ended(status)) {
      continue;
    }
    GatedPod pod{text_at(metadata, "uid"), text_at(metadata, "name"),
                 text_at(metadata, "namespace"), shown_in(status)};
    if (!check_pod_uid(pod.uid) || !is_name(pod.name) || !is_name(pod.name_space)) {
      return fail(ErrorCode::kSchemaViolation, "A pod of the API server lacks uid or name");
    }
    if (pods.size() == kMaxGatedPods) {
      return fail(ErrorCode::kLimitExceeded, "The node has too many pods with the readiness gate");
    }
    pods.push_back(std::move(pod));
  }
  return pods;
}

std::string condition_patch(const GatedPod& pod, const PodCondition& condition,
                            std::optional<Timestamp> since) {
  Json set = {{"type", kVerifiedCondition},
              {"status", condition.status},
              {"reason", condition.reason},
              {"message", condition.message}};
  if (since) {
    set["lastTransitionTime"] = to_rfc3339(*since);
  }
  const Json patch = {{"metadata", {{"uid", pod.uid}}},
                      {"status", {{"conditions", Json::array({std::move(set)})}}}};
  return patch.dump();
}

Result<client::HttpResponse> ClusterPods::send(client::HttpRequest request) {
  ASSAY_ASSIGN(client::HttpClient client, client::HttpClient::open(caller_, connection_));
  request.stop = stop_;
  return client.send(request);
}

// From the API server's memory (resourceVersion=0): older by moments, and cheap for it.
Result<std::vector<GatedPod>> ClusterPods::pods() {
  client::HttpRequest request;
  request.path = "/api/v1/pods?resourceVersion=0&fieldSelector=" +
                 client::percent_encode("spec.nodeName=" + node_);
  ASSAY_ASSIGN(const client::HttpResponse answer, send(std::move(request)));
  return gated_pods(answer.body, node_);
}

Status ClusterPods::set(const GatedPod& pod, const PodCondition& condition,
                        std::optional<Timestamp> since) {
  client::HttpRequest request;
  request.method = "PATCH";
  request.path = "/api/v1/namespaces/" + client::percent_encode(pod.name_space) + "/pods/" +
                 client::percent_encode(pod.name) + "/status";
  request.content_type = kStrategicMerge;
  const std::string patch = condition_patch(pod, condition, since);
  const ByteView bytes = as_bytes(patch);
  request.body.assign(bytes.begin(), bytes.end());
  ASSAY_TRY(send(std::move(request)));
  return {};
}

}  // namespace assay::worker
