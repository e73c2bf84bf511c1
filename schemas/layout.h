// SPDX-License-Identifier: Apache-2.0
// Layouts: how each tensor in the memory of a server follows from tensor entries of an artifact.
// Servers cast, join and split the tensors of a model's files; a layout says how. schemas/layout.md
// explains layouts. Schema: layout.schema.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

// Limits of one layout: bytes of its JSON, expressions, nesting of expressions, numbers in lists of
// all expressions, dimensions of a tensor, tensors of all ranks, and bytes of all tensors.
inline constexpr std::size_t kMaxLayoutBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxLayoutExpressions = std::size_t{1} << 19;
inline constexpr std::size_t kMaxLayoutDepth = 16;
// Nesting of its JSON: six levels above an expression, and a list and an object for each.
inline constexpr std::size_t kMaxLayoutJsonDepth = 6 + 2 * kMaxLayoutDepth;
inline constexpr std::size_t kMaxLayoutNumbers = std::size_t{1} << 20;
inline constexpr std::size_t kMaxLayoutDimensions = 8;
inline constexpr std::size_t kMaxLayoutTensors = 131072;
inline constexpr std::uint64_t kMaxLayoutTargetBytes = std::uint64_t{1} << 48;

// SHA-256 of a layout's canonical JSON.
using LayoutId = DigestId<struct LayoutTag>;

// A tensor entry of the artifact.
struct LayoutEntry {
  std::string name;
  std::string file{};  // path; empty: the only file that has a tensor of this name
  auto operator<=>(const LayoutEntry&) const = default;
};

// The operation of an expression; its operands are LayoutExpression::of.
enum class LayoutOp : std::uint8_t {
  kEntry,      // all of an entry
  kSlice,      // indexes [first, first + second) of an axis
  kConcat,     // operands one behind the other along an axis
  kStack,      // operands of one shape along a new axis
  kTranspose,  // axis i of the result is axis numbers[i] of the operand
  kReshape,    // the same elements in the same order, in the shape `numbers`
  kPad,        // `first` zeros before and `second` zeros behind, along an axis
  kRepeat,     // the operand `first` times along an axis
  kCast,       // F32 to the dtype `to`
  kPermute,    // index i of an axis is index numbers[i] of the operand
};
[[nodiscard]] std::string_view name(LayoutOp op);  // "entry", "slice", ...

// Members without a meaning for `op` are empty or 0.
struct LayoutExpression {
  LayoutOp op = LayoutOp::kEntry;
  LayoutEntry entry{};
  std::string to{};
  std::vector<LayoutExpression> of{};
  std::uint64_t axis = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::vector<std::uint64_t> numbers{};
  bool operator==(const LayoutExpression&) const = default;
};

// A tensor in memory. `dtype` and `shape` follow from the expression; they are said once more so
// that people and matching need no artifact.
struct LayoutTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  LayoutExpression from;
  bool operator==(const LayoutTensor&) const = default;
};

// The tensors of one process.
struct LayoutRank {
  std::vector<LayoutTensor> tensors;  // by name, each name once
  bool operator==(const LayoutRank&) const = default;
};

struct Layout {
  ArtifactId artifact;
  std::vector<LayoutRank> ranks;  // one for each process of the instance, 1 to kMaxWorld
  // Entries of which some bytes are in no tensor, and entries of which some bytes are in several
  // places. Ascending, each once.
  std::vector<LayoutEntry> dropped{};
  std::vector<LayoutEntry> replicated{};
  bool operator==(const Layout&) const = default;
};

// Parses strict JSON and checks the schema, the limits above and the order of lists. Whether a
// layout fits an artifact says check_layout() (schemas/layout_check.h). Errors: those of
// parse_json() and validate(); invalid-digest; limit-exceeded.
[[nodiscard]] Result<Layout> parse_layout(ByteView bytes);
[[nodiscard]] Result<Layout> layout_from_json(Json json);
[[nodiscard]] Json to_json(const Layout& layout);
// Returns the digest by which policies, reports and signatures name the layout.
[[nodiscard]] LayoutId id_of(const Layout& layout);

}  // namespace assay
