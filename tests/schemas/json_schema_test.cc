// SPDX-License-Identifier: Apache-2.0
// Compiled schemas: which schemas do not compile, what each keyword refuses, and what the check of
// an untrusted document can cost.
#include "schemas/json_schema.h"

#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "schemas/validate.h"
#include "tests/support/allocations.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

// More than any list of ours takes, but for those that name parts of an artifact.
constexpr std::size_t kMany = 100'000;

std::optional<std::string_view> embedded_text(std::string_view file) {
  for (const auto& [name, text] : embedded::kJsonSchemasFiles) {
    if (name == file) {
      return text;
    }
  }
  return std::nullopt;
}

Result<JsonSchema> compile(const Json& schema) {
  const std::string text = schema.dump();
  return JsonSchema::compile(
      "a.json", [&text](std::string_view file) -> std::optional<std::string_view> {
        return file == "a.json" ? std::optional<std::string_view>(text) : embedded_text(file);
      });
}

TEST(JsonSchema, WhatItDoesNotKnow_DoesNotCompile) {
  EXPECT_TRUE(compile(Json::parse(R"({"type": "string", "title": "x"})")));
  for (const char* text : {
           R"({"format": "date"})",
           R"({"properties": {"a": {"multipleOf": 2}}})",
           R"({"anyOf": [{}]})",
           R"({"type": "text"})",
           R"({"pattern": "("})",
           R"({"maxItems": "3"})",
           R"({"maxItems": -1})",
           R"({"maxLength": 1.5})",
           R"({"minimum": "1"})",
           R"({"uniqueItems": true})",
           R"({"$ref": "#/definitions/none"})",
           R"({"$ref": "none.schema.json"})",
           R"({"$ref": "common.schema.json#/definitions/sha256_id", "maxLength": 3})",
           R"({"then": false})",
           R"({"else": {"minimum": 1}})",
           R"({"not": {"$ref": "common.schema.json#/definitions/sha256_id"}})",
           R"({"if": {"properties": {"a": {"$ref": "#"}}}, "then": false})",
           R"([1])",
       }) {
    EXPECT_EQ(code_of(compile(Json::parse(text))), "internal") << text;
  }
}

TEST(JsonSchema, EachRule_HoldsAndIsHeld) {
  struct Case {
    const char* schema;
    const char* passes;
    const char* fails;
  };
  for (
      const Case& one : {
          Case{R"({"type": ["integer", "null"]})", "[3, null, -1]", R"([1.0, "3", true, [], {}])"},
          Case{R"({"type": "number"})", "[3, 1.5]", R"(["3", null])"},
          Case{R"({"const": 1})", "[1]", R"([1.0, true, "1", [1]])"},
          Case{R"({"enum": ["a", 2, null]})", R"(["a", 2, null])", R"(["b", 2.0, 0, false])"},
          Case{R"({"minLength": 2, "maxLength": 3})", "[\"ab\", \"\u20AC\u20AC\u20AC\", 1]",
               R"(["a", "abcd"])"},
          Case{R"({"pattern": "^a+$"})", R"(["aa", 7])", R"(["", "ab"])"},
          Case{R"({"minimum": -1, "maximum": 9007199254740991})", R"([-1, 9007199254740991, "x"])",
               "[-2, 9007199254740992, 18446744073709551615, -1.5]"},
          Case{R"({"minItems": 1, "maxItems": 2, "items": {"type": "null"}})", "[[null], 3]",
               "[[], [null, null, null], [1]]"},
          Case{
              R"({"maxItems": 9, "uniqueItems": true})",
              R"([[], [1], [1, 1.5, "1", true, null, [1], {"a": 1}, [2], {"a": 2}]])",
              R"([[1, 2, 1], [{"a": [1]}, 0, {"a": [1]}], [null, null], [0, 1.5, -0.0], [1, 1.0]])"},
          Case{R"({"minProperties": 1, "maxProperties": 1})", R"([{"a": 1}, []])",
               R"([{}, {"a": 1, "b": 1}])"},
          Case{R"({"required": ["a"]})", R"([{"a": null}, 1])", R"([{}, {"b": 1}])"},
          Case{R"({"propertyNames": {"maxLength": 1}})", R"([{"a": 1}])", R"([{"ab": 1}])"},
          Case{R"({"properties": {"a": true}, "additionalProperties": {"type": "null"}})",
               R"([{"a": 1, "b": null}])", R"([{"b": 1}])"},
          Case{R"({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}})",
               R"([{"a": 1, "b": 1}, {"c": 1, "d": 1}, {"b": 1}])", R"([{"a": 1}, {"c": 1}])"},
          Case{R"({"allOf": [{"minimum": 1}, {"maximum": 2}]})", "[1, 2]", "[0, 3]"},
          Case{R"({"not": {"const": 1}})", "[2]", "[1]"},
          Case{R"({"if": {"minimum": 5}, "then": {"maximum": 6}, "else": {"minimum": 1}})",
               "[1, 5, 6]", "[0, 7]"},
          Case{R"({"if": {"minimum": 5}, "then": false})", "[1]", "[5]"},
          Case{R"({"properties": {"next": {"$ref": "#"}}, "additionalProperties": false})",
               R"([{"next": {"next": {}}}])", R"([{"next": {"next": {"a": 1}}}])"},
      }) {
    const auto schema = compile(Json::parse(one.schema));
    ASSERT_TRUE(schema) << one.schema << schema.error().detail;
    for (const Json& document : Json::parse(one.passes)) {
      EXPECT_EQ(code_of(schema->check(document)), "ok") << one.schema << document;
    }
    for (const Json& document : Json::parse(one.fails)) {
      EXPECT_NE(code_of(schema->check(document)), "ok") << one.schema << document;
    }
  }
}

// The pattern would be tried on all of it, and std::regex recurses for every byte.
TEST(JsonSchema, TextThatIsNotUtf8_IsNoLongerThanItsLimit) {
  const auto schema = compile({{"maxLength", 9}, {"pattern", "^[^/]*$"}});
  ASSERT_TRUE(schema);
  EXPECT_EQ(code_of(schema->check(std::string(std::size_t{4} << 20, '\x80'))), "schema-violation");
  EXPECT_EQ(code_of(schema->check(std::string(std::size_t{4} << 20, 'a'))), "schema-violation");
  std::string longest;
  for (int i = 0; i < 9; ++i) {
    longest += "\U0001F600";
  }
  EXPECT_TRUE(schema->check(longest));
  EXPECT_FALSE(schema->check(longest + "a"));
}

TEST(JsonSchema, Repetition_IsNamedByItsFirstPlace) {
  const auto schema = compile({{"maxItems", 9}, {"uniqueItems", true}});
  ASSERT_TRUE(schema);
  EXPECT_EQ(where_of(schema->check({"z", "b", "a", "b", "a", "z"})), "/3");
  EXPECT_EQ(where_of(schema->check({3, 3, 3})), "/1");
}

TEST(JsonSchema, Place_IsThatOfTheFirstViolation) {
  const auto schema =
      compile(Json::parse(R"({"properties": {"a/b~": {"maxItems": 3, "items": {"type": "null"}}},
                              "additionalProperties": false})"));
  ASSERT_TRUE(schema);
  EXPECT_EQ(where_of(schema->check({{"a/b~", {nullptr, 1, 2}}})), "/a~1b~0/1");
  EXPECT_EQ(where_of(schema->check({{"a/b~", {1, 1, 1, 1}}})), "/a~1b~0");
  EXPECT_EQ(where_of(schema->check({{"c/d", 1}})), "/c~1d");
  EXPECT_EQ(code_of(schema->check({{"c/d", 1}})), "unknown-member");
}

// --- every list of every schema, and what it costs to refuse one that is too long

struct List {
  std::string reference;
  Json schema;
};

void find_lists(const Json& schema, const std::string& where, std::vector<List>& out) {
  if (schema.is_object() && schema.contains("maxItems") && schema["maxItems"].is_number()) {
    out.push_back({where, schema});
  }
  if (schema.is_structured()) {
    for (const auto& [key, value] : schema.items()) {
      if (key != "examples") {
        find_lists(value, where + "/" + key, out);
      }
    }
  }
}

std::vector<List> all_lists() {
  std::vector<List> out;
  for (const auto& [file, text] : embedded::kJsonSchemasFiles) {
    find_lists(Json::parse(text), std::string(file) + "#", out);
  }
  return out;
}

// Bytes of memory that it asks for. A check that goes on behind the limit of a list keeps something
// of each item.
std::size_t cost(const std::function<void()>& work) { return test::allocations_of(work).bytes; }

Json numbers(std::size_t count, bool distinct) {
  Json out = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(distinct ? i : 1);
  }
  return out;
}

