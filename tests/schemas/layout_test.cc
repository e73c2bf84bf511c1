// SPDX-License-Identifier: Apache-2.0
// Documents of layouts: a layout that is read is written as the same text, and a document beyond
// the format or its limits is refused with its place.
#include "schemas/layout.h"

#include <functional>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/validate.h"
#include "tests/schemas/layouts.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::where_of;

const std::string kArtifact = "assay-tree-v1-sha256:" + std::string(64, 'a');

Json expression_of_all() {
  return Json::parse(R"({"pad":{"repeat":{"permute":{"reshape":{"transpose":{"stack":[
      {"slice":{"cast":{"entry":"x","file":"f"},"to":"BF16"},"axis":0,"start":1,"size":2},
      {"concat":[{"entry":"y"},{"entry":"z"}],"axis":1}],"axis":0},"axes":[1,0]},
      "shape":[4,4]},"axis":0,"rows":[3,2,1,0]},"axis":1,"times":2},"axis":0,"before":0,"after":1})");
}

Json sample() {
  return {{"artifact", kArtifact},
          {"ranks",
           {{{"tensors",
              {{{"name", "a"}, {"dtype", "BF16"}, {"shape", {5, 8}}, {"from", expression_of_all()}},
               {{"name", "b"},
                {"dtype", "F32"},
                {"shape", Json::array()},
                {"from", {{"entry", "b"}}}}}}},
            {{"tensors", Json::array()}}}},
          {"dropped", {{{"entry", "d"}}, {{"entry", "d"}, {"file", "f"}}}},
          {"replicated", {{{"entry", "r"}}}}};
}

Result<Layout> parsed(const Json& json) { return parse_layout(bytes_of(json)); }

TEST(Layout, EveryOperation_ReadsBackTheSame) {
  const auto layout = parsed(sample());
  ASSERT_TRUE(layout) << to_string(layout.error());
  EXPECT_EQ(to_json(*layout), sample());
  EXPECT_EQ(layout->ranks.size(), 2U);
  const LayoutExpression& outer = layout->ranks[0].tensors[0].from;
  EXPECT_EQ(outer.op, LayoutOp::kPad);
  EXPECT_EQ(outer.second, 1U);
  EXPECT_EQ(*parse_layout(bytes_of(to_json(*layout))), *layout);
}

TEST(Layout, Digest_IsOfTheCanonicalText) {
  const Json json = sample();
  const LayoutId id = id_of(*parsed(json));
  EXPECT_EQ(id.digest(), sha256(as_bytes(canonical_json(json).value())));
  EXPECT_EQ(id_of(*parse_layout(as_bytes(json.dump(3)))), id) << "spaces do not count";
  Json other = json;
  other["ranks"][0]["tensors"][1]["name"] = "c";
  EXPECT_NE(id_of(*parsed(other)), id);
}

struct Refused {
  const char* pointer;  // what is changed; null: removed
  Json value;
  const char* code;
  const char* where;
};

TEST(Layout, OtherForms_AreRefusedWithTheirPlace) {
  const Json removed = Json::value_t::discarded;
  const std::vector<Refused> cases = {
      {"/artifact", "sha256:00", "schema-violation", "/artifact"},
      {"/ranks", Json::array(), "schema-violation", "/ranks"},
      {"/ranks/0/tensors", 1, "schema-violation", "/ranks/0/tensors"},
      {"/ranks/0/tensors/1/name", "a", "schema-violation", "/ranks/0/tensors/1/name"},
      {"/ranks/0/tensors/1/name", "0", "schema-violation", "/ranks/0/tensors/1/name"},
      {"/ranks/0/tensors/1/dtype", "F33", "schema-violation", "/ranks/0/tensors/1/shape"},
      {"/ranks/0/tensors/1/shape", {-1}, "schema-violation", "/ranks/0/tensors/1/shape/0"},
      {"/ranks/0/tensors/1/shape", Json(std::vector<int>(9, 1)), "schema-violation",
       "/ranks/0/tensors/1/shape"},
      {"/ranks/0/tensors/1/from", Json::object(), "schema-violation", "/ranks/0/tensors/1/from"},
      {"/ranks/0/tensors/1/from", "b", "schema-violation", "/ranks/0/tensors/1/from"},
      {"/ranks/0/tensors/1/from/entry", 7, "schema-violation", "/ranks/0/tensors/1/from/entry"},
      {"/ranks/0/tensors/1/from/entry", std::string(4097, 'x'), "schema-violation",
       "/ranks/0/tensors/1/from/entry"},
      {"/ranks/0/tensors/1/from/slice", Json{{"entry", "b"}}, "unknown-member",
       "/ranks/0/tensors/1/from/slice"},
      {"/ranks/0/tensors/1/from/axis", 0, "unknown-member", "/ranks/0/tensors/1/from/axis"},
      {"/ranks/0/tensors/0/from/axis", removed, "schema-violation", "/ranks/0/tensors/0/from/axis"},
      {"/ranks/0/tensors/0/from/axis", -1, "schema-violation", "/ranks/0/tensors/0/from/axis"},
      {"/ranks/0/tensors/0/from/before", 1.5, "schema-violation", "/ranks/0/tensors/0/from/before"},
      {"/ranks/0/tensors/0/from/pad/repeat/rows/1", "2", "schema-violation",
       "/ranks/0/tensors/0/from/pad/repeat/rows/1"},
      {"/ranks/0/tensors/0/from/pad/repeat/permute/reshape/transpose/stack", Json::array(),
       "schema-violation", "/ranks/0/tensors/0/from/pad/repeat/permute/reshape/transpose/stack"},
      {"/replicated", Json::array(), "schema-violation", "/replicated"},
      {"/replicated/0/entry", removed, "schema-violation", "/replicated/0"},
      {"/dropped/1/file", removed, "schema-violation", "/dropped"},
      {"/dropped/0/entry", "e", "schema-violation", "/dropped"},
      {"/notes", "new", "unknown-member", "/notes"},
      {"/ranks/0/notes", "new", "unknown-member", "/ranks/0/notes"},
  };
  for (const Refused& one : cases) {
    Json json = sample();
    const Json::json_pointer place(one.pointer);
    if (one.value.is_discarded()) {
      json[place.parent_pointer()].erase(place.back());
    } else {
      json[place] = one.value;
    }
    EXPECT_EQ(code_of(parsed(json)), one.code) << one.pointer << one.value;
    EXPECT_EQ(where_of(parsed(json)), one.where) << one.pointer << one.value;
  }
}

