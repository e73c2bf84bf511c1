// SPDX-License-Identifier: Apache-2.0
// Every JSON Schema of the project: it compiles, its examples hold, and it keeps the rules that
// schemas/json_schema.h relies on.
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "schemas/validate.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

constexpr std::string_view kSuffix = ".schema.json";
// A text costs time with its length before anything else is known of it.
constexpr int kMaxPatternText = 2048;

// (name, schema) of each file.
std::vector<std::pair<std::string, Json>> all() {
  std::vector<std::pair<std::string, Json>> out;
  for (const auto& [file, text] : embedded::kJsonSchemasFiles) {
    auto parsed = parse_json(text);
    EXPECT_TRUE(parsed) << file;
    if (parsed) {
      out.emplace_back(file.substr(0, file.size() - kSuffix.size()), *std::move(parsed));
    }
  }
  return out;
}

// Calls `visit` for every subschema; what stands in examples, enum and const is no schema.
void walk(const Json& schema, const std::string& where,
          const std::function<void(const Json&, const std::string&)>& visit) {
  if (schema.is_array()) {
    for (std::size_t i = 0; i < schema.size(); ++i) {
      walk(schema[i], where + "/" + std::to_string(i), visit);
    }
    return;
  }
  if (!schema.is_object()) {
    return;
  }
  visit(schema, where);
  for (const auto& [key, value] : schema.items()) {
    if (key == "properties" || key == "definitions" || key == "dependencies") {
      for (const auto& [name, item] : value.items()) {
        walk(item, where + "/" + key + "/" + name, visit);
      }
    } else if (key != "examples" && key != "enum" && key != "const") {
      walk(value, where + "/" + key, visit);
    }
  }
}

// Whether `where` is a schema under the keyword `not`, or in one ("/notes" is a member).
bool is_below_not(const std::string& where) { return (where + "/").find("/not/") != where.npos; }

void for_each_subschema(const std::function<void(const Json&, const std::string&)>& visit) {
  for (const auto& [name, schema] : all()) {
    walk(schema, name, visit);
  }
}

TEST(SchemaFiles, EveryFileInTheFolder_IsEmbedded) {
  std::set<std::string> embedded_files;
  for (const auto& [file, text] : embedded::kJsonSchemasFiles) {
    embedded_files.emplace(file);
  }
  const auto folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "schemas" / "json";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(embedded_files.contains(entry.path().filename())) << entry.path().filename();
  }
}

TEST(SchemaFiles, HeadOfEach_SaysWhatItIs) {
  for (const auto& [name, schema] : all()) {
    EXPECT_EQ(schema.value("$schema", ""), "http://json-schema.org/draft-07/schema#") << name;
    EXPECT_EQ(schema.value("$id", ""), "https://assay.dev/schemas/" + name + ".schema.json");
    EXPECT_FALSE(schema.value("title", "").empty()) << name;
    EXPECT_FALSE(schema.value("description", "").empty()) << name;
  }
}

TEST(SchemaFiles, Examples_Validate) {
  for (const auto& [name, schema] : all()) {
    EXPECT_TRUE(name == "common" || !schema["examples"].empty()) << name;
    for (const Json& example : schema["examples"]) {
      const auto status = validate(name, example);
      EXPECT_TRUE(status) << name << ": " << (status ? "" : to_string(status.error()));
    }
  }
}

TEST(SchemaFiles, ExampleWithAMemberMore_IsRefusedByName) {
  for (const auto& [name, schema] : all()) {
    for (Json example : schema["examples"]) {
      const bool foreign = name == "plugin-policy" ||
                           example.value("predicateType", "").starts_with("https://slsa.dev/");
      example["no-such/member"] = 1;
      const auto status = validate(name, example);
      EXPECT_EQ(code_of(status), foreign ? "ok" : "unknown-member") << name;
      EXPECT_EQ(where_of(status), foreign ? "" : "/no-such~1member") << name;
    }
  }
}

TEST(SchemaFiles, ExampleWithoutARequiredMember_IsRefused) {
  for (const auto& [name, schema] : all()) {
    for (const Json& example : schema["examples"]) {
      for (const Json& member : schema.value("required", Json::array())) {
        Json cut = example;
        cut.erase(member.get<std::string>());
        EXPECT_EQ(code_of(validate(name, cut)), "schema-violation") << name << member;
      }
    }
  }
}

TEST(SchemaFiles, Members_AreDescribed) {
  for_each_subschema([](const Json& schema, const std::string& where) {
    const bool rule = where.find("/then") != std::string::npos ||
                      where.find("/if") != std::string::npos ||
                      where.find("/dependencies/") != std::string::npos;
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, member] : properties.items()) {
      const bool described =
          member.is_boolean() || member.contains("description") || member.contains("$ref");
      EXPECT_TRUE(rule || described || name == "kind") << where << "/" << name;
    }
  });
}

TEST(SchemaFiles, Patterns_AreAnchoredAndBounded) {
  for_each_subschema([](const Json& schema, const std::string& where) {
    if (!schema.contains("pattern") || is_below_not(where)) {
      return;
    }
    EXPECT_TRUE(schema.contains("maxLength")) << where;
    EXPECT_LE(schema.value("maxLength", kMaxPatternText + 1), kMaxPatternText) << where;
    EXPECT_TRUE(schema["pattern"].get<std::string>().starts_with("^")) << where;
  });
}

// The schema around `not` bounds the length, which is checked first.
TEST(SchemaFiles, PatternsInsideNot_HaveABoundedSibling) {
  for_each_subschema([](const Json& schema, const std::string& where) {
    if (schema.contains("not") && schema["not"].contains("pattern")) {
      EXPECT_LE(schema.value("maxLength", kMaxPatternText + 1), kMaxPatternText) << where;
    }
  });
}

// A list without a limit is walked to its end, however long it is.
TEST(SchemaFiles, Lists_AreBounded) {
  for_each_subschema([](const Json& schema, const std::string& where) {
    const Json type = schema.value("type", Json());
    if (schema.contains("items") || type == "array") {
      EXPECT_TRUE(schema.contains("maxItems")) << where;
    }
    EXPECT_FALSE(type.is_array() && type.dump().find("array") != std::string::npos) << where;
  });
}

// Objects of our own say what they may hold; free ones are the few named here.
TEST(SchemaFiles, Objects_AreClosed) {
  const std::set<std::string> open = {"statement", "statement/definitions/subject", "plugin-policy",
                                      "envelope/properties/signatures/items"};
  for_each_subschema([&](const Json& schema, const std::string& where) {
    if (schema.contains("properties") && schema.value("type", "") == "object" &&
        !open.contains(where) && !schema.contains("then")) {
      EXPECT_TRUE(schema.contains("additionalProperties")) << where;
    }
  });
}

TEST(SchemaFiles, Integers_StayWithinJson) {
  for_each_subschema([](const Json& schema, const std::string& where) {
    if (schema.value("type", Json()) == "integer") {
      // Trustworthiness claims alone may be negative (draft-ietf-rats-ar4si, section 2.3).
      const bool claim = where.starts_with("plugin-answer/definitions/trustworthiness");
      EXPECT_LE(schema.value("maximum", std::int64_t{INT64_MAX}), kMaxSafeInteger) << where;
      EXPECT_GE(schema.value("minimum", std::int64_t{-1000}), claim ? -128 : 0) << where;
    }
  });
}

}  // namespace
}  // namespace assay