// A document, and what parsing it costs.
struct Measured {
  Json document;
  std::size_t parsing = 0;
};

const Measured& measured(std::size_t count, bool distinct) {
  static std::map<std::pair<std::size_t, bool>, Measured> known;
  Measured& made = known[{count, distinct}];
  if (made.document.is_null()) {
    const std::string text = numbers(count, distinct).dump();
    made.parsing = cost([&] { made.document = *parse_json(text); });
  }
  return made;
}

TEST(JsonSchema, ListLongerThanItsLimit_CostsLessThanItsParsing) {
  std::size_t lists = 0;
  for (const List& list : all_lists()) {
    const auto schema = compile({{"$ref", list.reference}});
    ASSERT_TRUE(schema) << list.reference << schema.error().detail;
    const auto most = list.schema["maxItems"].get<std::size_t>();
    for (const bool distinct : {false, true}) {
      const Measured& made = measured(std::max(kMany, most + 1), distinct);
      Status status;
      const std::size_t checking = cost([&] { status = schema->check(made.document); });
      EXPECT_EQ(code_of(status), "schema-violation") << list.reference;
      EXPECT_EQ(where_of(status), "") << list.reference;
      EXPECT_LT(checking, made.parsing / 100) << list.reference;
    }
    ++lists;
  }
  EXPECT_GT(lists, 60U);
}

