// SPDX-License-Identifier: Apache-2.0
// Lifecycle statements.
#include "schemas/lifecycle.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::code_of;
using test::sample_lifecycle;
using test::sample_subjects;
using test::where_of;

Statement sample_statement() { return *to_statement(sample_lifecycle(), sample_subjects()); }

TEST(Lifecycle, Statement_RoundTrips) {
  const Lifecycle sample = sample_lifecycle();
  const std::string encoded = *encode_statement(sample_statement());
  const auto lifecycle = lifecycle_from(*parse_statement(as_bytes(encoded)));
  ASSERT_TRUE(lifecycle) << to_string(lifecycle.error());
  EXPECT_EQ(lifecycle->stage, sample.stage);
  ASSERT_EQ(lifecycle->inputs.size(), 2U);
  EXPECT_EQ(lifecycle->inputs[0].role, "base-model");
  EXPECT_EQ(lifecycle->inputs[0].name, "acme/base");
  EXPECT_EQ(lifecycle->inputs[0].digest, sample.inputs[0].digest);
  EXPECT_EQ(lifecycle->inputs[1].name, "");
  EXPECT_EQ(lifecycle->parameters, sample.parameters);
  EXPECT_EQ(lifecycle->metrics.at("eval/accuracy").value, 0.91);
  EXPECT_EQ(lifecycle->metrics.at("eval/accuracy").unit, "1");
  EXPECT_EQ(lifecycle->freshness, sample.freshness);
  EXPECT_EQ(lifecycle->comment, sample.comment);
}

TEST(Lifecycle, StageAlone_IsEnough) {
  Statement statement = sample_statement();
  statement.predicate = {{"stage", "approve"}};
  const auto lifecycle = lifecycle_from(statement);
  ASSERT_TRUE(lifecycle);
  EXPECT_TRUE(lifecycle->inputs.empty());
  EXPECT_EQ(lifecycle->parameters, Json::object());
  EXPECT_TRUE(lifecycle->metrics.empty());
  EXPECT_EQ(lifecycle->freshness, std::nullopt);
}

TEST(Lifecycle, WithoutAnArtifactAmongTheSubjects_IsSubjectMismatch) {
  Statement statement = sample_statement();
  statement.subjects = {{"x", {{"sha256", std::string(64, 'a')}}}};
  EXPECT_EQ(code_of(lifecycle_from(statement)), "subject-mismatch");
  EXPECT_EQ(code_of(to_statement(sample_lifecycle(), statement.subjects)), "subject-mismatch");
  EXPECT_EQ(code_of(to_statement(sample_lifecycle(), {})), "subject-mismatch");
  statement.subjects.push_back(sample_subjects()[0]);
  EXPECT_TRUE(lifecycle_from(statement));
}

TEST(Lifecycle, AnotherPredicateType_IsNotRead) {
  Statement statement = sample_statement();
  statement.predicate_type = "https://slsa.dev/provenance/v1";
  EXPECT_EQ(code_of(lifecycle_from(statement)), "predicate-type-unknown");
}

TEST(Lifecycle, ChangesThatTheSchemaForbids_AreRefused) {
  const std::pair<const char*, Json> changes[] = {{"/stage", "Train"},
                                                  {"/stage", ""},
                                                  {"/stage", "two words"},
                                                  {"/stage", "*"},
                                                  {"/stage", std::string(65, 'a')},
                                                  {"/inputs/0/role", "friend"},
                                                  {"/inputs/0/digest", Json::object()},
                                                  {"/inputs/0/digest/sha256", std::string(64, 'A')},
                                                  {"/inputs/0/digest/assay-tree-v1-sha256", "x"},
                                                  {"/metrics/eval~1accuracy/value", "0.9"},
                                                  {"/metrics/eval~1accuracy/value", nullptr},
                                                  {"/metrics/eval~1accuracy/unit", ""},
                                                  {"/metrics/a b", {{"value", 1}, {"unit", "1"}}},
                                                  {"/freshness", Json::object()},
                                                  {"/freshness/checkpoint", "both"},
                                                  {"/freshness/challenge", "zz"},
                                                  {"/parameters", Json::array()},
                                                  {"/comment", ""}};
  for (const auto& [place, value] : changes) {
    Statement statement = sample_statement();
    statement.predicate[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(lifecycle_from(statement)), "schema-violation") << place << value;
  }
}

TEST(Lifecycle, ControlCharactersInTheNameOfAnInput_AreRefused) {
  for (const char* name : {"acme/corpus\n", "acme\x1b[2K/corpus", "acme/\x7f", "acme/\xc2\x85"}) {
    Statement statement = sample_statement();
    statement.predicate["inputs"][0]["name"] = name;
    const auto read = lifecycle_from(statement);
    EXPECT_EQ(code_of(read), "schema-violation") << name;
    EXPECT_EQ(read.error().where, "/predicate/inputs/0/name");
  }
  Statement statement = sample_statement();
  statement.predicate["inputs"][0]["name"] = "acme/corpus \xc2\xa0\xc3\xa9";  // no controls
  EXPECT_TRUE(lifecycle_from(statement));
}

TEST(Lifecycle, UnknownMember_IsRefusedWithItsPlace) {
  Statement statement = sample_statement();
  statement.predicate["inputs"][0]["extra"] = 1;
  EXPECT_EQ(code_of(lifecycle_from(statement)), "unknown-member");
  EXPECT_EQ(where_of(lifecycle_from(statement)), "/predicate/inputs/0/extra");
}

TEST(Lifecycle, OwnStagesAndFreeParameters_AreTaken) {
  Statement statement = sample_statement();
  statement.predicate["stage"] = "red-team-2";
  statement.predicate["parameters"] = {{"any", {1, "two", nullptr, {{"deep", true}}}}};
  EXPECT_TRUE(lifecycle_from(statement));
}

TEST(Lifecycle, MetricThatJsonCannotHold_IsNotEncoded) {
  Lifecycle lifecycle = sample_lifecycle();
  lifecycle.metrics["loss"] = {std::numeric_limits<double>::quiet_NaN(), "1"};
  const auto statement = to_statement(lifecycle, sample_subjects());
  EXPECT_FALSE(statement && encode_statement(*statement));
}

}  // namespace
}  // namespace assay
