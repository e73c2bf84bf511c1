// SPDX-License-Identifier: Apache-2.0
// The pieces of layouts against a second, plain evaluation; and the faults of layouts that leave
// bytes out, have them twice, or do not fit their artifact.
#include "schemas/layout_check.h"

#include <functional>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "schemas/layout_cover.h"
#include "tests/schemas/layouts.h"

namespace assay {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): short expressions

Artifact sample_artifact() {
  return toy_artifact({{"a", "F32", {4, 6}},
                       {"b", "F32", {4, 6}},
                       {"c", "F32", {2, 3, 4}},
                       {"n", "BF16", {6}},
                       {"s", "F32", {}},
                       {"packed", "F4", {4, 2}},
                       {"none", "F32", {0, 3}}});
}

// The tensor that an expression makes, with dtype and shape as the second evaluation has them.
LayoutTensor made(const std::string& name, LayoutExpression from,
                  const std::string& dtype = "F32") {
  Shape shape = evaluate(from, sample_artifact()).shape;
  return {name, dtype, std::move(shape), std::move(from)};
}

Result<std::vector<LayoutPiece>> pieces(const LayoutTensor& tensor) {
  const Artifact artifact = sample_artifact();
  std::size_t steps = kMaxLayoutSteps;
  return pieces_of(tensor, LayoutEntries(artifact), steps);
}

// The elements of a tensor as its pieces say them. Fails when two pieces share one.
std::vector<Element> filled(const LayoutTensor& tensor, const std::vector<LayoutPiece>& pieces) {
  const Artifact artifact = sample_artifact();
  std::vector<Element> list(count_of(tensor.shape));
  for (const LayoutPiece& piece : pieces) {
    const auto& entry = std::get<TensorEntry>(artifact.entries[piece.entry]);
    Shape sizes;
    for (const LayoutSpan& span : piece.axes) {
      sizes.push_back(span.size);
    }
    each_index(sizes, [&](const Shape& index) {
      std::uint64_t from = 0;
      std::uint64_t to = piece.to;
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        from = from * entry.shape[axis] + piece.axes[axis].start + index[axis];
        to += index[axis] * piece.axes[axis].step;
      }
      EXPECT_FALSE(list.at(to)) << "two pieces share an element";
      list[to] = std::pair(piece.entry, from);
    });
  }
  return list;
}

void expect_same(const LayoutExpression& expression, const std::string& dtype = "F32") {
  const LayoutTensor tensor = made("t", expression, dtype);
  const auto found = pieces(tensor);
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(filled(tensor, *found), evaluate(expression, sample_artifact()).list);
}

TEST(LayoutPieces, EachOperation_TakesTheElementsThatItSays) {
  const LayoutExpression a = entry("a");
  const LayoutExpression c = entry("c");
  expect_same(a);
  expect_same(entry("s"));
  expect_same(entry("none"));
  expect_same(entry("packed"), "F4");
  expect_same(cast(a, "F16"), "F16");
  expect_same(slice(a, 1, 2, 3));
  expect_same(concat({a, entry("b")}, 0));
  expect_same(concat({a, entry("b")}, 1));
  for (const std::uint64_t axis : {0U, 1U, 2U}) {
    expect_same(stack({a, entry("b")}, axis));
  }
  expect_same(transpose(c, {2, 0, 1}));
  expect_same(reshape(a, {2, 2, 3, 2}));
  expect_same(reshape(c, {6, 4}));
  expect_same(reshape(a, {3, 8}));
  expect_same(reshape(entry("s"), {1, 1}));
  expect_same(reshape(reshape(entry("s"), {1}), {}));
  expect_same(pad(a, 1, 1, 2));
  expect_same(repeat(a, 0, 3));
  expect_same(permute(a, 0, {2, 3, 0, 1}));
}

TEST(LayoutPieces, RotaryOrders_AsServersMakeThem) {
  // Two heads of two halves: the halves of each head interleaved, and back.
  const LayoutExpression interleaved =
      reshape(transpose(reshape(entry("a"), {1, 2, 2, 6}), {0, 2, 1, 3}), {4, 6});
  expect_same(interleaved);
  expect_same(reshape(transpose(reshape(interleaved, {1, 2, 2, 6}), {0, 2, 1, 3}), {4, 6}));
  // Repeats each of two heads, as servers do with more ranks than heads.
  expect_same(reshape(repeat(reshape(entry("a"), {2, 1, 2, 6}), 1, 2), {8, 6}));
}