// A text or number that the items of a list may be, different for each `i`; null when there is
// none among the forms known here.
Json sample(const JsonSchema& item, const Json& schema, std::size_t i) {
  if (schema.contains("enum")) {
    return i < schema["enum"].size() ? schema["enum"][i] : Json();
  }
  const std::string digits = std::to_string(i);
  const std::string hex = std::string(64 - digits.size(), '0') + digits;
  const std::string measurement = std::string(96 - digits.size(), '0') + digits;
  for (const Json& one : {Json(i), Json("sha256:" + hex), Json(hex), Json(measurement),
                          Json("a" + digits), Json("/a" + digits), Json("pvc://a/" + digits)}) {
    if (item.check(one)) {
      return one;
    }
  }
  return nullptr;
}

TEST(JsonSchema, ListWithoutRepetition_IsTakenUpToItsLimit) {
  std::size_t lists = 0;
  for (const List& list : all_lists()) {
    if (!list.schema.value("uniqueItems", false)) {
      continue;
    }
    const auto schema = compile({{"$ref", list.reference}});
    const auto item = compile({{"$ref", list.reference + "/items"}});
    ASSERT_TRUE(schema && item) << list.reference;
    Json document = Json::array();
    for (std::size_t i = 0; i < list.schema["maxItems"].get<std::size_t>(); ++i) {
      document.push_back(sample(*item, list.schema["items"], i));
    }
    EXPECT_EQ(code_of(schema->check(document)), "ok") << list.reference;
    if (document.size() > 1) {
      document.back() = document.front();
      EXPECT_EQ(where_of(schema->check(document)), "/" + std::to_string(document.size() - 1))
          << list.reference;
    }
    ++lists;
  }
  EXPECT_GE(lists, 21U);
}

// What is taken in such numbers costs about what parsing it costs.
TEST(JsonSchema, LongListWithinItsLimit_CostsLittleMoreThanItsParsing) {
  const auto schema = compile({{"$ref", "job-request.schema.json#/properties/subset"}});
  ASSERT_TRUE(schema);
  const auto& [document, parsing] = measured(131'072, true);
  EXPECT_LT(cost([&] { EXPECT_TRUE(schema->check(document)); }), parsing);
}

// Each cost gigabytes, or hours of one thread, while every pair of items was compared.
TEST(JsonSchema, RepetitionsInARealDocument_AreRefusedAtOnce) {
  struct Case {
    const char* schema;
    std::string_view text;
    Json::json_pointer place;
  };
  for (const Case& one :
       {Case{"policy", embedded::kPolicySchemaJson, Json::json_pointer("/other_volumes")},
        Case{"manifest", embedded::kManifestSchemaJson, Json::json_pointer("/locations")},
        Case{"placement", embedded::kPlacementSchemaJson, Json::json_pointer("/locations")},
        Case{"reference-set", embedded::kReferenceSetSchemaJson, Json::json_pointer("/values")},
        Case{"registration", embedded::kRegistrationSchemaJson,
             Json::json_pointer("/platforms")}}) {
    for (const bool distinct : {false, true}) {
      Json document = Json::parse(one.text)["examples"][0];
      EXPECT_TRUE(validate(one.schema, document));  // the first one compiles the schema
      document[one.place] = measured(kMany, distinct).document;
      const std::size_t parsing = measured(kMany, distinct).parsing;
      Status status;
      const std::size_t checking = cost([&] { status = validate(one.schema, document); });
      EXPECT_EQ(code_of(status), "schema-violation") << one.schema;
      EXPECT_EQ(where_of(status), one.place.to_string()) << one.schema;
      EXPECT_LT(checking, parsing / 100) << one.schema;
    }
  }
}

// The first of many violations ends the check.
TEST(JsonSchema, ManyViolations_CostNoMoreThanTheirParsing) {
  Json document = Json::parse(embedded::kManifestSchemaJson)["examples"][0];
  Status status = validate("manifest", document);  // compiles the schema
  document["entries"] = measured(131'072, true).document;
  EXPECT_LT(cost([&] { status = validate("manifest", document); }),
            measured(131'072, true).parsing / 100);
  EXPECT_EQ(where_of(status), "/entries/0");
}

}  // namespace
}  // namespace assay
