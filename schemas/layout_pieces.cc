// SPDX-License-Identifier: Apache-2.0
// Expressions of layouts: first their dtypes and shapes, from the entries upwards; then their
// pieces, from the tensor downwards.
#include "schemas/layout_pieces.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schemas/core/dtype.h"
#include "schemas/core/json_values.h"

namespace assay {
namespace {

using Shape = std::vector<std::uint64_t>;
constexpr auto kMost = static_cast<std::uint64_t>(kMaxSafeInteger);

std::unexpected<Error> misfit(std::string detail, std::string where = {}) {
  return fail(ErrorCode::kLayoutShape, std::move(detail), std::move(where));
}

// An expression with what it makes.
struct Value {
  const LayoutExpression* expression;
  std::string_view dtype{};
  Shape shape{};
  std::uint64_t entry = 0;  // kEntry
  std::vector<Value> of{};
};

bool is_permutation_of(const std::vector<std::uint64_t>& numbers, std::uint64_t count) {
  if (numbers.size() != count) {
    return false;
  }
  std::vector<bool> seen(numbers.size());
  for (const std::uint64_t number : numbers) {
    if (number >= count || seen[number]) {
      return false;
    }
    seen[number] = true;
  }
  return true;
}

class Resolver {
 public:
  explicit Resolver(const LayoutEntries& entries) : entries_(entries) {}

  Result<Value> resolve(const LayoutExpression& expression) {
    Value value{&expression};
    if (expression.op == LayoutOp::kEntry) {
      auto found = entries_.find(expression.entry);
      if (!found) {
        return json::below("entry", std::move(found).error());
      }
      value.entry = *found;
      value.dtype = entries_.at(*found).dtype;
      value.shape = entries_.at(*found).shape;
      return value;
    }
    const bool many = expression.op == LayoutOp::kConcat || expression.op == LayoutOp::kStack;
    for (std::size_t i = 0; i < expression.of.size(); ++i) {
      auto operand = resolve(expression.of[i]);
      if (!operand) {
        const std::string member(name(expression.op));
        return json::below(many ? member + "/" + std::to_string(i) : member,
                           std::move(operand).error());
      }
      value.of.push_back(*std::move(operand));
    }
    value.dtype = value.of.front().dtype;
    value.shape = value.of.front().shape;
    if (!element_bytes(value.dtype)) {
      return misfit("a tensor of this type can only be used whole");
    }
    ASSAY_TRY(apply(expression, value));
    if (value.shape.size() > kMaxLayoutDimensions || !element_count(value.shape)) {
      return misfit("more than 8 dimensions, or 2^53 elements or more");
    }
    return value;
  }

 private:
  // Changes dtype and shape of the first operand to those of the result.
  static Status apply(const LayoutExpression& expression, Value& value) {
    switch (expression.op) {
      case LayoutOp::kConcat:
      case LayoutOp::kStack:
        return join(expression, value);
      case LayoutOp::kTranspose:
        return transpose(expression, value);
      case LayoutOp::kReshape:
        if (element_count(expression.numbers) != element_count(value.shape)) {
          return misfit("the shapes have different numbers of elements", "/shape");
        }
        value.shape = expression.numbers;
        return {};
      case LayoutOp::kCast:
        if (value.dtype != "F32" || (expression.to != "BF16" && expression.to != "F16")) {
          return misfit("a cast makes BF16 or F16 of F32", "/to");
        }
        value.dtype = expression.to;
        return {};
      default:
        return along(expression, value);
    }
  }

  static Status transpose(const LayoutExpression& expression, Value& value) {
    if (!is_permutation_of(expression.numbers, value.shape.size())) {
      return misfit("axes name every axis of the operand once", "/axes");
    }
    Shape shape;
    for (const std::uint64_t axis : expression.numbers) {
      shape.push_back(value.shape[axis]);
    }
    value.shape = std::move(shape);
    return {};
  }

  static Status join(const LayoutExpression& expression, Value& value) {
    const bool stack = expression.op == LayoutOp::kStack;
    if (expression.axis >= value.shape.size() + (stack ? 1 : 0)) {
      return misfit("there is no such axis", "/axis");
    }
    std::uint64_t length = 0;
    for (const Value& operand : value.of) {
      Shape shape = operand.shape;
      if (!stack && expression.axis < shape.size()) {
        length += shape[expression.axis];
        shape[expression.axis] = value.shape[expression.axis];
      }
      if (operand.dtype != value.dtype || shape != value.shape || length > kMost) {
        return misfit("operands of other types or other dimensions",
                      "/" + std::string(name(expression.op)));
      }
    }
    if (stack) {
      value.shape.insert(value.shape.begin() + static_cast<std::ptrdiff_t>(expression.axis),
                         value.of.size());
    } else {
      value.shape[expression.axis] = length;
    }
    return {};
  }