// A random expression over the sample, with its shape.
class Maker {
 public:
  explicit Maker(std::uint32_t seed) : rng_(seed) {}

  LayoutExpression make(int depth) {
    if (depth == 0 || below(6) == 0) {
      static const std::vector<std::string> names = {"a", "b", "c", "s"};
      return entry(names[below(names.size())]);
    }
    LayoutExpression of = make(depth - 1);
    const Shape shape = evaluate(of, artifact_).shape;
    if (shape.empty()) {
      return reshape(std::move(of), {1});
    }
    const std::uint64_t axis = below(shape.size());
    switch (below(8)) {
      case 0: {
        const std::uint64_t start = below(shape[axis]);
        return slice(std::move(of), axis, start, 1 + below(shape[axis] - start));
      }
      case 1:
        return concat({of, of}, axis);
      case 2:
        return shape.size() < 5 ? stack({of, of}, below(shape.size() + 1)) : of;
      case 3:
        return shape.size() > 1 ? transpose(std::move(of), shuffled(shape.size())) : of;
      case 4:
        return reshape(std::move(of), another(count_of(shape)));
      case 5:
        return pad(std::move(of), axis, below(2), 1 + below(2));
      case 6:
        return repeat(std::move(of), axis, 2);
      default:
        return permute(std::move(of), axis, shuffled(shape[axis]));
    }
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return rng_() % bound; }
  Shape shuffled(std::uint64_t count) {
    Shape numbers(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      numbers[i] = i;
    }
    std::ranges::shuffle(numbers, rng_);
    return numbers;
  }
  Shape another(std::uint64_t count) {
    Shape shape;
    while (count > 1 && shape.size() < 5) {
      const std::uint64_t factor = 2 + below(3);
      if (count % factor == 0) {
        shape.push_back(factor);
        count /= factor;
      } else if (below(3) == 0) {
        break;
      }
    }
    shape.push_back(count);
    if (below(3) == 0) {
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(below(shape.size())), 1);
    }
    return shape;
  }

  std::mt19937 rng_;
  Artifact artifact_ = sample_artifact();
};

TEST(LayoutPieces, RandomExpressions_TakeTheElementsThatTheySay) {
  int large = 0;
  for (std::uint32_t seed = 0; seed < 1200; ++seed) {
    Maker maker(seed);
    const LayoutExpression expression = maker.make(1 + static_cast<int>(seed % 6));
    const Elements wanted = evaluate(expression, sample_artifact());
    if (wanted.list.size() > 20'000 || wanted.shape.size() > kMaxLayoutDimensions) {
      continue;
    }
    const LayoutTensor tensor{"t", "F32", wanted.shape, expression};
    const auto found = pieces(tensor);
    ASSERT_TRUE(found) << seed << to_string(found.error());
    ASSERT_EQ(filled(tensor, *found), wanted.list) << seed;
    large += wanted.list.size() > 100 ? 1 : 0;
  }
  EXPECT_GT(large, 50);
}

