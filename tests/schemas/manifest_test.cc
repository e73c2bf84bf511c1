// SPDX-License-Identifier: Apache-2.0
// Manifests: what is signed must follow from its own entries.
#include "schemas/manifest.h"

#include <functional>

#include <gtest/gtest.h>

#include "schemas/document_size.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::code_of;
using test::sample_manifest;
using test::where_of;

Statement sample_statement() {
  auto statement = to_statement(sample_manifest());
  EXPECT_TRUE(statement) << to_string(statement.error());
  return *statement;
}

TEST(Manifest, Statement_RoundTrips) {
  const Statement statement = sample_statement();
  const Manifest sample = sample_manifest();
  ASSERT_EQ(statement.subjects.size(), 1U);
  EXPECT_EQ(statement.subjects[0].name, sample.name);
  EXPECT_EQ(statement.subjects[0].artifact(), *artifact_id(sample));
  const std::string encoded = *encode_statement(statement);
  const auto manifest = manifest_from(*parse_statement(as_bytes(encoded)));
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_EQ(manifest->name, sample.name);
  EXPECT_EQ(manifest->artifact, sample.artifact);
  EXPECT_EQ(manifest->locations, sample.locations);
  EXPECT_EQ(manifest->other_digests, sample.other_digests);
  EXPECT_EQ(*artifact_id(*manifest), *artifact_id(sample));
}

TEST(Manifest, Sha384Tree_RoundTrips) {
  Manifest manifest = sample_manifest();
  manifest.artifact.parameters = {HashAlgorithm::kSha384, 4096};
  manifest.artifact.entries = {FileEntry{"x", 1, sha(HashAlgorithm::kSha384, as_bytes("x"))}};
  const auto statement = to_statement(manifest);
  ASSERT_TRUE(statement);
  EXPECT_EQ(manifest_from(*statement)->artifact, manifest.artifact);
}

TEST(Manifest, OptionalMembers_HaveSafeDefaults) {
  Statement statement = sample_statement();
  statement.predicate.erase("locations");
  const auto manifest = manifest_from(statement);
  ASSERT_TRUE(manifest);
  EXPECT_TRUE(manifest->locations.empty());
}

// A second publisher cannot add rules to somebody else's root.
TEST(Manifest, OtherIgnoreRules_AreAnotherRoot) {
  const Json evil = Json::array({"*.py", "*.tmp", "/.git"});
  for (const auto& change : std::initializer_list<std::function<void(Json&)>>{
           [&](Json& parameters) { parameters["ignore"] = evil; },
           [](Json& parameters) { parameters.erase("ignore"); },
           [](Json& parameters) { parameters["follow_symlinks"] = true; }}) {
    Statement statement = sample_statement();
    change(statement.predicate["parameters"]);
    EXPECT_EQ(code_of(manifest_from(statement)), "root-mismatch");
  }
}

// What manifests had before their rules were bound.
TEST(Manifest, RulesBesideTheParameters_AreRefused) {
  for (const auto& [member, value] : {std::pair<const char*, Json>{"ignore", {"*.py"}},
                                      {"ignore", Json::array()},
                                      {"follow_symlinks", false}}) {
    Statement statement = sample_statement();
    statement.predicate[member] = value;
    EXPECT_EQ(code_of(manifest_from(statement)), "unknown-member") << member;
  }
}

TEST(Manifest, ParametersThatSayNothing_AreRefused) {
  Statement statement = sample_statement();
  statement.predicate["parameters"]["ignore"] = Json::array();
  EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation");
  statement = sample_statement();
  statement.predicate["parameters"]["follow_symlinks"] = false;
  EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation");
}

TEST(Manifest, WrongRoot_IsRootMismatch) {
  Statement statement = sample_statement();
  statement.subjects[0].digest["assay-tree-v1-sha256"] = std::string(64, '0');
  EXPECT_EQ(code_of(manifest_from(statement)), "root-mismatch");
  statement.subjects[0].digest.erase("assay-tree-v1-sha256");
  EXPECT_EQ(code_of(manifest_from(statement)), "root-mismatch");
}

TEST(Manifest, RootUnderAnotherHashName_IsRootMismatch) {
  Statement statement = sample_statement();
  auto& digest = statement.subjects[0].digest;
  digest["assay-tree-v1-sha384"] = std::string(96, 'a');
  EXPECT_TRUE(manifest_from(statement));  // another tree of the same artifact, for all we know
  digest.erase("assay-tree-v1-sha256");
  EXPECT_EQ(code_of(manifest_from(statement)), "root-mismatch");
}

// Every change of what the root binds is noticed.
TEST(Manifest, ChangedEntry_IsRootMismatch) {
  const std::pair<const char*, Json> changes[] = {{"/entries/0/size", 9001},
                                                  {"/entries/0/path", "a.bim"},
                                                  {"/entries/0/root", std::string(64, 'a')},
                                                  {"/entries/2/name", "u"},
                                                  {"/entries/2/dtype", "I8"},
                                                  {"/entries/2/shape", Json::array({1, 3})},
                                                  {"/parameters/chunk_size", 4096}};
  for (const auto& [place, value] : changes) {
    Statement statement = sample_statement();
    statement.predicate[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(manifest_from(statement)), "root-mismatch") << place;
  }
}

