// SPDX-License-Identifier: Apache-2.0
// The closed table of layouts that count without a signature (schemas/layout.md, section 5).
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/layout_check.h"

namespace assay {
namespace {

// --- names

constexpr std::string_view kModel = "model.";
constexpr std::string_view kOldExperts = "block_sparse_moe";
constexpr std::string_view kNewExperts = "mlp";

// The name without what the table lets a program rename.
std::string short_name(std::string_view name) {
  if (name.starts_with(kModel)) {
    name.remove_prefix(kModel.size());
  }
  std::string out;
  while (true) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, dot);
    out += part == kOldExperts ? kNewExperts : part;
    if (dot == name.size()) {
      return out;
    }
    out += '.';
    name.remove_prefix(dot + 1);
  }
}

// "model.layers.0.self_attn." "q_proj" "weight"
struct ParameterName {
  std::string_view outer;
  std::string_view module;
  std::string_view parameter;
};
std::optional<ParameterName> split(std::string_view name) {
  const std::size_t last = name.rfind('.');
  if (last == std::string_view::npos || last == 0) {
    return std::nullopt;
  }
  const std::size_t before = name.rfind('.', last - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return ParameterName{name.substr(0, begin), name.substr(begin, last - begin),
                       name.substr(last + 1)};
}

// The number in "model.layers.0.mlp.experts.12.", with "model.layers.0.mlp.experts." before it.
struct ExpertName {
  std::string_view outer;
  std::size_t number;
};
std::optional<ExpertName> expert(std::string_view outer) {
  constexpr std::string_view kExperts = "experts";
  const auto parts = split(outer);  // of "...experts.12.": an empty parameter behind the last dot
  if (!parts || !parts->parameter.empty()) {
    return std::nullopt;
  }
  std::size_t number = 0;
  const std::string_view digits = parts->module;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool decimal = error == std::errc() && end == digits.data() + digits.size() &&
                       (digits.size() == 1 || digits.front() != '0');
  const bool list = parts->outer == std::string(kExperts) + "." ||
                    parts->outer.ends_with("." + std::string(kExperts) + ".");
  return decimal && list ? std::optional(ExpertName{parts->outer, number}) : std::nullopt;
}

// --- the rows

// Modules that lie one behind the other along the first axis.
struct JoinedRow {
  std::array<std::string_view, 3> modules;  // the last may be empty
  std::string_view joined;
};
constexpr std::array<JoinedRow, 3> kJoined = {{
    {{"q_proj", "k_proj", "v_proj"}, "qkv_proj"},
    {{"query", "key", "value"}, "qkv_proj"},
    {{"gate_proj", "up_proj", ""}, "gate_up_proj"},
}};

// Modules of all experts, stacked along a new first axis; two of them lie one behind the other
// along the second.
struct ExpertsRow {
  std::array<std::string_view, 2> modules;  // the last may be empty
  std::array<std::string_view, 2> stacked;  // names below "experts."
};
constexpr std::array<ExpertsRow, 4> kExperts = {{
    {{"gate_proj", "up_proj"}, {"gate_up_proj", "w13_weight"}},
    {{"w1", "w3"}, {"gate_up_proj", "w13_weight"}},
    {{"down_proj", ""}, {"down_proj", "w2_weight"}},
    {{"w2", ""}, {"down_proj", "w2_weight"}},
}};

// The entry of an expression that is an entry or casts one.
const LayoutEntry* entry_of(const LayoutExpression& expression) {
  const LayoutExpression& inner =
      expression.op == LayoutOp::kCast ? expression.of.front() : expression;
  return inner.op == LayoutOp::kEntry ? &inner.entry : nullptr;
}

using NameSet = std::set<std::string, std::less<>>;

class Table {
 public:
  explicit Table(NameSet known) : known_(std::move(known)) {}

  // Returns the short names that the table gives to what the expression makes. Empty: none.
  [[nodiscard]] std::vector<std::string> names_of(const LayoutExpression& expression) const {
    const LayoutExpression& made =
        expression.op == LayoutOp::kCast ? expression.of.front() : expression;
    switch (made.op) {
      case LayoutOp::kEntry:
        return {short_name(made.entry.name)};
      case LayoutOp::kStack:
        return experts({&made, 1});
      case LayoutOp::kConcat:
        return made.axis == 0 ? joined(made) : made.axis == 1 ? experts(made.of) : none();
      default:
        return none();
    }
  }

 private:
  static std::vector<std::string> none() { return {}; }

  static std::vector<std::string> joined(const LayoutExpression& concat) {
    std::vector<ParameterName> parts;
    for (const LayoutExpression& operand : concat.of) {
      const LayoutEntry* const entry = entry_of(operand);
      const auto name = entry == nullptr ? std::nullopt : split(entry->name);
      if (!name || (name->parameter != "weight" && name->parameter != "bias") ||
          (!parts.empty() &&
           (name->outer != parts.front().outer || name->parameter != parts.front().parameter))) {
        return none();
      }
      parts.push_back(*name);
    }
    for (const JoinedRow& row : kJoined) {
      const std::size_t count = row.modules.back().empty() ? 2 : 3;
      if (std::ranges::equal(parts, std::span(row.modules).first(count), {},
                             &ParameterName::module)) {
        return {short_name(std::string(parts.front().outer) + std::string(row.joined) + "." +
                           std::string(parts.front().parameter))};
      }
    }
    return none();
  }

  struct Stacked {
    std::string_view outer;  // "...experts."
    std::string_view module;
  };
  // Experts 0, 1, ... of which each is there.
  [[nodiscard]] std::optional<Stacked> stacked(const LayoutExpression& stack) const {
    if (stack.op != LayoutOp::kStack || stack.axis != 0) {
      return std::nullopt;
    }
    std::optional<Stacked> common;
    for (std::size_t i = 0; i < stack.of.size(); ++i) {
      const LayoutEntry* const entry = entry_of(stack.of[i]);
      const auto name = entry == nullptr ? std::nullopt : split(entry->name);
      const auto of = name ? expert(name->outer) : std::nullopt;
      if (!of || of->number != i || name->parameter != "weight" ||
          (common && (common->outer != of->outer || common->module != name->module))) {
        return std::nullopt;
      }
      common = Stacked{of->outer, name->module};
    }
    const std::string next = std::string(common->outer) + std::to_string(stack.of.size()) + "." +
                             std::string(common->module) + ".weight";
    return known_.contains(short_name(next)) ? std::nullopt : common;
  }

  [[nodiscard]] std::vector<std::string> experts(std::span<const LayoutExpression> stacks) const {
    std::vector<Stacked> parts;
    for (const LayoutExpression& stack : stacks) {
      const auto part = stacked(stack);
      if (!part || part->outer != (parts.empty() ? part->outer : parts.front().outer)) {
        return none();
      }
      parts.push_back(*part);
    }
    for (const ExpertsRow& row : kExperts) {
      const std::size_t count = row.modules.back().empty() ? 1 : 2;
      if (std::ranges::equal(parts, std::span(row.modules).first(count), {}, &Stacked::module)) {
        std::vector<std::string> names;
        for (const std::string_view name : row.stacked) {
          names.push_back(short_name(std::string(parts.front().outer) + std::string(name)));
        }
        return names;
      }
    }
    return none();
  }

  NameSet known_;
};

std::unexpected<Error> refused(std::string detail, std::string where) {
  return fail(ErrorCode::kLayoutNotByTable, std::move(detail), std::move(where));
}

}  // namespace