  static Status along(const LayoutExpression& expression, Value& value) {
    if (expression.axis >= value.shape.size()) {
      return misfit("there is no such axis", "/axis");
    }
    std::uint64_t& length = value.shape[expression.axis];
    const auto [first, second] = std::pair(expression.first, expression.second);
    if (expression.op == LayoutOp::kSlice) {
      if (second == 0 || first > length || second > length - first) {
        return misfit("the indexes lie outside of the axis, or are none", "/size");
      }
      length = second;
    } else if (expression.op == LayoutOp::kPad) {
      if (first + second == 0 || first + second > kMost - length) {
        return misfit("no zeros, or too many", "/before");
      }
      length += first + second;
    } else if (expression.op == LayoutOp::kRepeat) {
      if (first < 2 || length > kMost / first) {
        return misfit("the operand stands there 2 times or more, with less than 2^53 indexes",
                      "/times");
      }
      length *= first;
    } else if (!is_permutation_of(expression.numbers, length)) {
      return misfit("rows name every index of the axis once", "/rows");
    }
    return {};
  }

  const LayoutEntries& entries_;
};

// Indexes of all axes of a value, and where they stand in the tensor.
struct Box {
  std::vector<LayoutSpan> axes;
  std::uint64_t to = 0;
};

// Calls itself for each operand with those indexes of the operand that a box asks for.
class Walker {
 public:
  explicit Walker(std::size_t& steps) : steps_(steps) {}

  // Errors: limit-exceeded.
  Result<std::vector<LayoutPiece>> walk(const Value& value) {
    Box box;
    std::uint64_t step = 1;
    for (auto length = value.shape.rbegin(); length != value.shape.rend(); ++length) {
      box.axes.push_back({0, *length, step});
      step *= *length;
    }
    std::ranges::reverse(box.axes);
    down(value, std::move(box), false);
    if (full_) {
      return fail(ErrorCode::kLimitExceeded,
                  "the tensor has more than 2^18 pieces, or the layout takes more than 2^24 steps",
                  "/from");
    }
    return std::move(pieces_);
  }

 private:
  void down(const Value& value, Box box, bool cast) {
    take(1 + value.of.size());
    const bool empty =
        std::ranges::find(box.axes, std::uint64_t{0}, &LayoutSpan::size) != box.axes.end();
    if (full_ || empty) {
      return;
    }
    const LayoutExpression& expression = *value.expression;
    const std::uint64_t axis = expression.axis;
    switch (expression.op) {
      case LayoutOp::kEntry:
        full_ = pieces_.size() == kMaxTensorPieces;
        pieces_.push_back({value.entry, std::move(box.axes), box.to, cast});
        return;
      case LayoutOp::kCast:
        return down(value.of.front(), std::move(box), true);
      case LayoutOp::kSlice:
        box.axes[axis].start += expression.first;
        return down(value.of.front(), std::move(box), cast);
      case LayoutOp::kConcat:
        return concat(value, box, cast);
      case LayoutOp::kStack:
        return stack(value, box, cast);
      case LayoutOp::kTranspose:
        return transpose(value, box, cast);
      case LayoutOp::kReshape:
        return reshape(value, box, cast);
      case LayoutOp::kPad:
        return part(value.of.front(), box, axis, expression.first, cast);
      case LayoutOp::kRepeat:
        return repeat(value, box, cast);
      case LayoutOp::kPermute:
        return permute(value, box, cast);
    }
  }

  // Of the box the indexes of one axis that are those of `operand`, which begins at index `begin`.
  void part(const Value& operand, const Box& box, std::uint64_t axis, std::uint64_t begin,
            bool cast) {
    const LayoutSpan& span = box.axes[axis];
    const std::uint64_t from = std::max(span.start, begin);
    const std::uint64_t end = std::min(span.start + span.size, begin + operand.shape[axis]);
    if (from < end) {
      Box own = box;
      own.axes[axis] = {from - begin, end - from, span.step};
      own.to += (from - span.start) * span.step;
      down(operand, std::move(own), cast);
    }
  }

