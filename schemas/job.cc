// SPDX-License-Identifier: Apache-2.0
// Verification jobs: shape by job-request and job-lease.schema.json.
#include "schemas/job.h"

#include "schemas/core/artifact.h"
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

Result<std::string> read_path(const Json& json) {
  std::string path = members::text(json, "path");
  if (!path.empty()) {
    if (auto status = check_path(path); !status) {
      return fail(status.error().code, std::move(status.error().detail), "/path");
    }
  }
  return path;
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

Json to_json(const JobRequest& request) {
  Json json = {{"artifact", request.artifact.text()},
               {"scope", name(request.scope)},
               {"node", request.node}};
  if (!request.path.empty()) {
    json["path"] = request.path;
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
  JobRequest request{std::move(artifact), JobScope::kFiles, members::text(json, "node"), {}, {}};
  if (json.contains("scope")) {
    ASSAY_ASSIGN(request.scope, job_scope_from(members::text(json, "scope")));
  }
  ASSAY_ASSIGN(request.path, read_path(json));
  ASSAY_ASSIGN(request.subset, members::ascending(json, "subset"));
  return request;
}

Json to_json(const JobLease& lease) {
  return {{"protocol", kJobProtocolVersion},
          {"job", lease.job},
          {"artifact", lease.artifact.text()},
          {"model_name", lease.model_name},
          {"scope", name(lease.scope)},
          {"node", lease.node},
          {"path", lease.path},
          {"subset", lease.subset},
          {"token", lease.token},
          {"expires_at", to_rfc3339(lease.expires_at)},
          {"lease_seconds", lease.lease_seconds},
          {"challenge", to_json(lease.challenge)}};
}

Result<JobLease> parse_job_lease(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kJobLimits));
  ASSAY_TRY(check_protocol(json));
  ASSAY_TRY(validate("job-lease", json));
  ASSAY_ASSIGN(ArtifactId artifact, read_artifact(json));
  ASSAY_ASSIGN(const JobScope scope, job_scope_from(members::text(json, "scope")));
  ASSAY_ASSIGN(std::string path, read_path(json));
  ASSAY_ASSIGN(auto subset, members::ascending(json, "subset"));
  ASSAY_ASSIGN(const Timestamp expires_at, members::time(json, "expires_at"));
  ASSAY_ASSIGN(Challenge challenge, read_challenge(json));
  return JobLease{.job = members::text(json, "job"),
                  .artifact = std::move(artifact),
                  .model_name = members::text(json, "model_name"),
                  .scope = scope,
                  .node = members::text(json, "node"),
                  .path = std::move(path),
                  .subset = std::move(subset),
                  .token = members::number(json, "token"),
                  .expires_at = expires_at,
                  .lease_seconds = members::number(json, "lease_seconds"),
                  .challenge = std::move(challenge)};
}

}  // namespace assay
