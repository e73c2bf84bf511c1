// SPDX-License-Identifier: Apache-2.0
// What the node agent and a process that reads memory say to each other. Both are the same build
// of the same program, so the form has no version of its own: the first message names the build.
//
// Form: one byte for the type, then the members in order. Numbers are little-endian; text and lists
// begin with their length (32 bits). Text is UTF-8: what a broken process says goes into events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/instance.h"

namespace assay::worker::wire {

// Bytes of one message.
inline constexpr std::size_t kMaxToReader = std::size_t{64} << 20;
inline constexpr std::size_t kMaxFromReader = std::size_t{32} << 20;
inline constexpr std::size_t kMaxText = 4096;

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
// An error by the text of its code; an empty code stands for none.
struct Problem {
  std::string code;
  std::string detail;
  std::string where;
  bool operator==(const Problem&) const = default;
};
[[nodiscard]] Problem problem_of(const Status& status);
// nullopt: none. internal for a code that does not exist.
[[nodiscard]] std::optional<Error> error_of(const Problem& problem);

// --- to the reader; `check` is a number that the agent chose

// Begins a check with a full pass. With the window's descriptor when a piece is staged.
struct Start {
  std::uint64_t check = 0;
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint32_t chunk_size = 0;
  std::uint32_t slices = 1;
  bool tags = true;
  std::vector<Piece> pieces;               // all of the registration
  std::vector<std::vector<Part>> tensors;  // those to check
  bool operator==(const Start&) const = default;
};
struct Look {
  std::uint64_t check = 0;
  std::uint64_t slice = 0;
  bool operator==(const Look&) const = default;
};
struct Draw {
  std::uint64_t check = 0;
  std::uint64_t count = 0;
  bool operator==(const Draw&) const = default;
};
struct Outline {
  std::uint64_t check = 0;
  std::uint64_t span = 0;
  Numbers tensors;
  bool operator==(const Outline&) const = default;
};
// Answers Export, with the descriptors.
struct Exported {
  std::uint64_t check = 0;
  Problem problem;
  bool operator==(const Exported&) const = default;
};
// Answers Stage: the bytes are in the window until Taken.
struct Staged {
  std::uint64_t check = 0;
  Problem problem;
  bool operator==(const Staged&) const = default;
};
// Ends a check, whatever it does at the time. Ended answers.
struct End {
  std::uint64_t check = 0;
  bool operator==(const End&) const = default;
};
using ToReader = std::variant<Start, Look, Draw, Outline, Exported, Staged, End>;

// --- from the reader

// The first message.
struct Hello {
  std::string build;
  std::string device;  // as --device takes it
  std::string uuid;
  std::string driver;
  std::string kernel;  // digest as text; empty: none
  bool operator==(const Hello&) const = default;
};
// The call under way gets on.
struct Progress {
  std::uint64_t check = 0;
  bool operator==(const Progress&) const = default;
};
// Asks for fresh descriptors.
struct Export {
  std::uint64_t check = 0;
  Numbers pieces;
  bool operator==(const Export&) const = default;
};
// Asks for bytes in the window.
struct Stage {
  std::uint64_t check = 0;
  std::uint64_t piece = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool operator==(const Stage&) const = default;
};
struct Taken {
  std::uint64_t check = 0;
  bool operator==(const Taken&) const = default;
};
// Answers Start.
struct Started {
  std::uint64_t check = 0;
  Digests roots;   // by tensor
  Numbers slices;  // bytes of each
  bool operator==(const Started&) const = default;
};
// Answers Look.
struct Looked {
  std::uint64_t check = 0;
  Numbers changed;
  bool operator==(const Looked&) const = default;
};
// Answers Draw.
struct Drawn {
  std::uint64_t check = 0;
  std::uint64_t drawn = 0;
  std::uint64_t pieces = 0;
  Numbers changed;
  bool operator==(const Drawn&) const = default;
};
// Answers Outline: of each tensor the root, then its outline.
struct Outlined {
  std::uint64_t check = 0;
  std::vector<Digests> tensors;
  bool operator==(const Outlined&) const = default;
};
// Answers any of them. With check 0 in the place of Hello: the reader cannot begin.
struct Failed {
  std::uint64_t check = 0;
  Problem problem;
  bool operator==(const Failed&) const = default;
};
// Nothing of the check is left.
struct Ended {
  std::uint64_t check = 0;
  bool operator==(const Ended&) const = default;
};
using FromReader = std::variant<Hello, Progress, Export, Stage, Taken, Started, Looked, Drawn,
                                Outlined, Failed, Ended>;

[[nodiscard]] Bytes write(const ToReader& message);
[[nodiscard]] Bytes write(const FromReader& message);
// Reads exactly one message. Errors: invalid-encoding for anything else.
[[nodiscard]] Result<ToReader> parse_to_reader(ByteView bytes);
[[nodiscard]] Result<FromReader> parse_from_reader(ByteView bytes);

}  // namespace assay::worker::wire