  void concat(const Value& value, const Box& box, bool cast) {
    std::uint64_t begin = 0;
    for (const Value& operand : value.of) {
      part(operand, box, value.expression->axis, begin, cast);
      begin += operand.shape[value.expression->axis];
    }
  }

  void stack(const Value& value, const Box& box, bool cast) {
    const std::uint64_t axis = value.expression->axis;
    const LayoutSpan span = box.axes[axis];
    for (std::uint64_t i = 0; i < span.size && !full_; ++i) {
      Box own = box;
      own.axes.erase(own.axes.begin() + static_cast<std::ptrdiff_t>(axis));
      own.to += i * span.step;
      down(value.of[span.start + i], std::move(own), cast);
    }
  }

  void transpose(const Value& value, const Box& box, bool cast) {
    Box own = box;
    for (std::size_t i = 0; i < box.axes.size(); ++i) {
      own.axes[value.expression->numbers[i]] = box.axes[i];
    }
    down(value.of.front(), std::move(own), cast);
  }

  void repeat(const Value& value, const Box& box, bool cast) {
    const std::uint64_t axis = value.expression->axis;
    const LayoutSpan& span = box.axes[axis];
    const std::uint64_t length = value.of.front().shape[axis];
    for (std::uint64_t begin = span.start / length * length;
         begin < span.start + span.size && !full_; begin += length) {
      part(value.of.front(), box, axis, begin, cast);
    }
  }

  void permute(const Value& value, const Box& box, bool cast) {
    const std::uint64_t axis = value.expression->axis;
    const std::vector<std::uint64_t>& rows = value.expression->numbers;
    const LayoutSpan span = box.axes[axis];
    take(span.size);
    for (std::uint64_t i = 0; i < span.size && !full_;) {
      const std::uint64_t first = rows[span.start + i];
      std::uint64_t size = 1;
      while (i + size < span.size && rows[span.start + i + size] == first + size) {
        ++size;
      }
      Box own = box;
      own.axes[axis] = {first, size, span.step};
      own.to += i * span.step;
      down(value.of.front(), std::move(own), cast);
      i += size;
    }
  }

  // --- reshape: axes of both shapes are taken in groups of the same number of elements. The
  // indexes of a group in a box are runs of elements that follow each other; each run is a few
  // boxes of the operand.

  struct Group {
    std::size_t out_begin, out_end, in_begin, in_end;
  };
  struct Reshape {
    const Value& operand;
    const Shape& out;
    const Shape& in;
    std::vector<Group> groups{};
    bool cast = false;
    Box made{};
  };

  static std::vector<Group> groups_of(const Shape& out, const Shape& in) {
    std::vector<Group> groups;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < out.size() && j < in.size()) {
      Group group{i, i + 1, j, j + 1};
      std::uint64_t left = out[i++];
      std::uint64_t right = in[j++];
      while (left != right) {
        (left < right ? left *= out[i++] : right *= in[j++]);
      }
      group.out_end = i;
      group.in_end = j;
      groups.push_back(group);
    }
    if (groups.empty()) {
      groups.push_back({0, 0, 0, 0});
    }
    groups.back().out_end = out.size();  // what is left has one index
    groups.back().in_end = in.size();
    return groups;
  }

  void reshape(const Value& value, const Box& box, bool cast) {
    const Value& operand = value.of.front();
    Reshape work{operand,       value.shape,
                 operand.shape, groups_of(value.shape, operand.shape),
                 cast,          {std::vector<LayoutSpan>(operand.shape.size()), box.to}};
    group(work, 0, box);
  }

  void group(Reshape& work, std::size_t number, const Box& box) {
    if (number == work.groups.size()) {
      return down(work.operand, work.made, work.cast);
    }
    const Group& own = work.groups[number];
    LayoutSpan run{0, 1, 0};
    std::uint64_t weight = 1;
    std::size_t axis = own.out_end;
    for (; axis > own.out_begin; --axis) {
      const LayoutSpan& span = box.axes[axis - 1];
      if (span.size > 1) {
        const bool follows = run.size == weight && (weight == 1 || span.step == run.step * weight);
        if (!follows) {
          break;
        }
        run = {run.start, span.size * weight, weight == 1 ? span.step : run.step};
      }
      run.start += span.start * weight;
      weight *= work.out[axis - 1];
    }
    runs(work, number, box, axis, weight, run);
  }

