// SPDX-License-Identifier: Apache-2.0
// A statement beside files: what is hashed, what is missing, and what nobody signed.
#include "attestation/oms/coverage.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/attestation/oms/statements.h"

namespace assay::attestation::oms {
namespace {

using assay::test::oms_resource;
using assay::test::oms_shards;
using assay::test::oms_statement;

Statement statement_of(const Json& json) {
  const std::string text = json.dump();
  return std::move(parse_oms_statement(as_bytes(text), OldForm::kRefused)).value();
}

std::vector<std::string> lines(const Coverage& coverage) {
  std::vector<std::string> text;
  for (const Finding& finding : coverage.findings) {
    text.push_back(std::string(name(finding.fault)) + " " + finding.path);
  }
  return text;
}

using Lines = std::vector<std::string>;

TEST(OmsCoverage, OfWhatIsThere_AllIsHashed) {
  const std::vector<DiskFile> files = {{"a", 5}, {"d/b", 0}};
  const Coverage coverage =
      compare_files(statement_of(oms_statement()), files, false, Extra::kRefused);
  EXPECT_EQ(lines(coverage), Lines{});
  ASSERT_EQ(coverage.parts.size(), 2U);
  EXPECT_EQ(coverage.parts[0].end, 5U);
  EXPECT_EQ(coverage.parts[1].file, 1U);
}

TEST(OmsCoverage, MissingAndExtraFiles_AreNamed) {
  const std::vector<DiskFile> files = {{"A", 5}, {"d/b", 1}, {"d/c", 0}};
  const Statement statement = statement_of(oms_statement());
  EXPECT_EQ(lines(compare_files(statement, files, false, Extra::kRefused)),
            (Lines{"extra A", "missing a", "extra d/c"}));
  const Coverage allowed = compare_files(statement, files, false, Extra::kAllowed);
  EXPECT_EQ(lines(allowed), Lines{"missing a"});
  EXPECT_EQ(allowed.unsigned_files, (Lines{"A", "d/c"}));
}

TEST(OmsCoverage, Shards_ReachToTheEndOfTheFile) {
  const Statement statement =
      statement_of(oms_shards(Json::array({oms_resource("a:0:10"), oms_resource("a:10:15")})));
  const auto found = [&](std::uint64_t size) {
    const std::vector<DiskFile> files = {{"a", size}};
    return lines(compare_files(statement, files, false, Extra::kRefused));
  };
  EXPECT_EQ(found(15), Lines{});
  for (const std::uint64_t size : {0U, 9U, 10U, 14U, 16U, 20U, 1000U}) {
    EXPECT_EQ(found(size), Lines{"changed a"}) << size;
  }
  EXPECT_EQ(lines(compare_files(statement, {}, false, Extra::kRefused)), Lines{"missing a"});
}

// The spec leaves empty files out, so that one more is not seen.
TEST(OmsCoverage, EmptyFilesBesideShards_AreReported) {
  const Statement statement = statement_of(oms_shards(Json::array({oms_resource("a:0:10")})));
  const std::vector<DiskFile> files = {{"a", 10}, {"b", 0}, {"c", 1}};
  const Coverage coverage = compare_files(statement, files, false, Extra::kRefused);
  EXPECT_EQ(lines(coverage), Lines{"extra c"});
  EXPECT_EQ(coverage.unsigned_empty, Lines{"b"});
}

TEST(OmsCoverage, TheOnlyFile_HasTheNameOfTheSpecOrADot) {
  const std::vector<DiskFile> files = {{"model.bin", 5}};
  const auto found = [&](const std::string& name, bool only) {
    return lines(compare_files(statement_of(oms_statement(Json::array({oms_resource(name)}))),
                               files, only, Extra::kRefused));
  };
  EXPECT_EQ(found(".", true), Lines{});
  EXPECT_EQ(found("model.bin", true), Lines{});
  EXPECT_EQ(found("other.bin", true), (Lines{"extra model.bin", "missing other.bin"}));
  EXPECT_EQ(found(".", false), (Lines{"missing .", "extra model.bin"}));
}

TEST(OmsCoverage, FilesOfVersionControl_AreLeftOutUnlessTheyAreSigned) {
  Json json = oms_statement(Json::array({oms_resource(".github/x"), oms_resource("a")}));
  EXPECT_EQ(left_out(statement_of(json), {"x.sig", ".git"}),
            (Lines{".git", ".gitattributes", ".gitignore", "model.sig", "x.sig"}));
}

}  // namespace
}  // namespace assay::attestation::oms
