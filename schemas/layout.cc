// SPDX-License-Identifier: Apache-2.0
// Layouts: shape by layout.schema.json. Expressions are read here alone, because validate() takes
// too long for as many as a layout may have.
#include "schemas/layout.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "schemas/core/dtype.h"
#include "schemas/core/json_object.h"
#include "schemas/core/sha.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

// The members of an expression beside the one that names its operation.
struct OpRow {
  LayoutOp op;
  std::string_view name;
  bool many = false;  // the operands are a list
  bool axis = false;
  std::string_view first{};
  std::string_view second{};
  std::string_view numbers{};
};
constexpr std::array<OpRow, 10> kOps = {{
    {LayoutOp::kEntry, "entry"},
    {LayoutOp::kSlice, "slice", false, true, "start", "size"},
    {LayoutOp::kConcat, "concat", true, true},
    {LayoutOp::kStack, "stack", true, true},
    {LayoutOp::kTranspose, "transpose", false, false, {}, {}, "axes"},
    {LayoutOp::kReshape, "reshape", false, false, {}, {}, "shape"},
    {LayoutOp::kPad, "pad", false, true, "before", "after"},
    {LayoutOp::kRepeat, "repeat", false, true, "times"},
    {LayoutOp::kCast, "cast"},
    {LayoutOp::kPermute, "permute", false, true, {}, {}, "rows"},
}};
constexpr std::size_t kMaxText = 4096;  // bytes of a name or path
constexpr std::size_t kMaxMemory = std::size_t{240} << 20;

std::unexpected<Error> wrong(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

const OpRow& row_of(LayoutOp op) { return *std::ranges::find(kOps, op, &OpRow::op); }

std::string member_path(std::string_view name) { return "/" + std::string(name); }

// Reads expressions, and counts them against the limits of a layout.
class ExpressionReader {
 public:
  Result<LayoutExpression> read(const Json& json, std::size_t depth) {
    if (depth == kMaxLayoutDepth || ++expressions_ > kMaxLayoutExpressions) {
      return fail(ErrorCode::kLimitExceeded,
                  "expressions nest at most 16 deep, and a layout has at most 2^19 of them");
    }
    ASSAY_TRY(json::check_object(json));
    const auto* const row =
        std::ranges::find_if(kOps, [&](const OpRow& known) { return json.contains(known.name); });
    if (row == kOps.end()) {
      return wrong("an expression has a member that names its operation", "");
    }
    LayoutExpression expression{.op = row->op};
    ASSAY_TRY(check_members(json, *row));
    ASSAY_TRY(read_operands(json, *row, depth, expression));
    ASSAY_TRY(read_number(json, row->axis ? "axis" : "", expression.axis));
    ASSAY_TRY(read_number(json, row->first, expression.first));
    ASSAY_TRY(read_number(json, row->second, expression.second));
    ASSAY_TRY(read_numbers(json, row->numbers, expression.numbers));
    return expression;
  }

 private:
  static Status check_members(const Json& json, const OpRow& row) {
    std::vector<std::string_view> known = {row.name};
    for (const std::string_view name : {row.first, row.second, row.numbers}) {
      if (!name.empty()) {
        known.push_back(name);
      }
    }
    if (row.axis) {
      known.emplace_back("axis");
    }
    if (row.op == LayoutOp::kCast) {
      known.emplace_back("to");
    }
    if (row.op == LayoutOp::kEntry) {
      known.emplace_back("file");
    }
    return json::check_known(json, known);
  }

  static Status read_text(const Json& json, std::string_view name, std::string& text) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_string() ||
        found->get_ref<const std::string&>().size() > kMaxText) {
      return wrong("a text of at most 4096 bytes is expected", member_path(name));
    }
    text = found->get<std::string>();
    return {};
  }

  static Status read_number(const Json& json, std::string_view name, std::uint64_t& number) {
    if (name.empty()) {
      return {};
    }
    const auto found = json.find(name);
    if (found == json.end()) {
      return json::missing(name);
    }
    auto value = json::number(*found, kMaxSafeInteger);
    if (!value) {
      return json::below(name, std::move(value).error());
    }
    number = *value;
    return {};
  }

  Status read_numbers(const Json& json, std::string_view name,
                      std::vector<std::uint64_t>& numbers) {
    if (name.empty()) {
      return {};
    }
    const auto found = json.find(name);
    if (found == json.end() || !found->is_array()) {
      return wrong("a list of numbers is expected", member_path(name));
    }
    numbers_ += found->size();
    if (numbers_ > kMaxLayoutNumbers) {
      return fail(ErrorCode::kLimitExceeded, "a layout lists at most 2^20 numbers",
                  member_path(name));
    }
    auto list = json::get_list<std::vector<std::uint64_t>>(
        *found, [](const Json& item) { return json::number(item, kMaxSafeInteger); });
    if (!list) {
      return json::below(name, std::move(list).error());
    }
    numbers = *std::move(list);
    return {};
  }

  Status read_operands(const Json& json, const OpRow& row, std::size_t depth,
                       LayoutExpression& expression) {
    if (row.op == LayoutOp::kEntry) {
      ASSAY_TRY(read_text(json, row.name, expression.entry.name));
      return json.contains("file") ? read_text(json, "file", expression.entry.file) : Status();
    }
    if (row.op == LayoutOp::kCast) {
      ASSAY_TRY(read_text(json, "to", expression.to));
    }
    const Json& operands = json[row.name];
    if (!row.many) {
      auto operand = read(operands, depth + 1);
      if (!operand) {
        return json::below(row.name, std::move(operand).error());
      }
      expression.of.push_back(*std::move(operand));
      return {};
    }
    const std::size_t least = row.op == LayoutOp::kConcat ? 2 : 1;
    if (!operands.is_array() || operands.size() < least || operands.size() > kMaxLayoutTensors) {
      return wrong("a list of expressions is expected: at most 131072, and 2 or more to concat",
                   member_path(row.name));
    }
    auto list = json::get_list<std::vector<LayoutExpression>>(
        operands, [&](const Json& item) { return read(item, depth + 1); });
    if (!list) {
      return json::below(row.name, std::move(list).error());
    }
    expression.of = *std::move(list);
    return {};
  }

  std::size_t expressions_ = 0;
  std::size_t numbers_ = 0;
};

