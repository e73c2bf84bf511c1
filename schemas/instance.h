// SPDX-License-Identifier: Apache-2.0
// Model instances that processes register with the node agent: which tensors lie where in their
// memory. Protocol: docs/instances.md. Schema: instance-message.schema.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/heartbeat.h"

namespace assay {

// Version of the protocol between owners of memory and the node agent.
inline constexpr std::uint64_t kInstanceProtocolVersion = 1;
// SCM_MAX_FD of Linux: descriptors beside one frame.
inline constexpr std::size_t kMaxFrameDescriptors = 253;
inline constexpr std::size_t kMaxInstancePieces = 65536;
inline constexpr std::size_t kMaxInstanceTensors = 65536;
inline constexpr std::size_t kMaxInstanceParts = std::size_t{1} << 20;
inline constexpr std::uint64_t kMaxWorld = 1024;
// Bytes of the window through which staged pieces are read.
inline constexpr std::uint64_t kStagingWindow = std::uint64_t{64} << 20;
// Bytes of the page of hints.
inline constexpr std::uint64_t kHintsPage = 4096;

// How the node agent reaches a piece of memory.
enum class PieceKind : std::uint8_t {
  kDevice,  // imported: an opaque descriptor that the device's driver exported
  kHost,    // mapped: a memory file, sealed against shrinking and growing
  kStaged,  // copied by its owner into the window
};
[[nodiscard]] std::string_view name(PieceKind kind);  // "device", "host", "staged"

// One thing that is wrong with a registration.
struct InstanceFinding {
  enum class Kind : std::uint8_t { kMissing, kExtra, kMismatch, kChanged, kError };
  Kind kind;
  std::string tensor;  // name; empty when no single tensor is meant
  std::string detail;  // for people
  bool operator==(const InstanceFinding&) const = default;
};
[[nodiscard]] std::string_view name(InstanceFinding::Kind kind);  // "missing", "extra", ...

struct InstancePiece {
  std::uint64_t size;  // bytes
  PieceKind kind;
  std::string cause{};  // why a staged piece cannot be exported
  bool operator==(const InstancePiece&) const = default;
};

// Bytes [offset, offset + size) of a piece.
struct InstancePart {
  std::uint64_t piece;   // position in the registration
  std::uint64_t offset;  // bytes
  std::uint64_t size;    // bytes
  bool operator==(const InstancePart&) const = default;
};

struct InstanceTensor {
  std::vector<std::string> names;  // one storage may have several: tied weights
  std::string dtype;               // as in safetensors
  std::vector<std::uint64_t> shape;
  std::vector<InstancePart> parts;  // its bytes, row-major, in order
  bool operator==(const InstanceTensor&) const = default;
};

// One process's share of a model instance. (pod, instance, rank) is unique among live ones.
struct InstanceRegistration {
  ArtifactId artifact;
  std::string instance;
  std::uint64_t rank = 0;
  std::uint64_t world = 1;  // processes that hold the instance together
  std::string device;       // UUID of the device of all pieces of kind device; empty: none
  std::vector<InstancePiece> pieces;
  std::vector<InstanceTensor> tensors;
  std::uint64_t uncovered_count = 0;  // buffers that are not registered
  std::uint64_t uncovered_bytes = 0;
  std::uint64_t window = 0;  // bytes: 0 or kStagingWindow
  std::uint64_t hints = 0;   // bytes: 0 (no page of hints) or kHintsPage
  bool operator==(const InstanceRegistration&) const = default;
};
// Reads a frame `register`. Every part lies inside its piece, no two parts share bytes, the parts
// of a tensor have the bytes that dtype and shape say, every piece has a part, and no name stands
// twice.
// Errors: unknown-member, schema-violation; limit-exceeded for too many parts or bytes;
// invalid-digest for an artifact id that is none.
[[nodiscard]] Result<InstanceRegistration> parse_instance_registration(Json frame);
// Writes the frame.
[[nodiscard]] Json to_json(const InstanceRegistration& registration);

}  // namespace assay
