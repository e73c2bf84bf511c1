// SPDX-License-Identifier: Apache-2.0
// Layouts for tests: short ways to write expressions, artifacts of toy tensors, and a plain second
// evaluation of expressions, element by element.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/core/dtype.h"
#include "schemas/layout_pieces.h"
#include "tests/schemas/samples.h"

namespace assay::test {

using Shape = std::vector<std::uint64_t>;

inline LayoutExpression entry(std::string name, std::string file = {}) {
  return {.op = LayoutOp::kEntry, .entry = {std::move(name), std::move(file)}};
}
inline LayoutExpression slice(LayoutExpression of, std::uint64_t axis, std::uint64_t start,
                              std::uint64_t size) {
  return {
      .op = LayoutOp::kSlice, .of = {std::move(of)}, .axis = axis, .first = start, .second = size};
}
inline LayoutExpression concat(std::vector<LayoutExpression> of, std::uint64_t axis) {
  return {.op = LayoutOp::kConcat, .of = std::move(of), .axis = axis};
}
inline LayoutExpression stack(std::vector<LayoutExpression> of, std::uint64_t axis) {
  return {.op = LayoutOp::kStack, .of = std::move(of), .axis = axis};
}
inline LayoutExpression transpose(LayoutExpression of, Shape axes) {
  return {.op = LayoutOp::kTranspose, .of = {std::move(of)}, .numbers = std::move(axes)};
}
inline LayoutExpression reshape(LayoutExpression of, Shape shape) {
  return {.op = LayoutOp::kReshape, .of = {std::move(of)}, .numbers = std::move(shape)};
}
inline LayoutExpression pad(LayoutExpression of, std::uint64_t axis, std::uint64_t before,
                            std::uint64_t after) {
  return {
      .op = LayoutOp::kPad, .of = {std::move(of)}, .axis = axis, .first = before, .second = after};
}
inline LayoutExpression repeat(LayoutExpression of, std::uint64_t axis, std::uint64_t times) {
  return {.op = LayoutOp::kRepeat, .of = {std::move(of)}, .axis = axis, .first = times};
}
inline LayoutExpression cast(LayoutExpression of, std::string to) {
  return {.op = LayoutOp::kCast, .to = std::move(to), .of = {std::move(of)}};
}
inline LayoutExpression permute(LayoutExpression of, std::uint64_t axis, Shape rows) {
  return {
      .op = LayoutOp::kPermute, .of = {std::move(of)}, .axis = axis, .numbers = std::move(rows)};
}

// An artifact of tensors alone, in one file.
struct ToyTensor {
  std::string name;
  std::string dtype;
  Shape shape;
};
inline Artifact toy_artifact(const std::vector<ToyTensor>& tensors) {
  Artifact artifact;
  std::uint64_t offset = 0;
  for (const ToyTensor& tensor : tensors) {
    const std::uint64_t size = tensor_size(tensor.dtype, tensor.shape).value();
    artifact.entries.push_back(TensorEntry{tensor.name, tensor.dtype, tensor.shape, "m.safetensors",
                                           offset, size, digest_of(tensor.name)});
    offset += size;
  }
  sort_entries(artifact.entries);
  return artifact;
}

// A layout of one rank; the tensors are put into the order of their names.
inline Layout toy_layout(const Artifact& artifact, std::vector<LayoutTensor> tensors) {
  std::ranges::sort(tensors, {}, &LayoutTensor::name);
  return {artifact_id(artifact).value(), {{std::move(tensors)}}};
}

// --- the second evaluation

// An element of an entry, which is given by its position; nullopt: a zero of `pad`.
using Element = std::optional<std::pair<std::uint64_t, std::uint64_t>>;
struct Elements {
  Shape shape;
  std::vector<Element> list;  // row-major
};

inline std::uint64_t count_of(const Shape& shape) { return element_count(shape).value(); }

// Calls visit(index) for each index of a shape, row-major.
template <typename Visit>
void each_index(const Shape& shape, const Visit& visit) {
  Shape index(shape.size());
  for (std::uint64_t i = 0; i < count_of(shape); ++i) {
    std::uint64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(index);
  }
}
inline Element element_at(const Elements& from, const Shape& index) {
  std::uint64_t at = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    at = at * from.shape[axis] + index[axis];
  }
  return from.list.at(at);
}

