// SPDX-License-Identifier: Apache-2.0
// Model instances that processes register with the node agent (`assay worker run`): which tensors
// lie where in the memory of the processes. A process that registers memory is its owner. Protocol
// and words: docs/instances.md. Schema: instance-message.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/heartbeat.h"
#include "schemas/layout.h"

namespace assay {

// Version of the protocol between owners of memory and the node agent.
inline constexpr std::uint64_t kInstanceProtocolVersion = 1;
// Largest numbers in one registration: pieces, tensors, parts of all tensors together, and
// processes of the instance.
inline constexpr std::size_t kMaxInstancePieces = 65536;
inline constexpr std::size_t kMaxInstanceTensors = 131072;
inline constexpr std::size_t kMaxInstanceParts = std::size_t{1} << 20;
inline constexpr std::uint64_t kMaxWorld = 1024;
// Size in bytes of the window: shared memory into which an owner copies pieces that it cannot
// export (staged pieces), so that the node agent can read them.
inline constexpr std::uint64_t kStagingWindow = std::uint64_t{64} << 20;
// Size in bytes of the page of hints, in which a process says when it computes on the device.
inline constexpr std::uint64_t kHintsPage = 4096;

// How the node agent reaches a piece of memory.
enum class PieceKind : std::uint8_t {
  kDevice,  // the agent imports a descriptor that the device's driver exported
  kHost,    // the agent maps a memory file, sealed against shrinking and growing
  kStaged,  // the owner copies the bytes into the window
};
[[nodiscard]] constexpr bool is_known(PieceKind kind) { return kind <= PieceKind::kStaged; }
[[nodiscard]] std::string_view name(PieceKind kind);  // "device", "host", "staged"

// One finding about a registration. kMissing, kExtra and kMismatch: the tensors differ from those
// of the artifact's manifest. kChanged: the bytes in memory changed. kError: the check failed.
struct InstanceFinding {
  enum class Kind : std::uint8_t { kMissing, kExtra, kMismatch, kChanged, kError };
  Kind kind;
  std::string tensor;  // name; empty when the finding is not about a single tensor
  std::string detail;  // for people
  bool operator==(const InstanceFinding&) const = default;
};
[[nodiscard]] std::string_view name(InstanceFinding::Kind kind);  // "missing", "extra", ...

// One piece of registered memory, such as one allocation.
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
  std::vector<InstancePart> parts;  // in order, these are the tensor's bytes, row-major
  bool operator==(const InstanceTensor&) const = default;
};

// One process's share of a model instance. At any time, at most one live registration has a given
// (pod, instance, rank).
struct InstanceRegistration {
  ArtifactId artifact;
  std::string instance;
  std::uint64_t rank = 0;   // number of this process in the instance, below `world`
  std::uint64_t world = 1;  // processes that hold the instance together
  std::string device;       // UUID of the device that holds all pieces of kind device; empty: none
  std::vector<InstancePiece> pieces;
  std::vector<InstanceTensor> tensors;
  std::uint64_t uncovered_count = 0;  // buffers that the process did not register
  std::uint64_t uncovered_bytes = 0;
  std::uint64_t window = 0;  // bytes: 0 or kStagingWindow
  std::uint64_t hints = 0;   // bytes: 0 (no page of hints) or kHintsPage
  // How the tensors follow from the entries of the artifact; absent: they are the entries. A
  // layout has `world` ranks.
  std::optional<Layout> layout{};
  // A manifest of the tensors as they are in memory, which somebody published (docs/python.md). Not
  // set beside `layout`.
  std::optional<ArtifactId> published{};
  bool operator==(const InstanceRegistration&) const = default;
};
// Parses a frame `register`. Checks that every part lies inside its piece, that no two parts share
// bytes, that every piece has a part, that no name occurs twice, and that the parts of a tensor
// together have as many bytes as dtype and shape say. Errors: unknown-member; schema-violation;
// limit-exceeded for more than kMaxInstanceParts parts, more than 4096 pieces of kind host, or 2^53
// bytes or more; invalid-digest for a malformed artifact id; those of layout_from_json();
// artifact-mismatch for a layout of another artifact; conflict for a layout beside `published`.
[[nodiscard]] Result<InstanceRegistration> parse_instance_registration(Json frame);
// Returns the frame `register` of a registration.
[[nodiscard]] Json to_json(const InstanceRegistration& registration);

}  // namespace assay