// Whoever computes the artifact root anew signs no tensor that its file does not have.
TEST(Manifest, TensorThatItsFileDoesNotHave_IsRefused) {
  const std::pair<const char*, Json> changes[] = {{"/entries/2/offset", 60},
                                                  {"/entries/2/root", std::string(64, 'a')},
                                                  {"/entries/1/root", std::string(64, 'a')},
                                                  {"/entries/1/cut/root", std::string(64, 'a')},
                                                  {"/entries/1/cut/size", 60},
                                                  {"/entries/1/cut/size", 65},
                                                  {"/entries/1/cut/format", "pickle"}};
  for (const auto& [place, value] : changes) {
    Statement statement = sample_statement();
    statement.predicate[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation") << place;
  }
  Statement statement = sample_statement();
  statement.predicate["entries"][1].erase("cut");
  EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation");
}

TEST(Manifest, EntriesThatAreNoArtifact_AreRefused) {
  Statement statement = sample_statement();
  Json& entries = statement.predicate["entries"];
  std::swap(entries[0], entries[1]);
  EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation");
  statement = sample_statement();
  statement.predicate["entries"][0]["path"] = "../a.bin";
  EXPECT_EQ(code_of(manifest_from(statement)), "invalid-path");
  statement = sample_statement();
  statement.predicate["entries"] = Json::array();
  EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation");
  statement = sample_statement();
  statement.predicate["entries"][0]["root"] = std::string(96, 'a');
  EXPECT_EQ(code_of(manifest_from(statement)), "invalid-digest");
  EXPECT_EQ(where_of(manifest_from(statement)).substr(0, 20), "/predicate/entries/0");
}

TEST(Manifest, SubjectAndName_BelongTogether) {
  Statement statement = sample_statement();
  statement.subjects[0].name = "acme/other";
  EXPECT_EQ(code_of(manifest_from(statement)), "subject-mismatch");
  statement = sample_statement();
  statement.subjects.push_back(statement.subjects[0]);
  EXPECT_EQ(code_of(manifest_from(statement)), "subject-mismatch");
  statement.subjects.clear();
  EXPECT_EQ(code_of(manifest_from(statement)), "subject-mismatch");
}

TEST(Manifest, AnotherPredicateType_IsNotRead) {
  Statement statement = sample_statement();
  statement.predicate_type = "https://assay.dev/merkle-manifest/v2";
  EXPECT_EQ(code_of(manifest_from(statement)), "predicate-type-unknown");
}

TEST(Manifest, UnknownMember_IsRefused) {
  Statement statement = sample_statement();
  statement.predicate["extra"] = 1;
  EXPECT_EQ(code_of(manifest_from(statement)), "unknown-member");
  EXPECT_EQ(where_of(manifest_from(statement)), "/predicate/extra");
}

TEST(Manifest, LocationInAnotherSpelling_IsRefused) {
  for (const char* location : {"PVC://serving/models", "pvc://serving/models/", "nowhere", "",
                               "https://Example.com/x", "pvc://serving/../x"}) {
    Statement statement = sample_statement();
    statement.predicate["locations"] = {location};
    EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation") << location;
    Manifest manifest = sample_manifest();
    manifest.locations = {location};
    EXPECT_EQ(code_of(to_statement(manifest)), "schema-violation") << location;
  }
}

TEST(Manifest, IgnorePatterns_AreCheckedAsInTheVectors) {
  const Json refused = test::load_vectors("paths.json")["refused_patterns"];
  ASSERT_FALSE(refused.empty());
  for (const Json& pattern : refused) {
    Statement statement = sample_statement();
    statement.predicate["parameters"]["ignore"] = {pattern};
    const std::string code = code_of(manifest_from(statement));
    EXPECT_TRUE(code == "schema-violation" || code == "invalid-parameter") << code << pattern;
  }
  const Json ignored = test::load_vectors("paths.json")["ignored"];
  for (const Json& row : ignored) {
    Manifest manifest = sample_manifest();
    manifest.artifact.parameters.ignore = row["patterns"].get<std::vector<std::string>>();
    const auto statement = to_statement(manifest);
    ASSERT_TRUE(statement) << row;
    EXPECT_TRUE(manifest_from(*statement)) << row;
  }
}

TEST(Manifest, MoreEntriesThanADocumentTakes_SaysWhatToDo) {
  Manifest manifest = sample_manifest();
  manifest.artifact.entries.clear();
  const Digest root = test::digest_of("x");
  for (std::size_t i = 0; i < kMaxManifestEntries; ++i) {
    manifest.artifact.entries.push_back(FileEntry{"f" + std::to_string(1000000 + i), 1, root});
  }
  const auto largest = to_statement(manifest);
  ASSERT_TRUE(largest) << to_string(largest.error());
  EXPECT_TRUE(manifest_from(*largest));
  manifest.artifact.entries.push_back(FileEntry{"g", 1, root});
  EXPECT_EQ(code_of(to_statement(manifest)), "limit-exceeded");
  Statement statement = *largest;
  statement.predicate["entries"].push_back(to_json(manifest.artifact.entries.back()));
  EXPECT_EQ(code_of(manifest_from(statement)), "limit-exceeded");
}

TEST(Manifest, BadNameOrDigest_IsNotSigned) {
  Manifest manifest = sample_manifest();
  manifest.name = "Acme";
  EXPECT_EQ(code_of(to_statement(manifest)), "schema-violation");
  manifest = sample_manifest();
  manifest.other_digests = {{"assay-tree-v1-sha256", std::string(64, 'a')}};
  EXPECT_EQ(code_of(to_statement(manifest)), "root-mismatch");
  manifest = sample_manifest();
  manifest.artifact.entries.clear();
  EXPECT_FALSE(to_statement(manifest));
}

TEST(Manifest, PredicateThatIsNoObject_IsRefused) {
  for (const Json& predicate : {Json(), Json(1), Json::array(), Json("x"), Json::object()}) {
    Statement statement = sample_statement();
    statement.predicate = predicate;
    EXPECT_EQ(code_of(manifest_from(statement)), "schema-violation") << predicate;
  }
}

}  // namespace
}  // namespace assay
