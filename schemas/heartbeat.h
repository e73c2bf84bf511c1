// SPDX-License-Identifier: Apache-2.0
// Heartbeats: a node agent says every few seconds which registered instances it watches and in what
// state they are (docs/instances.md). Schemas: heartbeat.schema.json, heartbeat-answer.schema.json.
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

// DSSE payload, signed by the node's worker key.
inline constexpr std::string_view kHeartbeatPayloadType = "application/vnd.assay.heartbeat+json";
// Instances of one node.
inline constexpr std::size_t kMaxBeatInstances = 64;

// What watching an instance came to. kVerified and kViolated are findings about the bytes; kUnknown
// says that they could not be read.
enum class InstanceState : std::uint8_t { kPending, kVerified, kViolated, kUnknown };
[[nodiscard]] std::string_view name(InstanceState state);  // "pending", "verified", ...
[[nodiscard]] Result<InstanceState> instance_state_from(std::string_view name);

struct InstanceBeat {
  JobInstance instance;
  ArtifactId artifact;
  InstanceState state;
  // Envelope of the report that verified it; always there with kVerified.
  std::optional<DocumentId> report;
  bool operator==(const InstanceBeat&) const = default;
};

// One counts when its session is the service's and its sequence is above that of the one before.
struct Heartbeat {
  std::string node;
  // Of the running service, from its last answer: heartbeats of before a restart do not count.
  Nonce session{};
  std::uint64_t sequence = 1;
  std::vector<InstanceBeat> instances;  // ascending by pod and name
  bool operator==(const Heartbeat&) const = default;
};
[[nodiscard]] Json to_json(const Heartbeat& heartbeat);
[[nodiscard]] Result<Heartbeat> parse_heartbeat(ByteView payload);

// What the next heartbeat needs.
struct HeartbeatAnswer {
  bool counts;  // this one did; else: send another with what follows
  Nonce session;
  std::uint64_t sequence;  // of the newest that counted: the next is above it
};
[[nodiscard]] Json to_json(const HeartbeatAnswer& answer);
[[nodiscard]] Result<HeartbeatAnswer> parse_heartbeat_answer(ByteView body);

}  // namespace assay