inline Elements evaluate(const LayoutExpression& expression, const Artifact& artifact);

// Of a shape, each element where `source(index)` says: an operand and an index of it.
template <typename Source>
Elements gather(Shape shape, const Source& source) {
  Elements made{std::move(shape), {}};
  each_index(made.shape, [&](const Shape& index) { made.list.push_back(source(index)); });
  return made;
}

inline Elements join(const LayoutExpression& expression, const Artifact& artifact) {
  std::vector<Elements> of;
  for (const LayoutExpression& operand : expression.of) {
    of.push_back(evaluate(operand, artifact));
  }
  const std::uint64_t axis = expression.axis;
  Shape shape = of.front().shape;
  if (expression.op == LayoutOp::kStack) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), of.size());
    return gather(shape, [&](Shape index) {
      const std::uint64_t operand = index[axis];
      index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
      return element_at(of[operand], index);
    });
  }
  shape[axis] = 0;
  for (const Elements& operand : of) {
    shape[axis] += operand.shape[axis];
  }
  return gather(shape, [&](Shape index) {
    std::size_t operand = 0;
    while (index[axis] >= of[operand].shape[axis]) {
      index[axis] -= of[operand++].shape[axis];
    }
    return element_at(of[operand], index);
  });
}

// long-function: one case for each operation
inline Elements evaluate(const LayoutExpression& expression, const Artifact& artifact) {
  if (expression.op == LayoutOp::kEntry) {
    for (std::uint64_t position = 0; position < artifact.entries.size(); ++position) {
      const auto& tensor = std::get<TensorEntry>(artifact.entries[position]);
      if (tensor.name == expression.entry.name) {
        Elements made{tensor.shape, {}};
        for (std::uint64_t i = 0; i < count_of(tensor.shape); ++i) {
          made.list.emplace_back(std::pair(position, i));
        }
        return made;
      }
    }
  }
  if (expression.op == LayoutOp::kConcat || expression.op == LayoutOp::kStack) {
    return join(expression, artifact);
  }
  const Elements of = evaluate(expression.of.at(0), artifact);
  const std::uint64_t axis = expression.axis;
  Shape shape = of.shape;
  switch (expression.op) {
    case LayoutOp::kReshape:
      return {expression.numbers, of.list};
    case LayoutOp::kTranspose:
      for (std::size_t i = 0; i < shape.size(); ++i) {
        shape[i] = of.shape[expression.numbers[i]];
      }
      return gather(shape, [&](const Shape& index) {
        Shape inner(index.size());
        for (std::size_t i = 0; i < index.size(); ++i) {
          inner[expression.numbers[i]] = index[i];
        }
        return element_at(of, inner);
      });
    case LayoutOp::kSlice:
      shape[axis] = expression.second;
      return gather(shape, [&](Shape index) {
        index[axis] += expression.first;
        return element_at(of, index);
      });
    case LayoutOp::kPad:
      shape[axis] += expression.first + expression.second;
      return gather(shape, [&](Shape index) {
        const bool inside =
            index[axis] >= expression.first && index[axis] - expression.first < of.shape[axis];
        index[axis] -= expression.first;
        return inside ? element_at(of, index) : Element();
      });
    case LayoutOp::kRepeat:
      shape[axis] *= expression.first;
      return gather(shape, [&](Shape index) {
        index[axis] %= of.shape[axis];
        return element_at(of, index);
      });
    case LayoutOp::kPermute:
      return gather(shape, [&](Shape index) {
        index[axis] = expression.numbers[index[axis]];
        return element_at(of, index);
      });
    default:  // kCast
      return of;
  }
}

}  // namespace assay::test
