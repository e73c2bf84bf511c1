// SPDX-License-Identifier: Apache-2.0
// Verification jobs: requests that a node hash a model on the node itself (docs/design.md,
// "Nodes").
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

// Version of the protocol between service and worker. A worker refuses other versions.
inline constexpr std::uint64_t kJobProtocolVersion = 1;

// What a job hashes: bytes of files on the node, or bytes of device memory that a process
// registered.
enum class JobScope : std::uint8_t { kFiles, kDeviceMemory };
[[nodiscard]] std::string_view name(JobScope scope);  // "files", "device-memory"
[[nodiscard]] Result<JobScope> job_scope_from(std::string_view name);

// A pod whose own mount a job reads. `volume` is the name that the kubelet gives the volume's
// directory: the name of the persistent volume bound to a claim, else the volume's name in the pod.
struct JobPod {
  std::string uid;
  std::string volume;
  bool operator==(const JobPod&) const = default;
};
// Check that a uid has only letters, digits and '-', and that the name of a volume is a lowercase
// DNS name. Such texts have no special meaning in a path. Errors: schema-violation.
[[nodiscard]] Status check_pod_uid(std::string_view uid);
[[nodiscard]] Status check_volume_name(std::string_view name);
// Returns {"uid","volume"}.
[[nodiscard]] Json to_json(const JobPod& pod);
[[nodiscard]] Result<JobPod> read_json(json::As<JobPod> type, const Json& json);

// A model instance that processes registered with the node agent (docs/instances.md).
struct JobInstance {
  std::string pod;       // uid of the pod that the processes run in; empty: they run in no pod
  std::string instance;  // name within the pod
  auto operator<=>(const JobInstance&) const = default;
};
// Checks that a name has 1 to 63 lowercase letters, digits and '-'. Errors: schema-violation.
[[nodiscard]] Status check_instance_name(std::string_view name);
// Returns {"pod","instance"}.
[[nodiscard]] Json to_json(const JobInstance& instance);
[[nodiscard]] Result<JobInstance> read_json(json::As<JobInstance> type, const Json& json);
// Returns schema-violation unless there is an instance exactly with scope device-memory.
[[nodiscard]] Status check_instance(const std::optional<JobInstance>& instance, JobScope scope);

// Returns true when the kubelet mounts this location below a pod's directory, where a job can read
// it. Such locations are claims, NFS volumes and CSI volumes.
[[nodiscard]] bool is_kubelet_volume(std::string_view location);

// Body of POST /v1/jobs.
struct JobRequest {
  ArtifactId artifact;
  JobScope scope = JobScope::kFiles;
  std::string node;
  // Where the model lies, as normalise_location() spells it (schemas/location.h). When empty in a
  // request without a pod, the job uses the only location in the artifact's manifests. When empty
  // in a request with a pod, the job reads a volume filled at run time. A job about an instance has
  // no location, no pod and no subset: it is about all tensors of the artifact.
  std::string location;
  // Positions of the entries to verify, ascending. Empty: all entries.
  std::vector<std::uint64_t> subset;
  std::optional<JobPod> pod = {};
  std::optional<JobInstance> instance = {};  // set only for kDeviceMemory, where it is required
};
[[nodiscard]] Json to_json(const JobRequest& request);
[[nodiscard]] Result<JobRequest> parse_job_request(ByteView body);

// A lease: the right of one worker to do a job until `expires_at`. `token` is a fencing token: it
// grows with every lease of the job, and only the newest token is valid.
struct JobLease {
  std::string job;  // UUIDv7
  ArtifactId artifact;
  std::string model_name;
  JobScope scope;
  std::string node;
  std::string location;  // empty only with a pod or an instance
  std::optional<JobPod> pod;
  std::optional<JobInstance> instance{};  // set only for kDeviceMemory, where it is required
  std::vector<std::uint64_t> subset;
  std::uint64_t token;
  Timestamp expires_at;
  std::uint64_t lease_seconds;  // renew the lease well before this time has passed
  Challenge challenge;          // purpose report
};
[[nodiscard]] Json to_json(const JobLease& lease);
[[nodiscard]] Result<JobLease> parse_job_lease(ByteView body);

}  // namespace assay