Status is_by_table(const Layout& layout, const Artifact& artifact) {
  if (!layout.dropped.empty()) {
    return refused("the table drops nothing", "/dropped");
  }
  if (!layout.replicated.empty()) {
    return refused("the table has nothing in several places", "/replicated");
  }
  NameSet known;
  for (const Entry& entry : artifact.entries) {
    const auto* const tensor = std::get_if<TensorEntry>(&entry);
    if (tensor != nullptr && !known.insert(short_name(tensor->name)).second) {
      return refused("the table cannot tell this tensor from another one", label_of(entry));
    }
  }
  const Table table(std::move(known));
  NameSet made;
  for (std::size_t rank = 0; rank < layout.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < layout.ranks[rank].tensors.size(); ++i) {
      const LayoutTensor& tensor = layout.ranks[rank].tensors[i];
      const std::string where = "/ranks/" + std::to_string(rank) + "/tensors/" + std::to_string(i);
      const std::vector<std::string> names = table.names_of(tensor.from);
      if (names.empty()) {
        return refused("the table has no such expression", where + "/from");
      }
      const std::string own = short_name(tensor.name);
      if (std::ranges::find(names, own) == names.end()) {
        return refused("the table gives this expression another name", where + "/name");
      }
      if (!made.insert(own).second) {
        return refused("the table has one tensor of this name", where + "/name");
      }
    }
  }
  return {};
}

}  // namespace assay