// Expressions are not read by the schema, which says the same.
TEST(Layout, SchemaAndReader_AgreeOnExpressions) {
  const std::vector<Json> changes = {
      {{"axis", -1}}, {{"axis", "0"}},  {{"before", nullptr}}, {{"after", 1.5}},
      {{"times", 2}}, {{"entry", "x"}}, {{"pad", Json()}},     {{"pad", Json::array()}}};
  for (const Json& change : changes) {
    Json json = sample();
    json["ranks"][0]["tensors"][0]["from"].update(change);
    EXPECT_EQ(code_of(validate("layout", json)), code_of(parsed(json))) << change;
  }
  EXPECT_TRUE(validate("layout", sample()));
}

// --- limits

Json with(const Json& expression) {
  Json json = sample();
  json["ranks"][0]["tensors"][1]["from"] = expression;
  return json;
}

TEST(Layout, Nesting_EndsAtSixteen) {
  Json expression = {{"entry", "b"}};
  for (std::size_t depth = 1; depth < kMaxLayoutDepth; ++depth) {
    expression = {{"stack", {expression}}, {"axis", 0}};
  }
  EXPECT_TRUE(parsed(with(expression)));
  EXPECT_EQ(code_of(parsed(with({{"stack", {expression}}, {"axis", 0}}))), "limit-exceeded");
}

TEST(Layout, Expressions_EndAt2To19) {
  // Twelve of the other tensor, one stack around four.
  std::size_t left = kMaxLayoutExpressions - 12 - 5;
  Json lists = Json::array();
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t count = i < 3 ? kMaxLayoutTensors : left;
    lists.push_back({{"stack", Json(Json::array_t(count, Json{{"entry", "b"}}))}, {"axis", 0}});
    left -= count;
  }
  EXPECT_TRUE(parsed(with({{"stack", lists}, {"axis", 0}})));
  lists[3]["stack"].push_back({{"entry", "b"}});
  EXPECT_EQ(code_of(parsed(with({{"stack", lists}, {"axis", 0}}))), "limit-exceeded");
}

TEST(Layout, Numbers_EndAt2To20) {
  std::vector<std::uint64_t> rows(kMaxLayoutNumbers - 8, 0);  // the sample has 8
  Json json = {{"permute", {{"entry", "b"}}}, {"axis", 0}, {"rows", rows}};
  json["rows"].erase(0);
  json["rows"].push_back(0);
  EXPECT_TRUE(parsed(with(json)));
  json["rows"].push_back(0);
  EXPECT_EQ(code_of(parsed(with(json))), "limit-exceeded");
}

TEST(Layout, Bytes_EndAt2To48) {
  Json json = sample();
  Json& tensor = json["ranks"][0]["tensors"][1];
  tensor["dtype"] = "U8";
  tensor["shape"] = {(std::uint64_t{1} << 48) - 80};  // the other has 80
  EXPECT_TRUE(parsed(json));
  tensor["shape"] = {(std::uint64_t{1} << 48) - 79};
  EXPECT_EQ(code_of(parsed(json)), "limit-exceeded");
  EXPECT_EQ(where_of(parsed(json)), "/ranks/0/tensors/1");
}

TEST(Layout, Tensors_EndAt131072OfAllRanks) {
  Json json = sample();
  json["ranks"] = Json::array();
  for (const std::size_t count : {kMaxLayoutTensors - 1, std::size_t{1}}) {
    Json tensors = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      tensors.push_back({{"name", std::to_string(1'000'000 + i)},
                         {"dtype", "U8"},
                         {"shape", Json::array()},
                         {"from", {{"entry", "b"}}}});
    }
    json["ranks"].push_back({{"tensors", tensors}});
  }
  EXPECT_TRUE(parsed(json));
  json["ranks"].push_back(json["ranks"][1]);
  EXPECT_EQ(code_of(parsed(json)), "limit-exceeded");
}

TEST(Layout, Text_EndsAt16MiB) {
  std::string text = sample().dump();
  text.resize(kMaxLayoutBytes, ' ');
  EXPECT_TRUE(parse_layout(as_bytes(text)));
  text += ' ';
  EXPECT_EQ(code_of(parse_layout(as_bytes(text))), "limit-exceeded");
}

}  // namespace
}  // namespace assay
