// SPDX-License-Identifier: Apache-2.0
// What a report of scope device-memory says in addition to its entries: whose memory was hashed,
// how the bytes were reached, and what was not hashed. docs/instances.md explains the words
// instance, piece, owner, staged and uncovered.
// Schema: verification-report.schema.json, member memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/layout.h"

namespace assay {

// Number of extra tensors up to which a report lists each of them; further extra tensors are only
// counted.
inline constexpr std::size_t kMaxExtraTensors = 1000;

// A registered tensor whose names are not in the manifest, or whose name another registered tensor
// has already taken.
struct ExtraTensor {
  std::string name;    // its first name, or the name that was taken already
  std::uint64_t size;  // bytes
  bool operator==(const ExtraTensor&) const = default;
};

// A device on which memory of an instance was hashed, as the process that hashed there names it
// (gpu_hash/engine.h).
struct MemoryReader {
  std::vector<std::uint64_t> ranks;  // processes of the instance whose memory it read, ascending
  std::string id;                    // as --device takes it
  std::string name;
  std::string driver;
  std::string uuid{};                     // empty: unknown, or not one device
  std::string pci{};                      // address on the PCI bus; empty as uuid
  std::optional<Digest> kernel_digest{};  // absent for the CPU
  bool operator==(const MemoryReader&) const = default;
};
[[nodiscard]] Json to_json(const MemoryReader& reader);
[[nodiscard]] Result<MemoryReader> read_json(json::As<MemoryReader> type, const Json& json);

// How the tensors in memory follow from the tensor entries of the manifest.
enum class LayoutKind : std::uint8_t {
  kExact,      // they are the entries
  kRecipe,     // as a layout (schemas/layout.md) says, from which the node computed their roots
  kPublished,  // as a signed manifest of tensors says
};
[[nodiscard]] std::string_view name(LayoutKind kind);  // "exact", "recipe", "published"
[[nodiscard]] Result<LayoutKind> layout_kind_from(std::string_view name);

// The layout with which memory was compared.
struct MemoryLayout {
  LayoutKind kind = LayoutKind::kRecipe;  // never kExact
  std::string digest;     // text of a LayoutId; kPublished: of the ArtifactId of its tensors
  bool by_table = false;  // is_by_table() of schemas/layout_check.h
  bool operator==(const MemoryLayout&) const = default;
};
[[nodiscard]] Json to_json(const MemoryLayout& layout);
[[nodiscard]] Result<MemoryLayout> read_json(json::As<MemoryLayout> type, const Json& json);

struct MemoryFacts {
  std::uint64_t world = 1;              // processes that hold the instance together
  std::vector<std::string> containers;  // ids, ascending; empty: outside containers
  // UUIDs of the devices that the processes say their memory lies on, ascending; empty: host.
  std::vector<std::string> devices;
  std::uint64_t in_place = 0;              // bytes hashed where they lie
  std::uint64_t on_devices = 0;            // those of `in_place` that a device's driver exported
  std::uint64_t staged = 0;                // bytes hashed from a copy that their process made
  std::vector<std::string> staged_causes;  // reasons, ascending; empty when `staged` is 0
  std::uint64_t registered = 0;            // bytes of all registered pieces
  std::uint64_t uncovered = 0;             // bytes of buffers that are not registered
  // Bytes that the processes hold on devices, as the driver says; absent: unknown.
  std::optional<std::uint64_t> device_bytes;
  std::uint64_t redrawn = 0;                 // random pieces exported again and compared
  double detection = 0;                      // probability of finding one replaced piece, 0 to 1
  std::vector<ExtraTensor> extra_tensors{};  // by name
  std::uint64_t extra_tensor_count = 0;      // includes those that `extra_tensors` does not list
  // Devices that hashed, by their first rank, each rank once. Without ranks whose memory could not
  // be read. Empty in reports of node agents that did not say it.
  std::vector<MemoryReader> read_by{};
  std::optional<std::uint64_t> uncovered_count{};  // buffers of `uncovered`; absent as read_by
  std::optional<MemoryLayout> layout{};            // absent: the tensors are the entries
  bool operator==(const MemoryFacts&) const = default;
};
[[nodiscard]] Json to_json(const MemoryFacts& memory);
// Parses the member "memory" of a report. Errors: schema-violation; unknown-member.
[[nodiscard]] Result<MemoryFacts> read_json(json::As<MemoryFacts> type, const Json& json);

}  // namespace assay
