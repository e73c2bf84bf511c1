// SPDX-License-Identifier: Apache-2.0
// Verification jobs: a node shall hash a model where it runs (design section 6).
// Schemas: job-request.schema.json, job-lease.schema.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/challenge.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

// Version of the protocol between service and worker; a worker refuses others.
inline constexpr std::uint64_t kJobProtocolVersion = 1;

// What is hashed: bytes of files on the node, or bytes of device memory that a process registered.
enum class JobScope : std::uint8_t { kFiles, kDeviceMemory };
[[nodiscard]] std::string_view name(JobScope scope);  // "files", "device-memory"
[[nodiscard]] Result<JobScope> job_scope_from(std::string_view name);

// Body of POST /v1/jobs.
struct JobRequest {
  ArtifactId artifact;
  JobScope scope = JobScope::kFiles;
  std::string node;
  // Where the model lies below the node's models directory; a path as in artifacts. Empty: the
  // model's name.
  std::string path;
  // Entries to verify, by position in the artifact, ascending; empty: all.
  std::vector<std::uint64_t> subset;
};
[[nodiscard]] Json to_json(const JobRequest& request);
[[nodiscard]] Result<JobRequest> parse_job_request(ByteView body);

// What a worker gets when it leases a job. `token` fences: it grows with every lease of the job,
// and only the newest counts.
struct JobLease {
  std::string job;  // UUIDv7
  ArtifactId artifact;
  std::string model_name;
  JobScope scope;
  std::string node;
  std::string path;  // never empty
  std::vector<std::uint64_t> subset;
  std::uint64_t token;
  Timestamp expires_at;
  std::uint64_t lease_seconds;  // renew well before they are over
  Challenge challenge;          // purpose report
};
[[nodiscard]] Json to_json(const JobLease& lease);
[[nodiscard]] Result<JobLease> parse_job_lease(ByteView body);

}  // namespace assay
