// SPDX-License-Identifier: Apache-2.0
// What a report of scope device-memory says beside its entries: whose memory it was, how its bytes
// were reached, and what was not looked at (docs/instances.md).
// Schema: verification-report.schema.json, member memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Extra tensors that a report lists; the others are only counted.
inline constexpr std::size_t kMaxExtraTensors = 1000;

// A registered tensor that no tensor entry of the manifest has the name of.
struct ExtraTensor {
  std::string name;    // the first of its names
  std::uint64_t size;  // bytes
  bool operator==(const ExtraTensor&) const = default;
};

struct MemoryFacts {
  std::uint64_t world = 1;              // processes that hold the instance together
  std::vector<std::string> containers;  // ids, ascending; empty: no process runs in one
  std::vector<std::string> devices;     // UUIDs that the memory lies on, ascending; empty: the host
  std::uint64_t in_place = 0;           // bytes hashed where they lie
  std::uint64_t on_devices = 0;         // those of `in_place` that a device's driver exported
  std::uint64_t staged = 0;             // bytes hashed from a copy that their owner made
  std::vector<std::string> staged_causes;     // why, ascending; empty when `staged` is 0
  std::uint64_t registered = 0;               // bytes of all registered pieces
  std::uint64_t uncovered = 0;                // bytes of buffers that are not registered
  std::optional<std::uint64_t> device_bytes;  // of the processes, as the driver says; else unknown
  std::uint64_t redrawn = 0;                  // pieces exported anew and compared
  double detection = 0;                       // chance that one replaced piece would be seen
  std::vector<ExtraTensor> extra_tensors{};   // by name
  std::uint64_t extra_tensor_count = 0;       // with those that `extra_tensors` has no room for
  bool operator==(const MemoryFacts&) const = default;
};
[[nodiscard]] Json to_json(const MemoryFacts& memory);
// Of a member that validate() has checked. schema-violation with the place below the member.
[[nodiscard]] Result<MemoryFacts> memory_facts_from(const Json& json);

// uncovered / (registered + uncovered); 0 when both are 0.
[[nodiscard]] double uncovered_share(const MemoryFacts& memory);

}  // namespace assay
