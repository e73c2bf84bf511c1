// SPDX-License-Identifier: Apache-2.0
// What is known about model instances: models that running processes hold in memory
// (docs/instances.md). These structs are parts of the facts document (policy/facts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/heartbeat.h"
#include "schemas/memory_facts.h"

namespace assay::policy {

// What a report of scope device-memory says about how its bytes were read (schemas/memory_facts.h).
struct MemoryFact {
  std::uint64_t world = 1;                    // processes that hold the instance together
  std::uint64_t in_place = 0;                 // bytes hashed where they lie
  std::uint64_t on_devices = 0;               // those of in_place in memory of devices
  std::uint64_t staged = 0;                   // bytes hashed from a copy that their owner made
  std::uint64_t registered = 0;               // bytes of all registered pieces
  std::uint64_t uncovered = 0;                // bytes of buffers that are not registered
  std::optional<std::uint64_t> device_bytes;  // of the processes, as the driver says; or unknown
  std::uint64_t redrawn = 0;                  // pieces exported anew and compared
  // For people: no condition looks at these, up to uncovered_count. Devices that hashed; empty: the
  // report did not say.
  std::vector<MemoryReader> read_by{};
  std::string check{};                             // by which the bytes were read; empty: not said
  std::vector<std::string> staged_causes{};        // why bytes were staged: the first ones
  std::optional<double> detection{};               // of one replaced piece by `redrawn`, 0 to 1
  std::optional<std::uint64_t> uncovered_count{};  // buffers of `uncovered`
  std::optional<MemoryLayout> layout{};            // absent: the tensors are those of the manifest
  bool operator==(const MemoryFact&) const = default;
};
[[nodiscard]] Json to_json(const MemoryFact& memory);
[[nodiscard]] Result<MemoryFact> read_json(json::As<MemoryFact> type, const Json& json);

// The state of one instance of the judged model in the judged pod, as the newest heartbeat of the
// node's agent says (server/service/nodes/heartbeat.h).
struct InstanceFact {
  std::string instance;
  std::string state;   // "pending", "verified", "violated", "unknown", "ended"
  Timestamp heard_at;  // when the service got that heartbeat
  // Where a violated instance was found changed, for people: no condition looks at it.
  std::vector<BeatFinding> findings{};
  std::optional<WatchedBy> watch{};  // by which check it is watched, for people as well
  bool operator==(const InstanceFact&) const = default;
};
[[nodiscard]] Json to_json(const InstanceFact& instance);
[[nodiscard]] Result<InstanceFact> read_json(json::As<InstanceFact> type, const Json& json);

}  // namespace assay::policy
