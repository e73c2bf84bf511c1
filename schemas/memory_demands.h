// SPDX-License-Identifier: Apache-2.0
// Demands of a policy on a report about the memory of processes. Part of conditions on reports
// (schemas/policy_document.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/memory_facts.h"

namespace assay {

// Requirements on a report with scope device-memory, in addition to its result.
// schemas/memory_facts.h explains the figures.
struct MemoryDemands {
  bool watched = true;    // a heartbeat not older than 10 s says that the instance is verified
  bool in_place = false;  // no byte was hashed from a copy
  std::optional<std::uint64_t> max_uncovered_bytes;  // buffers that are not registered
  // The least share, in percent, of the bytes that the processes hold on devices which must have
  // been hashed there in place.
  std::optional<std::uint64_t> min_device_percent;
  std::optional<std::uint64_t> min_redrawn;  // at least this many were exported again
  // Kinds of layouts that count; a layout must also be by the closed table, or have one of these
  // digests ("sha256:...").
  std::vector<LayoutKind> layouts = {LayoutKind::kExact};
  std::vector<std::string> layout_digests{};
  bool operator==(const MemoryDemands&) const = default;
};

}  // namespace assay
