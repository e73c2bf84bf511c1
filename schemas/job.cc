// SPDX-License-Identifier: Apache-2.0
// Verification jobs: shape by job-request and job-lease.schema.json.
#include "schemas/job.h"

#include <algorithm>

#include "schemas/core/artifact.h"
#include "schemas/location.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr JsonLimits kJobLimits{2U << 20};

Result<ArtifactId> read_artifact(const Json& json) {
  auto artifact = ArtifactId::parse(members::text(json, "artifact"));
  if (!artifact) {
    return members::under("/artifact", std::move(artifact).error());
  }
  return artifact;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A location with a pod is one that the kubelet mounts.
Result<std::string> read_location(const Json& json, const std::optional<JobPod>& pod) {
  std::string given = members::text(json, "location");
  if (given.empty()) {
    return given;
  }
  auto location = normalise_location(given);
  if (!location) {
    return members::under("/location", std::move(location).error());
  }
  if (pod && !is_kubelet_volume(*location)) {
    return fail(ErrorCode::kInvalidParameter, "the kubelet mounts no volume for this location",
                "/location");
  }
  return location;
}

// Members that say what of files is read have no meaning for memory. A lease has them, empty; of a
// request its schema says it.
Status check_memory_lease(const Json& json, JobScope scope) {
  if (scope != JobScope::kDeviceMemory) {
    return {};
  }
  const bool has_subset = json.contains("subset") && !json["subset"].empty();
  const bool has_place = json.contains("pod") || !members::text(json, "location").empty();
  return has_subset || has_place
             ? fail(ErrorCode::kSchemaViolation,
                    "a job about device memory names an instance alone: no location, pod or subset",
                    "/scope")
             : Status();
}

// A newer service may say more than this program knows: it is named as such.
Status check_protocol(const Json& json) {
  const auto protocol = json.is_object() ? json.find("protocol") : json.end();
  if (json.is_object() && protocol != json.end() && *protocol != kJobProtocolVersion) {
    return fail(ErrorCode::kSchemaViolation,
                "the service speaks another version of the job protocol; update the worker",
                "/protocol");
  }
  return {};
}

Result<Challenge> read_challenge(const Json& json) {
  const Json none = Json::object();
  auto challenge = challenge_from_json(members::child(json, "challenge", none));
  if (!challenge) {
    return members::under("/challenge", std::move(challenge).error());
  }
  if (challenge->purpose != ChallengePurpose::kReport ||
      challenge->job != members::text(json, "job") ||
      challenge->node != members::text(json, "node")) {
    return fail(ErrorCode::kChallengeMismatch, "the nonce is not for a report of this job",
                "/challenge");
  }
  return challenge;
}

}  // namespace

std::string_view name(JobScope scope) {
  return scope == JobScope::kFiles ? "files" : "device-memory";
}

Result<JobScope> job_scope_from(std::string_view name) {
  for (const JobScope scope : {JobScope::kFiles, JobScope::kDeviceMemory}) {
    if (assay::name(scope) == name) {
      return scope;
    }
  }
  return fail(ErrorCode::kInvalidParameter, "a scope is files or device-memory");
}

Status check_pod_uid(std::string_view uid) {
  constexpr std::size_t kMaxUid = 64;
  const bool plain =
      std::ranges::all_of(uid, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
  return !uid.empty() && uid.size() <= kMaxUid && plain && uid.front() != '-'
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "the uid of a pod is letters, digits and '-'");
}

Status check_volume_name(std::string_view name) {
  constexpr std::size_t kMaxName = 253;
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (is_letter(c) && c >= 'a') || is_digit(c) || c == '-' || c == '.';
  });
  const auto is_edge = [](char c) { return c == '.' || c == '-'; };
  return !name.empty() && name.size() <= kMaxName && plain && !is_edge(name.front()) &&
                 !is_edge(name.back()) && name.find("..") == std::string_view::npos
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "the name of a volume is a lowercase DNS name");
}

Json to_json(const JobPod& pod) { return {{"uid", pod.uid}, {"volume", pod.volume}}; }

Result<std::optional<JobPod>> read_job_pod(const Json& json) {
  if (!json.contains("pod")) {
    return std::optional<JobPod>();
  }
  JobPod pod{members::text(json["pod"], "uid"), members::text(json["pod"], "volume")};
  if (auto status = check_pod_uid(pod.uid); !status) {
    return members::under("/pod/uid", std::move(status).error());
  }
  if (auto status = check_volume_name(pod.volume); !status) {
    return members::under("/pod/volume", std::move(status).error());
  }
  return pod;
}

Status check_instance_name(std::string_view name) {
  constexpr std::size_t kMaxName = 63;
  const bool plain = std::ranges::all_of(
      name, [](char c) { return (is_letter(c) && c >= 'a') || is_digit(c) || c == '-'; });
  return !name.empty() && name.size() <= kMaxName && plain
             ? Status()
             : fail(ErrorCode::kSchemaViolation,
                    "the name of an instance is 1 to 63 of lowercase letters, digits and '-'");
}