Json write(const LayoutExpression& expression) {
  const OpRow& row = row_of(expression.op);
  Json json = Json::object();
  if (row.op == LayoutOp::kEntry) {
    json["entry"] = expression.entry.name;
    if (!expression.entry.file.empty()) {
      json["file"] = expression.entry.file;
    }
    return json;
  }
  if (row.many) {
    Json& list = json[row.name] = Json::array();
    for (const LayoutExpression& operand : expression.of) {
      list.push_back(write(operand));
    }
  } else {
    json[row.name] = write(expression.of.front());
  }
  if (row.axis) {
    json["axis"] = expression.axis;
  }
  if (!row.first.empty()) {
    json[row.first] = expression.first;
  }
  if (!row.second.empty()) {
    json[row.second] = expression.second;
  }
  if (!row.numbers.empty()) {
    json[row.numbers] = expression.numbers;
  }
  if (row.op == LayoutOp::kCast) {
    json["to"] = expression.to;
  }
  return json;
}

Json write(const LayoutTensor& tensor) {
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"from", write(tensor.from)}};
}

// Takes the expressions out of a document of any shape, and leaves the shortest ones in their
// place. Returns them by rank and tensor.
std::vector<std::vector<Json>> take_expressions(Json& json) {
  std::vector<std::vector<Json>> taken;
  if (!json.is_object() || !json.contains("ranks") || !json["ranks"].is_array()) {
    return taken;
  }
  for (Json& rank : json["ranks"]) {
    std::vector<Json>& of_rank = taken.emplace_back();
    if (!rank.is_object() || !rank.contains("tensors") || !rank["tensors"].is_array()) {
      continue;
    }
    for (Json& tensor : rank["tensors"]) {
      Json& from = of_rank.emplace_back();
      if (tensor.is_object() && tensor.contains("from")) {
        from = std::exchange(tensor["from"], Json{{"entry", ""}});
      }
    }
  }
  return taken;
}

std::string tensor_path(std::size_t rank, std::size_t tensor, const char* member = "") {
  return "/ranks/" + std::to_string(rank) + "/tensors/" + std::to_string(tensor) + member;
}

Status check_names(const LayoutRank& rank, std::size_t position) {
  const auto falls = [](const std::string& a, const std::string& b) { return a >= b; };
  const auto at = std::ranges::adjacent_find(rank.tensors, falls, &LayoutTensor::name);
  if (at == rank.tensors.end()) {
    return {};
  }
  const auto second = static_cast<std::size_t>(std::distance(rank.tensors.begin(), at)) + 1;
  return wrong("tensors stand in the order of their names, each name once",
               tensor_path(position, second, "/name"));
}