TEST(LayoutPieces, OperationsThatDoNotFit_AreRefusedWithTheirPlace) {
  const LayoutExpression a = entry("a");
  const std::vector<std::tuple<LayoutExpression, const char*, const char*>> cases = {
      {entry("x"), "layout-entry-unknown", "/from/entry"},
      {entry("a", "other"), "layout-entry-unknown", "/from/entry"},
      {cast(concat({a, entry("x")}, 0), "F16"), "layout-entry-unknown",
       "/from/cast/concat/1/entry"},
      {slice(a, 2, 0, 1), "layout-shape", "/from/axis"},
      {slice(a, 0, 2, 3), "layout-shape", "/from/size"},
      {slice(a, 0, 5, kMaxSafeInteger), "layout-shape", "/from/size"},
      {slice(a, 0, 0, 0), "layout-shape", "/from/size"},
      {concat({a, entry("n")}, 0), "layout-shape", "/from/concat"},
      {concat({a, entry("c")}, 0), "layout-shape", "/from/concat"},
      {concat({a, a}, 2), "layout-shape", "/from/axis"},
      {stack({a, transpose(a, {1, 0})}, 0), "layout-shape", "/from/stack"},
      {stack({a, a}, 3), "layout-shape", "/from/axis"},
      {transpose(a, {0, 0}), "layout-shape", "/from/axes"},
      {transpose(a, {0}), "layout-shape", "/from/axes"},
      {transpose(a, {0, 2}), "layout-shape", "/from/axes"},
      {reshape(a, {5, 5}), "layout-shape", "/from/shape"},
      {reshape(a, {1U << 30, 1U << 30}), "layout-shape", "/from/shape"},
      {pad(a, 0, 0, 0), "layout-shape", "/from/before"},
      {pad(a, 0, kMaxSafeInteger, 1), "layout-shape", "/from/before"},
      {repeat(a, 0, 1), "layout-shape", "/from/times"},
      {repeat(a, 0, kMaxSafeInteger), "layout-shape", "/from/times"},
      {repeat(repeat(a, 0, 1U << 30), 1, 1U << 30), "layout-shape", "/from"},
      {permute(a, 0, {0, 1, 2, 2}), "layout-shape", "/from/rows"},
      {permute(a, 0, {0, 1, 2}), "layout-shape", "/from/rows"},
      {cast(a, "F8_E4M3"), "layout-shape", "/from/to"},
      {cast(entry("n"), "F16"), "layout-shape", "/from/to"},
      {slice(entry("packed"), 0, 0, 2), "layout-shape", "/from"},
  };
  for (const auto& [expression, code, where] : cases) {
    const auto found = pieces({"t", "F32", {4, 6}, expression});
    EXPECT_EQ(code_of(found), code) << where;
    EXPECT_EQ(where_of(found), where) << code;
  }
  EXPECT_EQ(where_of(pieces({"t", "BF16", {4, 6}, a})), "/dtype");
  EXPECT_EQ(where_of(pieces({"t", "F32", {6, 4}, a})), "/shape");
}

TEST(LayoutPieces, Work_EndsAtItsLimits) {
  // 2^20 copies of which each is one piece.
  const std::uint64_t times = std::uint64_t{1} << 20;
  EXPECT_EQ(code_of(pieces({"t", "F32", {4 * times, 6}, repeat(entry("a"), 0, times)})),
            "limit-exceeded");
  // Zeros alone are no pieces, but work.
  const LayoutExpression zeros = slice(pad(entry("a"), 0, 4, 0), 0, 0, 4);
  std::vector<LayoutExpression> many(1024, zeros);
  const LayoutExpression all = stack(many, 0);
  EXPECT_EQ(code_of(pieces({"t", "F32", {1024 * (times / 16), 4, 6}, repeat(all, 0, times / 16)})),
            "limit-exceeded");
}

// --- covers

TEST(GridCover, RandomBoxes_AgreeWithCounting) {
  std::mt19937 rng(7);
  std::map<int, int> seen;
  for (int round = 0; round < 3000; ++round) {
    const Shape shape = {1 + rng() % 4, 1 + rng() % 3, 1 + rng() % 3};
    std::vector<GridBox> boxes;
    std::map<Shape, std::set<GridBox>> holders;
    std::multiset<GridBox> all;
    for (std::uint64_t i = rng() % 5; i > 0; --i) {
      GridBox box;
      for (const std::uint64_t length : shape) {
        const std::uint64_t start = rng() % length;
        box.push_back({start, rng() % 2 == 0 ? length - start : 1 + rng() % (length - start)});
      }
      boxes.push_back(box);
      all.insert(box);
      each_index({box[0].size, box[1].size, box[2].size}, [&](Shape index) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          index[axis] += box[axis].start;
        }
        holders[index].insert(box);
      });
    }
    const bool overlaps =
        std::ranges::any_of(holders, [](const auto& row) { return row.second.size() > 1; });
    const bool repeated =
        std::ranges::any_of(all, [&](const GridBox& box) { return all.count(box) > 1; });
    const bool whole = !overlaps && holders.size() == count_of(shape);
    std::uint64_t steps = 1000;
    const auto cover = cover_of(shape, boxes, steps);
    ASSERT_TRUE(cover);
    EXPECT_EQ(cover->overlaps, overlaps);
    EXPECT_EQ(cover->repeated, repeated);
    EXPECT_EQ(cover->whole, whole);
    ++seen[(overlaps ? 1 : 0) + (repeated ? 2 : 0) + (whole ? 4 : 0)];
  }
  EXPECT_GE(seen.size(), 6U);
}

