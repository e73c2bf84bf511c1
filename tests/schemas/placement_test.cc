// SPDX-License-Identifier: Apache-2.0
// Placement statements.
#include "schemas/placement.h"

#include <gtest/gtest.h>

#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

Placement sample() {
  return {"acme/demo",
          ArtifactId::parse("assay-tree-v1-sha256:" + std::string(64, 'a')).value(),
          {"pvc://prod/models/demo", "hostpath:///data/demo"}};
}

Statement sample_statement() { return to_statement(sample()).value(); }

TEST(Placement, Statement_RoundTrips) {
  const std::string encoded = encode_statement(sample_statement()).value();
  const auto placement = placement_from(parse_statement(as_bytes(encoded)).value());
  ASSERT_TRUE(placement) << to_string(placement.error());
  EXPECT_EQ(placement->name, "acme/demo");
  EXPECT_EQ(placement->artifact, sample().artifact);
  EXPECT_EQ(placement->locations, sample().locations);
}

TEST(Placement, AnotherPredicateType_IsNotRead) {
  Statement statement = sample_statement();
  statement.predicate_type = "https://assay.dev/placement/v2";
  EXPECT_EQ(code_of(placement_from(statement)), "predicate-type-unknown");
}

TEST(Placement, WithoutLocations_IsRefused) {
  Placement placement = sample();
  placement.locations.clear();
  EXPECT_EQ(code_of(to_statement(placement)), "schema-violation");
  Statement statement = sample_statement();
  statement.predicate["locations"] = Json::array();
  EXPECT_EQ(code_of(placement_from(statement)), "schema-violation");
}

TEST(Placement, UnknownMember_IsRefused) {
  Statement statement = sample_statement();
  statement.predicate["parameters"] = Json::object();
  EXPECT_EQ(code_of(placement_from(statement)), "unknown-member");
}

TEST(Placement, LocationInAnotherSpelling_IsRefusedAtItsPlace) {
  for (const char* location : {"pvc://prod/models/../other", "pvc://prod/models/demo/",
                               "PVC://prod/models/demo", "demo"}) {
    Statement statement = sample_statement();
    statement.predicate["locations"] = {"pvc://prod/models/demo", location};
    EXPECT_EQ(code_of(placement_from(statement)), "schema-violation") << location;
    EXPECT_EQ(where_of(placement_from(statement)), "/predicate/locations/1") << location;
  }
}

TEST(Placement, LocationsBeyondTheirBytes_AreRefused) {
  Placement placement = sample();
  placement.locations.clear();
  for (int i = 10; i < 42; ++i) {
    placement.locations.push_back("hostpath:///" + std::to_string(i) + std::string(2034, 'x'));
  }
  ASSERT_TRUE(to_statement(placement));
  Statement statement = to_statement(placement).value();
  EXPECT_TRUE(placement_from(statement));
  statement.predicate["locations"].push_back("nfs://h/p");
  EXPECT_EQ(code_of(placement_from(statement)), "limit-exceeded");
  placement.locations.push_back("nfs://h/p");
  EXPECT_EQ(code_of(to_statement(placement)), "limit-exceeded");
}

TEST(Placement, NameOfTheSubject_IsThatOfThePlacement) {
  Statement statement = sample_statement();
  statement.subjects[0].name = "acme/other";
  EXPECT_EQ(code_of(placement_from(statement)), "subject-mismatch");
  statement = sample_statement();
  statement.predicate["name"] = "../x";
  EXPECT_EQ(code_of(placement_from(statement)), "schema-violation");
}

// Who says where one root lies has said nothing of the same bytes under another digest.
TEST(Placement, ExactlyOneArtifactDigest_IsNeeded) {
  Statement statement = sample_statement();
  statement.subjects.push_back(statement.subjects[0]);
  EXPECT_EQ(code_of(placement_from(statement)), "subject-mismatch");
  statement = sample_statement();
  statement.subjects[0].digest["sha256"] = std::string(64, 'b');
  EXPECT_EQ(code_of(placement_from(statement)), "subject-mismatch");
  statement.subjects[0].digest = {{"sha256", std::string(64, 'b')}};
  EXPECT_EQ(code_of(placement_from(statement)), "subject-mismatch");
}

}  // namespace
}  // namespace assay