Result<LayoutRank> read_rank(const Json& json, std::size_t position,
                             const std::vector<Json>& expressions, ExpressionReader& reader) {
  LayoutRank rank;
  for (const Json& item : json["tensors"]) {
    const std::size_t index = rank.tensors.size();
    auto from = reader.read(expressions.at(index), 0);
    if (!from) {
      return members::under(tensor_path(position, index, "/from"), std::move(from).error());
    }
    rank.tensors.push_back({members::text(item, "name"), members::text(item, "dtype"),
                            item["shape"].get<std::vector<std::uint64_t>>(), *std::move(from)});
  }
  ASSAY_TRY(check_names(rank, position));
  return rank;
}

Status check_sizes(const Layout& layout) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (std::size_t r = 0; r < layout.ranks.size(); ++r) {
    for (std::size_t i = 0; i < layout.ranks[r].tensors.size(); ++i) {
      const LayoutTensor& tensor = layout.ranks[r].tensors[i];
      const auto size = tensor_size(tensor.dtype, tensor.shape);
      if (!size) {
        return wrong("dtype and shape give no number of bytes", tensor_path(r, i, "/shape"));
      }
      if (++count > kMaxLayoutTensors || *size > kMaxLayoutTargetBytes - bytes) {
        return fail(ErrorCode::kLimitExceeded,
                    "a layout has at most 131072 tensors, and they have at most 2^48 bytes",
                    tensor_path(r, i));
      }
      bytes += *size;
    }
  }
  return {};
}

}  // namespace

static auto members_of(json::As<LayoutEntry>) {
  return std::tuple(json::always("entry", &LayoutEntry::name),
                    json::if_set("file", &LayoutEntry::file));
}

namespace {

Result<std::vector<LayoutEntry>> read_entries(const Json& json, const char* member) {
  std::vector<LayoutEntry> entries;
  if (json.contains(member)) {
    auto read = json::get_list<std::vector<LayoutEntry>>(json[member], json::read<LayoutEntry>);
    if (!read) {
      return json::below(member, std::move(read).error());
    }
    entries = *std::move(read);
  }
  if (auto status = json::check_order(std::ranges::adjacent_find(entries, std::greater_equal<>()) ==
                                      entries.end());
      !status) {
    return json::below(member, std::move(status).error());
  }
  return entries;
}

}  // namespace

std::string_view name(LayoutOp op) { return row_of(op).name; }

Result<Layout> layout_from_json(Json json) {
  const std::vector<std::vector<Json>> expressions = take_expressions(json);
  ASSAY_TRY(validate("layout", json));
  auto artifact = ArtifactId::parse(members::text(json, "artifact"));
  if (!artifact) {
    return members::under("/artifact", std::move(artifact).error());
  }
  Layout layout{*std::move(artifact), {}};
  ExpressionReader reader;
  for (const Json& rank : json["ranks"]) {
    const std::size_t position = layout.ranks.size();
    ASSAY_ASSIGN(LayoutRank read, read_rank(rank, position, expressions.at(position), reader));
    layout.ranks.push_back(std::move(read));
  }
  ASSAY_ASSIGN(layout.dropped, read_entries(json, "dropped"));
  ASSAY_ASSIGN(layout.replicated, read_entries(json, "replicated"));
  ASSAY_TRY(check_sizes(layout));
  return layout;
}

Result<Layout> parse_layout(ByteView bytes) {
  ASSAY_ASSIGN(Json json, parse_json(bytes, {kMaxLayoutBytes, kMaxLayoutJsonDepth, kMaxMemory}));
  return layout_from_json(std::move(json));
}

Json to_json(const Layout& layout) {
  Json ranks = Json::array();
  for (const LayoutRank& rank : layout.ranks) {
    Json tensors = Json::array();
    for (const LayoutTensor& tensor : rank.tensors) {
      tensors.push_back(write(tensor));
    }
    ranks.push_back({{"tensors", std::move(tensors)}});
  }
  Json json = {{"artifact", layout.artifact.text()}, {"ranks", std::move(ranks)}};
  if (!layout.dropped.empty()) {
    json["dropped"] = json::put(layout.dropped);
  }
  if (!layout.replicated.empty()) {
    json["replicated"] = json::put(layout.replicated);
  }
  return json;
}

LayoutId id_of(const Layout& layout) {
  // A layout that was parsed or made of valid texts has a canonical form.
  return LayoutId(sha256(as_bytes(canonical_json(to_json(layout)).value())));
}

}  // namespace assay