TEST(GridCover, Comparisons_EndAtTheirLimit) {
  std::vector<GridBox> boxes;
  for (std::uint64_t i = 0; i < 64; ++i) {
    boxes.push_back({{0, 2}, {i, 1}});  // one behind the other along one axis
  }
  std::uint64_t steps = 128;
  EXPECT_TRUE(cover_of({2, 64}, boxes, steps)->whole);
  std::vector<GridBox> stairs;
  for (std::uint64_t i = 0; i < 64; ++i) {
    stairs.push_back({{i, 64}, {i, 64}});
  }
  steps = 2;
  stairs.resize(3);
  stairs[1] = {{0, 1}, {70, 1}};
  stairs[2] = {{0, 2}, {80, 1}};
  EXPECT_EQ(code_of(cover_of({200, 200}, stairs, steps)), "limit-exceeded");
}

// --- checks

std::vector<Error> faults(const Layout& layout, const Artifact& artifact) {
  return check_layout(layout, artifact_id(artifact).value(), artifact);
}

// Two tensors and a norm.
Artifact small() {
  return toy_artifact({{"norm", "F32", {6}}, {"wide", "F32", {4, 6}}, {"wise", "F32", {4, 6}}});
}
LayoutTensor norm() { return {"norm", "F32", {6}, entry("norm")}; }
LayoutTensor both() { return {"both", "F32", {8, 6}, concat({entry("wide"), entry("wise")}, 0)}; }

TEST(LayoutCheck, EveryByteOnce_HasNoFault) {
  EXPECT_TRUE(faults(toy_layout(small(), {norm(), both()}), small()).empty());
  // The columns of one tensor on two ranks, and the others on one of them.
  Layout layout = toy_layout(small(), {norm()});
  layout.ranks[0].tensors.push_back({"wide", "F32", {4, 2}, slice(entry("wide"), 1, 0, 2)});
  layout.ranks.push_back({{{"wide", "F32", {4, 4}, slice(entry("wide"), 1, 2, 4)},
                           {"wise", "F32", {4, 6}, entry("wise")}}});
  EXPECT_TRUE(faults(layout, small()).empty());
}

struct Fault {
  const char* about;
  std::function<void(Layout&)> change;
  ErrorCode code;
  const char* where;
};

TEST(LayoutCheck, OtherLayouts_AreFaultyWithTheirPlace) {
  const LayoutTensor wide{"wide", "F32", {4, 6}, entry("wide")};
  const std::vector<Fault> cases = {
      {"another artifact", [](Layout& l) { l.artifact = ArtifactId(digest_of("other")); },
       ErrorCode::kArtifactMismatch, "/artifact"},
      {"a tensor is left out", [](Layout& l) { l.ranks[0].tensors.pop_back(); },
       ErrorCode::kLayoutBytesUnused, "m.safetensors#norm"},
      {"rows are left out",
       [](Layout& l) {
         l.ranks[0].tensors[0] = {
             "both", "F32", {7, 6}, concat({slice(entry("wide"), 0, 1, 3), entry("wise")}, 0)};
       },
       ErrorCode::kLayoutBytesUnused, "m.safetensors#wide"},
      {"a tensor stands there twice", [&](Layout& l) { l.ranks[0].tensors.push_back(wide); },
       ErrorCode::kLayoutBytesRepeated, "m.safetensors#wide"},
      {"one instead of another",
       [](Layout& l) { l.ranks[0].tensors[0].from = concat({entry("wide"), entry("wide")}, 0); },
       ErrorCode::kLayoutBytesRepeated, "m.safetensors#wide"},
      {"two ranks hold the same", [](Layout& l) { l.ranks.push_back({{norm()}}); },
       ErrorCode::kLayoutBytesRepeated, "m.safetensors#norm"},
      {"replicated, and parts that share some bytes only",
       [](Layout& l) {
         l.ranks.push_back({{{"wide", "F32", {2, 6}, slice(entry("wide"), 0, 0, 2)}}});
         l.replicated = {{"wide"}};
       },
       ErrorCode::kLayoutBytesRepeated, "m.safetensors#wide"},
      {"replicated, and used once", [](Layout& l) { l.replicated = {{"norm"}}; },
       ErrorCode::kLayoutClaimWrong, "m.safetensors#norm"},
      {"dropped, and used", [](Layout& l) { l.dropped = {{"norm"}}; }, ErrorCode::kLayoutClaimWrong,
       "m.safetensors#norm"},
      {"dropped and replicated",
       [](Layout& l) {
         l.ranks.push_back({{norm()}});
         l.dropped = l.replicated = {{"norm"}};
       },
       ErrorCode::kLayoutClaimWrong, "m.safetensors#norm"},
      {"named twice",
       [](Layout& l) {
         l.ranks[0].tensors.pop_back();
         l.dropped = {{"norm"}, {"norm", "m.safetensors"}};
       },
       ErrorCode::kLayoutClaimWrong, "/dropped/1"},
      {"an unknown name", [](Layout& l) { l.dropped = {{"narm"}}; }, ErrorCode::kLayoutEntryUnknown,
       "/dropped/0"},
      {"an expression that does not fit",
       [](Layout& l) { l.ranks[0].tensors[1].from = entry("wide"); }, ErrorCode::kLayoutShape,
       "/ranks/0/tensors/1/shape"},
  };
  for (const Fault& one : cases) {
    Layout layout = toy_layout(small(), {norm(), both()});
    one.change(layout);
    const std::vector<Error> found = faults(layout, small());
    ASSERT_FALSE(found.empty()) << one.about;
    EXPECT_EQ(found[0].code, one.code) << one.about;
    EXPECT_EQ(found[0].where, one.where) << one.about;
  }
}

