// SPDX-License-Identifier: Apache-2.0
// Heartbeats: every few seconds a node agent (`assay worker run`) says which registered model
// instances it watches and in what state they are (docs/instances.md). Schemas:
// heartbeat.schema.json, heartbeat-answer.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/challenge.h"
#include "schemas/core/ids.h"
#include "schemas/job.h"

namespace assay {

// DSSE payload type; the node's worker key signs the payload.
inline constexpr std::string_view kHeartbeatPayloadType = "application/vnd.assay.heartbeat+json";
// Largest number of instances in one heartbeat.
inline constexpr std::size_t kMaxBeatInstances = 64;
// Largest number of findings about one instance in a heartbeat, and bytes of each text in one.
inline constexpr std::size_t kMaxBeatFindings = 4;
inline constexpr std::size_t kMaxBeatText = 256;

// What the node agent found out about an instance. kVerified: the bytes are those of the artifact.
// kViolated: they are not. kUnknown: the bytes could not be read, or were not read recently.
// kPending: not checked yet; the node agent of this project never sends kPending. kEnded: they were
// those of the artifact until the owners released the memory or ended, and no process of the
// instance is registered any more.
enum class InstanceState : std::uint8_t { kPending, kVerified, kViolated, kUnknown, kEnded };
[[nodiscard]] std::string_view name(InstanceState state);  // "pending", "verified", ...
[[nodiscard]] Result<InstanceState> instance_state_from(std::string_view name);

// Where bytes of a violated instance changed, for people.
struct BeatFinding {
  std::string tensor;  // empty: not known
  std::string detail;  // with the ranges of bytes, once they are known
  bool operator==(const BeatFinding&) const = default;
};
[[nodiscard]] Json to_json(const BeatFinding& finding);
[[nodiscard]] Result<BeatFinding> read_json(json::As<BeatFinding> type, const Json& json);

// How the bytes of an instance are looked at between full passes.
enum class WatchCheck : std::uint8_t {
  kTags,    // compare keyed tags (gpu_hash/tags.h), or SHA-256 if the device has no tags
  kSha256,  // compare SHA-256 digests
  kRandom,  // as kTags, but of randomly drawn slices
};
[[nodiscard]] std::string_view name(WatchCheck check);  // "tags", "sha256", "random"
[[nodiscard]] Result<WatchCheck> watch_check_from(std::string_view name);

// By which check a node agent watches an instance.
struct WatchedBy {
  WatchCheck check = WatchCheck::kTags;
  std::uint64_t period_ms = 0;      // in which `share_percent` of the bytes are looked at
  std::uint64_t share_percent = 0;  // 1 to 99 with kRandom, else 100
  bool operator==(const WatchedBy&) const = default;
};
[[nodiscard]] Json to_json(const WatchedBy& watch);
[[nodiscard]] Result<WatchedBy> read_json(json::As<WatchedBy> type, const Json& json);

struct InstanceBeat {
  JobInstance instance;
  ArtifactId artifact;
  InstanceState state;
  // Digest of the envelope of the report that verified the instance; always present with kVerified
  // and kEnded.
  std::optional<DocumentId> report;
  std::vector<BeatFinding> findings{};  // present only with kViolated
  std::optional<WatchedBy> watch{};     // present only with kVerified; older agents do not say it
  bool operator==(const InstanceBeat&) const = default;
};

// The payload of a heartbeat. The service accepts a heartbeat when `session` is the service's own
// and `sequence` is above that of the newest accepted heartbeat of the node.
struct Heartbeat {
  std::string node;
  // Drawn by the service when it starts, and copied from its last answer; zeros in the first
  // heartbeat. Heartbeats made before a restart of the service are therefore not accepted.
  Nonce session{};
  std::uint64_t sequence = 1;
  std::vector<InstanceBeat> instances;  // sorted by pod, then by name
  bool operator==(const Heartbeat&) const = default;
};
[[nodiscard]] Json to_json(const Heartbeat& heartbeat);
[[nodiscard]] Result<Heartbeat> parse_heartbeat(ByteView payload);

// The answer to a heartbeat: whether it was accepted, and what the next heartbeat must contain.
struct HeartbeatAnswer {
  bool counts;  // accepted; if false, send another heartbeat with the values below
  Nonce session;
  std::uint64_t sequence;  // of the newest accepted heartbeat; the next one needs a larger number
};
[[nodiscard]] Json to_json(const HeartbeatAnswer& answer);
[[nodiscard]] Result<HeartbeatAnswer> parse_heartbeat_answer(ByteView body);

}  // namespace assay
