// SPDX-License-Identifier: Apache-2.0
// Verification jobs: shape by job-request and job-lease.schema.json.
#include "schemas/job.h"

#include <algorithm>

#include "schemas/core/artifact.h"
#include "schemas/core/names.h"
#include "schemas/document.h"
#include "schemas/location.h"

namespace assay {
namespace {

constexpr JsonLimits kJobLimits{2U << 20};
constexpr Names<JobScope, 2> kScopes = {
    {{{JobScope::kFiles, "files"}, {JobScope::kDeviceMemory, "device-memory"}}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A location with a pod is one that the kubelet mounts.
Status check_pod_location(const std::string& location, const std::optional<JobPod>& pod) {
  return !pod || location.empty() || is_kubelet_volume(location)
             ? Status()
             : fail(ErrorCode::kInvalidParameter, "the kubelet mounts no volume for this location",
                    "/location");
}

// Members that say what of files is read have no meaning for memory. A lease has them, empty; of a
// request its schema says it.
Status check_memory_lease(const JobLease& lease) {
  return lease.scope != JobScope::kDeviceMemory ||
                 (lease.subset.empty() && !lease.pod && lease.location.empty())
             ? Status()
             : fail(ErrorCode::kSchemaViolation,
                    "a job about device memory names an instance alone: no location, pod or subset",
                    "/scope");
}

Status check_challenge(const JobLease& lease) {
  const Challenge& challenge = lease.challenge;
  return challenge.purpose == ChallengePurpose::kReport && challenge.job == lease.job &&
                 challenge.node == lease.node
             ? Status()
             : fail(ErrorCode::kChallengeMismatch, "the nonce is not for a report of this job",
                    "/challenge");
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

// As normalise_location() spells it.
constexpr auto kLocation = json::spelled([](const std::string& location) { return location; },
                                         [](std::string_view text) -> Result<std::string> {
                                           return text.empty() ? Result<std::string>(std::string())
                                                               : normalise_location(text);
                                         });

Status check_uid_if_any(const std::string& uid) {
  return uid.empty() ? Status() : check_pod_uid(uid);
}

}  // namespace

std::string_view name(JobScope scope) { return kScopes.of(scope); }

Result<JobScope> job_scope_from(std::string_view name) {
  return kScopes.parse(name, "a scope is files or device-memory");
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

static auto members_of(json::As<JobPod>) {
  return std::tuple(json::always("uid", &JobPod::uid, json::checked(check_pod_uid)),
                    json::always("volume", &JobPod::volume, json::checked(check_volume_name)));
}
Json to_json(const JobPod& pod) { return json::write(pod); }
Result<JobPod> read_json(json::As<JobPod> /*type*/, const Json& json) {
  return json::read<JobPod>(json);
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

static auto members_of(json::As<JobInstance>) {
  using T = JobInstance;
  return std::tuple(json::always("pod", &T::pod, json::checked(check_uid_if_any)),
                    json::always("instance", &T::instance, json::checked(check_instance_name)));
}
Json to_json(const JobInstance& instance) { return json::write(instance); }
Result<JobInstance> read_json(json::As<JobInstance> /*type*/, const Json& json) {
  return json::read<JobInstance>(json);
}

Status check_instance(const std::optional<JobInstance>& instance, JobScope scope) {
  return instance.has_value() == (scope == JobScope::kDeviceMemory)
             ? Status()
             : fail(ErrorCode::kSchemaViolation,
                    "scope device-memory is about an instance, and no other scope is", "/instance");
}

bool is_kubelet_volume(std::string_view location) {
  return location.starts_with("pvc://") || location.starts_with("nfs://") ||
         location.starts_with("csi://");
}

static auto members_of(json::As<JobRequest>) {
  using T = JobRequest;
  return std::tuple(json::always("artifact", &T::artifact),
                    json::or_default("scope", &T::scope, json::named(job_scope_from)),
                    json::always("node", &T::node),
                    json::if_set("location", &T::location, kLocation),
                    json::if_set("subset", &T::subset, json::ascending()),
                    json::if_set("pod", &T::pod), json::if_set("instance", &T::instance));
}
static JobRequest start(json::As<JobRequest>) {
  return {json::unread<ArtifactId>(), {}, {}, {}, {}};
}
static Status together(const JobRequest& request) {
  ASSAY_TRY(check_instance(request.instance, request.scope));
  return check_pod_location(request.location, request.pod);
}
Json to_json(const JobRequest& request) { return json::write(request); }
Result<JobRequest> parse_job_request(ByteView body) {
  return document::parse<JobRequest>(body, "job-request", kJobLimits);
}

static auto members_of(json::As<JobLease>) {
  using T = JobLease;
  return std::tuple(
      json::constant("protocol", kJobProtocolVersion), json::always("job", &T::job),
      json::always("artifact", &T::artifact), json::always("model_name", &T::model_name),
      json::always("scope", &T::scope, json::named(job_scope_from)), json::always("node", &T::node),
      json::always("location", &T::location, kLocation), json::if_set("pod", &T::pod),
      json::if_set("instance", &T::instance), json::always("subset", &T::subset, json::ascending()),
      json::always("token", &T::token), json::always("expires_at", &T::expires_at),
      json::always("lease_seconds", &T::lease_seconds), json::always("challenge", &T::challenge));
}
static JobLease start(json::As<JobLease>) {
  return {{}, json::unread<ArtifactId>(), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
}
static Status together(const JobLease& lease) {
  ASSAY_TRY(check_memory_lease(lease));
  ASSAY_TRY(check_instance(lease.instance, lease.scope));
  ASSAY_TRY(check_pod_location(lease.location, lease.pod));
  if (lease.location.empty() && !lease.pod && !lease.instance) {
    return fail(ErrorCode::kSchemaViolation, "a lease names a location, a pod or an instance",
                "/location");
  }
  return check_challenge(lease);
}
Json to_json(const JobLease& lease) { return json::write(lease); }
Result<JobLease> parse_job_lease(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kJobLimits));
  ASSAY_TRY(check_protocol(json));
  ASSAY_TRY(validate("job-lease", json));
  return json::read<JobLease>(json);
}

}  // namespace assay
