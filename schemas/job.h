// SPDX-License-Identifier: Apache-2.0
// Verification jobs: a node shall hash a model where it runs (docs/design.md, "Nodes").
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

// A pod whose own mount is read. The volume is named as the kubelet names its directory: by the
// persistent volume that a claim is bound to, else by the volume's name in the pod.
struct JobPod {
  std::string uid;
  std::string volume;
  bool operator==(const JobPod&) const = default;
};
// Letters, digits and '-' for a uid; a lowercase DNS name for a volume: neither means anything in a
// path. schema-violation.
[[nodiscard]] Status check_pod_uid(std::string_view uid);
[[nodiscard]] Status check_volume_name(std::string_view name);
// {"uid","volume"}
[[nodiscard]] Json to_json(const JobPod& pod);
// The member "pod"; nothing when there is none.
[[nodiscard]] Result<std::optional<JobPod>> read_job_pod(const Json& json);

// A model instance that processes registered with the node agent (docs/instances.md).
struct JobInstance {
  std::string pod;       // uid of the pod that they run in; empty: in none
  std::string instance;  // name within the pod
  auto operator<=>(const JobInstance&) const = default;
};
// 1 to 63 of lowercase letters, digits and '-'. schema-violation.
[[nodiscard]] Status check_instance_name(std::string_view name);
// {"pod","instance"}
[[nodiscard]] Json to_json(const JobInstance& instance);
// The member "instance", there exactly when the scope is device-memory: schema-violation otherwise.
[[nodiscard]] Result<std::optional<JobInstance>> read_job_instance(const Json& json,
                                                                   JobScope scope);

// True when the kubelet mounts what this location names below a pod's directory, so that a job can
// read it there: claims, NFS and CSI volumes.
[[nodiscard]] bool is_kubelet_volume(std::string_view location);

// Body of POST /v1/jobs.
struct JobRequest {
  ArtifactId artifact;
  JobScope scope = JobScope::kFiles;
  std::string node;
  // Where the model lies (schemas/location.h), in its one spelling. Empty without a pod: the only
  // location that manifests of the artifact name; with one: a volume that was filled at run time.
  // With an instance it is empty, as `subset` and `pod` are: a job is about all of its tensors.
  std::string location;
  // Entries to verify, by position in the artifact, ascending; empty: all.
  std::vector<std::uint64_t> subset;
  std::optional<JobPod> pod = {};
  std::optional<JobInstance> instance = {};  // set exactly with kDeviceMemory
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
  std::string location;  // empty only with a pod or an instance
  std::optional<JobPod> pod;
  std::optional<JobInstance> instance{};  // set exactly with kDeviceMemory
  std::vector<std::uint64_t> subset;
  std::uint64_t token;
  Timestamp expires_at;
  std::uint64_t lease_seconds;  // renew well before they are over
  Challenge challenge;          // purpose report
};
[[nodiscard]] Json to_json(const JobLease& lease);
[[nodiscard]] Result<JobLease> parse_job_lease(ByteView body);

}  // namespace assay