TEST(LayoutCheck, DroppedAndReplicatedByName_HaveNoFault) {
  Layout layout = toy_layout(small(), {both()});
  layout.dropped = {{"norm"}};
  EXPECT_TRUE(faults(layout, small()).empty());
  layout = toy_layout(small(), {both(), norm()});
  layout.ranks.push_back({{norm()}});
  layout.replicated = {{"norm", "m.safetensors"}};
  EXPECT_TRUE(faults(layout, small()).empty());
  // Part of an entry is dropped.
  layout = toy_layout(small(), {norm(), both()});
  layout.ranks[0].tensors[0] = {
      "both", "F32", {6, 6}, concat({entry("wide"), slice(entry("wise"), 0, 0, 2)}, 0)};
  layout.dropped = {{"wise"}};
  EXPECT_TRUE(faults(layout, small()).empty());
}

TEST(LayoutCheck, SeveralFilesWithOneName_NeedTheFile) {
  Artifact artifact = small();
  auto other = std::get<TensorEntry>(artifact.entries[0]);
  other.file = "n.safetensors";
  artifact.entries.push_back(other);
  EXPECT_EQ(faults(toy_layout(artifact, {norm(), both()}), artifact).at(0).code,
            ErrorCode::kLayoutEntryUnknown);
  const LayoutTensor named{"norm", "F32", {6}, entry("norm", "n.safetensors")};
  Layout layout = toy_layout(artifact, {named, both()});
  layout.dropped = {{"norm", "m.safetensors"}};
  EXPECT_TRUE(faults(layout, artifact).empty());
}

TEST(LayoutCheck, ManyFaults_EndAtSixteen) {
  std::vector<LayoutTensor> tensors;
  for (int i = 0; i < 40; ++i) {
    tensors.push_back({"t" + std::to_string(i), "F32", {6}, entry("x")});
  }
  EXPECT_EQ(faults(toy_layout(small(), tensors), small()).size(), kMaxLayoutFaults);
}

// The largest layouts that servers need: 2^20 rows in an order of their own.
TEST(LayoutCheck, Pieces_EndAtTheirLimit) {
  const std::uint64_t rows = std::uint64_t{1} << 17;
  Shape reversed(rows);
  for (std::uint64_t i = 0; i < rows; ++i) {
    reversed[i] = rows - 1 - i;
  }
  std::vector<ToyTensor> toys;
  std::vector<LayoutTensor> tensors;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "t" + std::to_string(i);
    toys.push_back({name, "F32", {rows}});
    tensors.push_back({name, "F32", {rows}, permute(entry(name), 0, reversed)});
  }
  EXPECT_TRUE(faults(toy_layout(toy_artifact(toys), tensors), toy_artifact(toys)).empty());
  toys.push_back({"u", "F32", {1}});
  tensors.push_back({"u", "F32", {1}, entry("u")});
  const auto found = faults(toy_layout(toy_artifact(toys), tensors), toy_artifact(toys));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace assay
