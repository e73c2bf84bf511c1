// SPDX-License-Identifier: Apache-2.0
// validate(): codes, places, hostile documents, many threads.
#include "schemas/validate.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

Json example_of(std::string_view text) { return Json::parse(text)["examples"][0]; }
Json lifecycle() { return example_of(embedded::kLifecycleSchemaJson); }
Json manifest() { return example_of(embedded::kManifestSchemaJson); }

TEST(Validate, NoSuchSchema_IsInternal) {
  for (const char* name : {"", "nothing", "manifest.schema.json", "../manifest", "manifes"}) {
    EXPECT_EQ(code_of(validate(name, Json::object())), "internal") << name;
  }
}

TEST(Validate, Violation_NamesThePlace) {
  Json document = lifecycle();
  document["inputs"][1]["role"] = "spectator";
  EXPECT_EQ(code_of(validate("lifecycle", document)), "schema-violation");
  EXPECT_EQ(where_of(validate("lifecycle", document)), "/inputs/1/role");
  document = lifecycle();
  document["metrics"]["eval/accuracy"]["value"] = "high";
  EXPECT_EQ(where_of(validate("lifecycle", document)), "/metrics/eval~1accuracy/value");
}

TEST(Validate, UnknownMember_IsNamedWithItsPlace) {
  Json document = manifest();
  document["entries"][2]["colour"] = "red";
  EXPECT_EQ(code_of(validate("manifest", document)), "unknown-member");
  EXPECT_EQ(where_of(validate("manifest", document)), "/entries/2/colour");
}

TEST(Validate, WrongKindOfRoot_IsAViolation) {
  for (const Json& document : {Json(), Json(1), Json("x"), Json::array(), Json(true)}) {
    EXPECT_EQ(code_of(validate("manifest", document)), "schema-violation") << document;
  }
}

TEST(Validate, FractionalInteger_IsAViolation) {
  Json document = manifest();
  document["entries"][0]["size"] = 1.0;
  EXPECT_EQ(code_of(validate("manifest", document)), "schema-violation");
  document["entries"][0]["size"] = 9007199254740992;
  EXPECT_EQ(code_of(validate("manifest", document)), "schema-violation");
}

// A text is as long as it is, whatever stands behind a NUL.
TEST(Validate, NulInText_DoesNotShortenIt) {
  Json document = lifecycle();
  document["comment"] = std::string("\0", 1) + std::string(5000, 'x');
  EXPECT_EQ(code_of(validate("lifecycle", document)), "schema-violation");
  document["comment"] = std::string("a\0b", 3);
  EXPECT_TRUE(validate("lifecycle", document));
  document["stage"] = std::string("train\0", 6);
  EXPECT_EQ(code_of(validate("lifecycle", document)), "schema-violation");
}

TEST(Validate, NulInMemberName_IsAViolation) {
  Json document = lifecycle();
  document["parameters"][std::string("a\0b", 3)] = 1;
  EXPECT_EQ(code_of(validate("lifecycle", document)), "schema-violation");
}

TEST(Validate, TextsOfMegabytes_AreRefusedWithoutHarm) {
  const std::string huge(std::size_t{4} << 20, 'a');
  Json document = lifecycle();
  document["stage"] = huge;
  EXPECT_EQ(code_of(validate("lifecycle", document)), "schema-violation");
  EXPECT_EQ(where_of(validate("lifecycle", document)), "/stage");
  document = lifecycle();
  document["metrics"][huge] = {{"value", 1}, {"unit", "1"}};
  EXPECT_EQ(code_of(validate("lifecycle", document)), "schema-violation");
  document = manifest();
  document["parameters"]["ignore"][0] = huge;
  EXPECT_EQ(code_of(validate("manifest", document)), "schema-violation");
  document = lifecycle();
  document["parameters"]["text"] = huge;
  EXPECT_TRUE(validate("lifecycle", document));
  document["stage"] = "no such stage!";
  EXPECT_EQ(where_of(validate("lifecycle", document)), "/stage");
}

// The longest texts that reach a pattern: characters of several bytes count once.
TEST(Validate, LongestTexts_ReachTheirPattern) {
  Json document = manifest();
  std::string pattern;
  for (int i = 0; i < 512; ++i) {
    pattern += "\u20AC";
  }
  document["parameters"]["ignore"] = {pattern};
  EXPECT_TRUE(validate("manifest", document));
  document["parameters"]["ignore"] = {pattern + "x"};
  EXPECT_EQ(code_of(validate("manifest", document)), "schema-violation");
}

TEST(Validate, DeepPolicy_IsNoTrouble) {
  Json condition = {{"id", "leaf"}, {"manifest", Json::object()}};
  for (int i = 0; i < 100; ++i) {
    condition = {{"id", "n" + std::to_string(i)}, {"not", condition}};
  }
  const Json policy = {{"name", "p"},
                       {"version", 1},
                       {"mode", "warn"},
                       {"match", Json::object()},
                       {"require", {condition}}};
  EXPECT_TRUE(validate("policy", policy));
}

TEST(Validate, ManyThreads_AgreeFromTheFirstUse) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&wrong] {
      for (int i = 0; i < 50; ++i) {
        for (const auto& [file, text] : embedded::kJsonSchemasFiles) {
          const std::string name(file.substr(0, file.find('.')));
          const Json schema = Json::parse(text);
          for (Json example : schema["examples"]) {
            wrong += validate(name, example) ? 0 : 1;
            example = Json::array();
            wrong += validate(name, example) ? 1 : 0;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace assay