Json to_json(const JobInstance& instance) {
  return {{"pod", instance.pod}, {"instance", instance.instance}};
}

Result<std::optional<JobInstance>> read_job_instance(const Json& json, JobScope scope) {
  const bool there = json.contains("instance");
  if (there != (scope == JobScope::kDeviceMemory)) {
    return fail(ErrorCode::kSchemaViolation,
                "scope device-memory is about an instance, and no other scope is", "/instance");
  }
  if (!there) {
    return std::optional<JobInstance>();
  }
  JobInstance instance{members::text(json["instance"], "pod"),
                       members::text(json["instance"], "instance")};
  if (!instance.pod.empty()) {
    if (auto status = check_pod_uid(instance.pod); !status) {
      return members::under("/instance/pod", std::move(status).error());
    }
  }
  if (auto status = check_instance_name(instance.instance); !status) {
    return members::under("/instance/instance", std::move(status).error());
  }
  return instance;
}

bool is_kubelet_volume(std::string_view location) {
  return location.starts_with("pvc://") || location.starts_with("nfs://") ||
         location.starts_with("csi://");
}

Json to_json(const JobRequest& request) {
  Json json = {{"artifact", request.artifact.text()},
               {"scope", name(request.scope)},
               {"node", request.node}};
  if (!request.location.empty()) {
    json["location"] = request.location;
  }
  if (request.pod) {
    json["pod"] = to_json(*request.pod);
  }
  if (request.instance) {
    json["instance"] = to_json(*request.instance);
  }
  if (!request.subset.empty()) {
    json["subset"] = request.subset;
  }
  return json;
}

Result<JobRequest> parse_job_request(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kJobLimits));
  ASSAY_TRY(validate("job-request", json));
  ASSAY_ASSIGN(ArtifactId artifact, read_artifact(json));
  JobRequest request{
      std::move(artifact), JobScope::kFiles, members::text(json, "node"), {}, {}, {}, {}};
  if (json.contains("scope")) {
    ASSAY_ASSIGN(request.scope, job_scope_from(members::text(json, "scope")));
  }
  ASSAY_ASSIGN(request.instance, read_job_instance(json, request.scope));
  ASSAY_ASSIGN(request.pod, read_job_pod(json));
  ASSAY_ASSIGN(request.location, read_location(json, request.pod));
  ASSAY_ASSIGN(request.subset, members::ascending(json, "subset"));
  return request;
}

Json to_json(const JobLease& lease) {
  Json json = {{"protocol", kJobProtocolVersion},
               {"job", lease.job},
               {"artifact", lease.artifact.text()},
               {"model_name", lease.model_name},
               {"scope", name(lease.scope)},
               {"node", lease.node},
               {"location", lease.location},
               {"subset", lease.subset},
               {"token", lease.token},
               {"expires_at", to_rfc3339(lease.expires_at)},
               {"lease_seconds", lease.lease_seconds},
               {"challenge", to_json(lease.challenge)}};
  if (lease.pod) {
    json["pod"] = to_json(*lease.pod);
  }
  if (lease.instance) {
    json["instance"] = to_json(*lease.instance);
  }
  return json;
}

Result<JobLease> parse_job_lease(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kJobLimits));
  ASSAY_TRY(check_protocol(json));
  ASSAY_TRY(validate("job-lease", json));
  ASSAY_ASSIGN(ArtifactId artifact, read_artifact(json));
  ASSAY_ASSIGN(const JobScope scope, job_scope_from(members::text(json, "scope")));
  ASSAY_TRY(check_memory_lease(json, scope));
  ASSAY_ASSIGN(auto instance, read_job_instance(json, scope));
  ASSAY_ASSIGN(auto pod, read_job_pod(json));
  ASSAY_ASSIGN(std::string location, read_location(json, pod));
  if (location.empty() && !pod && !instance) {
    return fail(ErrorCode::kSchemaViolation, "a lease names a location, a pod or an instance",
                "/location");
  }
  ASSAY_ASSIGN(auto subset, members::ascending(json, "subset"));
  ASSAY_ASSIGN(const Timestamp expires_at, members::time(json, "expires_at"));
  ASSAY_ASSIGN(Challenge challenge, read_challenge(json));
  return JobLease{.job = members::text(json, "job"),
                  .artifact = std::move(artifact),
                  .model_name = members::text(json, "model_name"),
                  .scope = scope,
                  .node = members::text(json, "node"),
                  .location = std::move(location),
                  .pod = std::move(pod),
                  .instance = std::move(instance),
                  .subset = std::move(subset),
                  .token = members::number(json, "token"),
                  .expires_at = expires_at,
                  .lease_seconds = members::number(json, "lease_seconds"),
                  .challenge = std::move(challenge)};
}

}  // namespace assay
