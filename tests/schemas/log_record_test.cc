// SPDX-License-Identifier: Apache-2.0
// Log records against the vectors of schemas/log.md.
#include "schemas/log_record.h"

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "tests/schemas/samples.h"
#include "tests/support/log_page.h"

namespace assay {
namespace {

using test::code_of;

LogRecord sample() {
  return {std::string(event::kManifestAccepted),
          test::at("2026-01-02T03:04:05.678Z"),
          "ci",
          {"sha256:b", "assay-tree-v1-sha256:a"},
          {DocumentId(test::digest_of("envelope"))},
          {{"predicate_type", "x"}}};
}

// What records of each type have in them, the tests of the service compare with the same table
// (tests/server/service/fixture.cc).
TEST(LogRecord, Types_AreThoseOfTheTableInThePage) {
  std::set<std::string> types;
  for (const auto& [type, row] : test::log_page()) {
    types.insert(type);
  }
  EXPECT_EQ(types, std::set<std::string>(event::kAll.begin(), event::kAll.end()));
}

TEST(LogRecord, WithAnotherSubjectThanThePageSays_IsNamed) {
  LogRecord record{std::string(event::kDecisionMade), {}, "ci", {}, {}, Json::object()};
  record.subjects = {"assay-tree-v1-sha256:" + std::string(64, 'a')};
  EXPECT_EQ(test::beyond_log_page(record), "");
  record.subjects = {"0198f0a2-7c3e-7bbb-8123-100000000000"};
  EXPECT_NE(test::beyond_log_page(record), "");
  record.type = event::kPodsAffected;
  record.subjects = {};
  record.documents = {DocumentId(test::digest_of("document"))};
  EXPECT_NE(test::beyond_log_page(record), "");
}

TEST(LogRecord, Vectors_ReadAndWriteTheSameBytes) {
  const Json vectors = test::load_vectors("log.json");
  ASSERT_GE(vectors["records"].size(), 8U);
  for (const Json& row : vectors["records"]) {
    const Bytes bytes = test::from_base64(row["record"]);
    const auto record = parse_log_record(bytes);
    ASSERT_TRUE(record) << as_text(bytes) << to_string(record.error());
    EXPECT_EQ(encode(*record), as_text(bytes));
    EXPECT_EQ(merkle_leaf(HashAlgorithm::kSha256, bytes).hex(),
              row["leaf_hash"].get<std::string>());
  }
}

TEST(LogRecord, RefusedVectors_AreRefused) {
  const Json vectors = test::load_vectors("log.json");
  ASSERT_GE(vectors["refused_records"].size(), 50U);
  for (const Json& row : vectors["refused_records"]) {
    const Bytes bytes = test::from_base64(row["record"]);
    EXPECT_FALSE(parse_log_record(bytes)) << as_text(bytes) << row["reason"];
  }
}

TEST(LogRecord, LongestRecord_IsTakenAndNoLonger) {
  const Json longest = test::load_vectors("log.json")["longest_record"];
  const std::string head = test::text_from_base64(longest["template"]);
  const std::string mark = R"("fill":")";
  const auto with = [&](std::size_t count) {
    std::string text = head;
    return text.insert(text.find(mark) + mark.size(), count, 'x');
  };
  const std::string fits = with(longest["fill"]);
  EXPECT_EQ(fits.size(), kMaxLogRecordBytes);
  EXPECT_TRUE(parse_log_record(as_bytes(fits)));
  EXPECT_EQ(merkle_leaf(HashAlgorithm::kSha256, as_bytes(fits)).hex(),
            longest["leaf_hash"].get<std::string>());
  const std::string over = with(longest["fill"].get<std::size_t>() + 1);
  EXPECT_EQ(code_of(parse_log_record(as_bytes(over))), "limit-exceeded");
}

TEST(LogRecord, Encode_SortsSubjectsAndDropsRepeats) {
  LogRecord record = sample();
  record.subjects = {"b", "a", "b", "\xC3\xA9", "Z"};
  const auto parsed = parse_log_record(as_bytes(*encode(record)));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->subjects, (std::vector<std::string>{"Z", "a", "b", "\xC3\xA9"}));
}

TEST(LogRecord, Encode_KeepsTheOrderOfDocuments) {
  LogRecord record = sample();
  record.documents = {DocumentId(test::digest_of("2")), DocumentId(test::digest_of("1"))};
  EXPECT_EQ(parse_log_record(as_bytes(*encode(record)))->documents, record.documents);
}

TEST(LogRecord, EncodeOfWhatNoReaderTakes_IsRefused) {
  LogRecord record = sample();
  record.type = "nothing";
  EXPECT_EQ(code_of(encode(record)), "schema-violation");
  record = sample();
  record.actor.clear();
  EXPECT_EQ(code_of(encode(record)), "schema-violation");
  record = sample();
  record.subjects = {""};
  EXPECT_EQ(code_of(encode(record)), "schema-violation");
  record = sample();
  record.detail = Json::array();
  EXPECT_EQ(code_of(encode(record)), "schema-violation");
  record = sample();
  record.actor = "\xFF";
  EXPECT_FALSE(encode(record));
  record = sample();
  record.documents = {DocumentId(sha(HashAlgorithm::kSha384, as_bytes("x")))};
  EXPECT_EQ(code_of(encode(record)), "schema-violation");
  record = sample();
  record.detail = {{"text", std::string(kMaxLogRecordBytes, 'x')}};
  EXPECT_EQ(code_of(encode(record)), "limit-exceeded");
}

TEST(LogRecord, AnyOtherSpelling_IsRefused) {
  const std::string text = *encode(sample());
  ASSERT_TRUE(parse_log_record(as_bytes(text)));
  EXPECT_FALSE(parse_log_record(as_bytes(text + " ")));
  EXPECT_FALSE(parse_log_record(as_bytes(" " + text)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parse_log_record(as_bytes(text.substr(0, i)))) << i;
    std::string spaced = text;
    spaced.insert(i, 1, ' ');
    const auto parsed = parse_log_record(as_bytes(spaced));
    // A space inside a text is another text, written as it must be.
    EXPECT_TRUE(!parsed || *encode(*parsed) == spaced) << spaced;
  }
}

}  // namespace
}  // namespace assay