  // Each index of the axes of the group before `axis` has a run of its own.
  void runs(Reshape& work, std::size_t number, const Box& box, std::size_t axis,
            std::uint64_t weight, LayoutSpan run) {
    const Group& own = work.groups[number];
    if (axis == own.out_begin) {
      return boxes(work, number, box, own.in_begin, run);
    }
    const LayoutSpan& span = box.axes[axis - 1];
    const std::uint64_t to = work.made.to;
    for (std::uint64_t i = 0; i < span.size && !full_; ++i) {
      work.made.to = to + i * span.step;
      LayoutSpan next = run;
      next.start += (span.start + i) * weight;
      take(1);
      runs(work, number, box, axis - 1, weight * work.out[axis - 1], next);
    }
    work.made.to = to;
  }

  // The boxes of a run in the axes of the operand from `axis` to the end of the group.
  void boxes(Reshape& work, std::size_t number, const Box& box, std::size_t axis, LayoutSpan run) {
    const Group& own = work.groups[number];
    if (axis == own.in_end) {
      return group(work, number + 1, box);
    }
    std::uint64_t weight = 1;
    for (std::size_t i = axis + 1; i < own.in_end; ++i) {
      weight *= work.in[i];
    }
    const std::uint64_t to = work.made.to;
    const std::uint64_t end = run.start + run.size;
    for (std::uint64_t at = run.start; at < end && !full_;) {
      const std::uint64_t row = at / weight;
      const std::uint64_t whole = at % weight == 0 ? (end - at) / weight : 0;
      const std::uint64_t size =
          whole > 0 ? whole * weight : std::min(end, (row + 1) * weight) - at;
      work.made.to = to + (at - run.start) * run.step;
      work.made.axes[axis] = {row, std::max<std::uint64_t>(whole, 1), run.step * weight};
      const LayoutSpan rest =
          whole > 0 ? LayoutSpan{0, weight, run.step} : LayoutSpan{at % weight, size, run.step};
      boxes(work, number, box, axis + 1, rest);
      at += size;
    }
    work.made.to = to;
  }

  void take(std::size_t steps) {
    full_ = full_ || steps > steps_;
    steps_ -= std::min(steps, steps_);
  }

  std::vector<LayoutPiece> pieces_;
  std::size_t& steps_;
  bool full_ = false;  // there are too many pieces, or no steps are left
};

}  // namespace

LayoutEntries::LayoutEntries(const Artifact& artifact) : artifact_(&artifact) {
  for (std::uint64_t i = 0; i < artifact.entries.size(); ++i) {
    if (const auto* tensor = std::get_if<TensorEntry>(&artifact.entries[i])) {
      positions_.emplace(tensor->name, i);
    }
  }
}

const TensorEntry& LayoutEntries::at(std::uint64_t position) const {
  return std::get<TensorEntry>(artifact_->entries.at(position));
}

Result<std::uint64_t> LayoutEntries::find(const LayoutEntry& entry) const {
  const auto [begin, end] = positions_.equal_range(entry.name);
  std::optional<std::uint64_t> found;
  for (auto row = begin; row != end; ++row) {
    if (entry.file.empty() || at(row->second).file == entry.file) {
      if (found) {
        return fail(ErrorCode::kLayoutEntryUnknown,
                    "several files have a tensor of this name; name the file");
      }
      found = row->second;
    }
  }
  if (!found) {
    return fail(ErrorCode::kLayoutEntryUnknown, "the artifact has no such tensor entry");
  }
  return *found;
}

std::optional<std::uint64_t> element_bytes(std::string_view dtype) {
  const auto bits = dtype_bits(dtype);
  return bits && *bits % 8 == 0 ? std::optional(*bits / 8) : std::nullopt;
}

Result<std::vector<LayoutPiece>> pieces_of(const LayoutTensor& tensor, const LayoutEntries& entries,
                                           std::size_t& steps) {
  auto value = Resolver(entries).resolve(tensor.from);
  if (!value) {
    return json::below("from", std::move(value).error());
  }
  if (value->dtype != tensor.dtype) {
    return misfit("the expression makes " + std::string(value->dtype), "/dtype");
  }
  if (value->shape != tensor.shape) {
    return misfit("the expression makes another shape", "/shape");
  }
  return Walker(steps).walk(*value);
}

}  // namespace assay
