// SPDX-License-Identifier: Apache-2.0
// The messages between the node agent and a process that reads memory for it (the reader). Both
// must be the same build of the same program (schemas/core/message_codec.h). The first message of
// the reader (Hello) names its build.
//
// A check is one MemoryCheck (worker/instances/checks.h), which explains slice, draw and outline.
// docs/instances.md explains piece, window and staged. Except in Start, tensors are numbers:
// positions in Start::tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/messages.h"
#include "schemas/instance.h"

namespace assay::worker::wire {

// Largest size in bytes of one message, by direction.
inline constexpr std::size_t kMaxToReader = std::size_t{64} << 20;
inline constexpr std::size_t kMaxFromReader = std::size_t{32} << 20;

using Digests = std::vector<Digest>;
using Numbers = std::vector<std::uint64_t>;

struct Piece {
  std::uint64_t size = 0;  // bytes
  PieceKind kind = PieceKind::kHost;
  bool operator==(const Piece&) const = default;
};
struct Part {
  std::uint64_t piece = 0;   // position in Start::pieces
  std::uint64_t offset = 0;  // bytes
  std::uint64_t size = 0;    // bytes
  bool operator==(const Part&) const = default;
};
using messages::error_of;
using messages::kMaxText;
using messages::Problem;
using messages::problem_of;

// --- to the reader; `check` is the number that the node agent chose for the check

// Begins a check with a full pass. The window's descriptor is sent with it when a piece is staged.
struct Start {
  std::uint64_t check = 0;
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint32_t chunk_size = 0;
  std::uint32_t slices = 1;
  bool tags = true;
  std::vector<Piece> pieces;               // all pieces of the registration
  std::vector<std::vector<Part>> tensors;  // those to check
  bool operator==(const Start&) const = default;
};
// Asks for MemoryCheck::look() at these slices, with so many pieces. Looked answers.
struct Look {
  std::uint64_t check = 0;
  Numbers slices;
  std::uint64_t count = 0;
  bool operator==(const Look&) const = default;
};
// Asks for MemoryCheck::draw() of `count` pieces. Fetched answers.
struct Fetch {
  std::uint64_t check = 0;
  std::uint64_t count = 0;
  bool operator==(const Fetch&) const = default;
};
// Asks for MemoryCheck::redraw() of `count` pieces. Drawn answers.
struct Draw {
  std::uint64_t check = 0;
  std::uint64_t count = 0;
  bool operator==(const Draw&) const = default;
};
// Asks for MemoryCheck::outline() of these tensors. Outlined answers.
struct Outline {
  std::uint64_t check = 0;
  std::uint64_t span = 0;
  Numbers tensors;
  bool operator==(const Outline&) const = default;
};
// Answers Export. The descriptors are sent with it.
struct Exported {
  std::uint64_t check = 0;
  Problem problem;
  bool operator==(const Exported&) const = default;
};
// Answers Stage. The bytes stay in the window until the reader sends Taken.
struct Staged {
  std::uint64_t check = 0;
  Problem problem;
  bool operator==(const Staged&) const = default;
};
// Ends a check, even while the reader works on it. Ended answers.
struct End {
  std::uint64_t check = 0;
  bool operator==(const End&) const = default;
};
using ToReader = std::variant<Start, Look, Fetch, Draw, Outline, Exported, Staged, End>;

// --- from the reader

// The first message: says which build the reader is, and which device it reads (EngineInfo).
struct Hello {
  std::string build;
  std::string device;  // id, as the option --device takes it
  std::string name;
  std::string uuid;
  std::string pci;
  std::string driver;
  std::string kernel;  // digest as text; empty: none
  bool operator==(const Hello&) const = default;
};
// The reader still makes progress with the last question about this check.
struct Progress {
  std::uint64_t check = 0;
  bool operator==(const Progress&) const = default;
};
// Asks the node agent to have the owner export fresh descriptors of these pieces.
struct Export {
  std::uint64_t check = 0;
  Numbers pieces;
  bool operator==(const Export&) const = default;
};
// Asks the node agent to have the owner copy these bytes of a staged piece into the window.
struct Stage {
  std::uint64_t check = 0;
  std::uint64_t piece = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool operator==(const Stage&) const = default;
};
// The reader no longer needs the bytes in the window (Staged).
struct Taken {
  std::uint64_t check = 0;
  bool operator==(const Taken&) const = default;
};
// Answers Start.
struct Started {
  std::uint64_t check = 0;
  Digests roots;   // by tensor
  Numbers slices;  // bytes of each
  // PassTimes (worker/instances/checks.h), in microseconds
  std::uint64_t exports = 0;
  std::uint64_t imports = 0;
  std::uint64_t hashing = 0;
  bool operator==(const Started&) const = default;
};
// Answers Look, with the tensors of the slices that changed; what follows is as in Drawn.
struct Looked {
  std::uint64_t check = 0;
  Numbers changed;
  std::uint64_t drawn = 0;
  std::uint64_t pieces = 0;
  Numbers replaced;
  bool operator==(const Looked&) const = default;
};
// Answers Fetch: the pieces are imported.
struct Fetched {
  std::uint64_t check = 0;
  bool operator==(const Fetched&) const = default;
};
// Answers Draw, as in Redraw (worker/instances/checks.h).
struct Drawn {
  std::uint64_t check = 0;
  std::uint64_t drawn = 0;
  std::uint64_t pieces = 0;
  Numbers changed;
  bool operator==(const Drawn&) const = default;
};
// Answers Outline. Each list has the root of a tensor, then its outline.
struct Outlined {
  std::uint64_t check = 0;
  std::vector<Digests> tensors;
  bool operator==(const Outlined&) const = default;
};
// Answers Start, Look, Fetch, Draw or Outline when the work failed. With check 0, sent instead of
// Hello: the reader cannot begin.
struct Failed {
  std::uint64_t check = 0;
  Problem problem;
  bool operator==(const Failed&) const = default;
};
// Answers End: the reader has released all memory of the check.
struct Ended {
  std::uint64_t check = 0;
  bool operator==(const Ended&) const = default;
};
using FromReader = std::variant<Hello, Progress, Export, Stage, Taken, Started, Looked, Fetched,
                                Drawn, Outlined, Failed, Ended>;

[[nodiscard]] Bytes write(const ToReader& message);
[[nodiscard]] Bytes write(const FromReader& message);
// Parse `bytes`, which must be exactly one message. Errors: invalid-encoding for anything else.
[[nodiscard]] Result<ToReader> parse_to_reader(ByteView bytes);
[[nodiscard]] Result<FromReader> parse_from_reader(ByteView bytes);

}  // namespace assay::worker::wire
