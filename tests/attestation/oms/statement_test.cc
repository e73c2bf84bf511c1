// SPDX-License-Identifier: Apache-2.0
// What OMS statements may say: one that is valid, and one change a case.
#include "attestation/oms/statement.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/attestation/oms/statements.h"
#include "tests/support/vectors.h"

namespace assay::attestation::oms {
namespace {

using assay::test::code_of;
using assay::test::oms_resource;
using assay::test::oms_shards;
using assay::test::oms_statement;
using assay::test::with_root;

Result<Statement> parse(const Json& json, OldForm old_form = OldForm::kRefused) {
  const std::string text = json.dump();
  return parse_oms_statement(as_bytes(text), old_form);
}
std::string code(const Json& json) { return code_of(parse(json)); }

Json files(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) {
    list.push_back(oms_resource(name));
  }
  return list;
}

struct Change {
  const char* what;
  const char* code;  // "ok": valid
  std::function<void(Json&)> make;
  bool new_root = true;  // the root is made to fit
};

void check_changes(const std::vector<Change>& changes, const Json& valid) {
  ASSERT_EQ(code(valid), "ok");
  for (const Change& change : changes) {
    Json json = valid;
    change.make(json);
    EXPECT_EQ(code(change.new_root ? with_root(json) : json), change.code) << change.what;
  }
}

Json& resource(Json& json, std::size_t index) { return json["predicate"]["resources"][index]; }
Json& how(Json& json) { return json["predicate"]["serialization"]; }

TEST(OmsStatement, ValidOne_IsReadAsItIs) {
  const auto statement = parse(oms_statement());
  ASSERT_EQ(code_of(statement), "ok");
  EXPECT_FALSE(statement->old_form);
  EXPECT_EQ(statement->subject_name, "model");
  EXPECT_EQ(statement->serialization.ignore_paths, (std::vector<std::string>{".git", "model.sig"}));
  ASSERT_EQ(statement->resources.size(), 2U);
  EXPECT_EQ(statement->resources[1].path, "d/b");
  EXPECT_EQ(hex_encode(statement->resources[1].digest), sha256(as_bytes("x")).hex());
}

TEST(OmsStatement, ShapeOfTheStatement_IsStrict) {
  check_changes(
      {{"another type", "schema-violation", [](Json& j) { j["_type"] = "x"; }},
       {"an unknown member", "unknown-member", [](Json& j) { j["more"] = 1; }},
       {"another predicate", "predicate-type-unknown",
        [](Json& j) { j["predicateType"] = "https://example.com/v1"; }},
       {"the old predicate", "predicate-type-unknown",
        [](Json& j) { j["predicateType"] = "https://model_signing/Digests/v0.1"; }},
       {"no predicate", "schema-violation", [](Json& j) { j.erase("predicate"); }, false},
       {"two subjects", "schema-violation",
        [](Json& j) { j["subject"].push_back(j["subject"][0]); }},
       {"no subject", "schema-violation", [](Json& j) { j["subject"] = Json::array(); }, false},
       {"a subject without a name", "schema-violation",
        [](Json& j) { j["subject"][0].erase("name"); }},
       {"a second algorithm that nobody can check", "schema-violation",
        [](Json& j) { j["subject"][0]["digest"]["sha512"] = "00"; }},
       {"another root", "root-mismatch",
        [](Json& j) { j["subject"][0]["digest"]["sha256"] = sha256(as_bytes("y")).hex(); }, false},
       {"another digest under the same root", "root-mismatch",
        [](Json& j) { resource(j, 0) = oms_resource("a", "y"); }, false},
       {"a member of the subject that says nothing", "ok",
        [](Json& j) { j["subject"][0]["annotations"] = Json::object(); }},
       {"an unknown member of the predicate", "unknown-member",
        [](Json& j) { j["predicate"]["more"] = 1; }}},
      oms_statement());
}

TEST(OmsStatement, Serialization_IsStrict) {
  check_changes(
      {{"no serialization", "schema-violation",
        [](Json& j) { j["predicate"].erase("serialization"); }},
       {"another method", "schema-violation", [](Json& j) { how(j)["method"] = "tensors"; }},
       {"BLAKE3", "invalid-digest", [](Json& j) { how(j)["hash_type"] = "blake3"; }},
       {"no hash", "schema-violation", [](Json& j) { how(j).erase("hash_type"); }},
       {"an unknown member", "unknown-member", [](Json& j) { how(j)["more"] = 1; }},
       {"a shard size for files", "unknown-member", [](Json& j) { how(j)["shard_size"] = 5; }},
       {"links as text", "schema-violation", [](Json& j) { how(j)["allow_symlinks"] = "false"; }},
       {"no word on links", "schema-violation", [](Json& j) { how(j).erase("allow_symlinks"); }},
       {"nothing ignored", "ok", [](Json& j) { how(j).erase("ignore_paths"); }},
       {"an ignored path out of the model", "invalid-path",
        [](Json& j) { how(j)["ignore_paths"][0] = "../x"; }},
       {"the whole model ignored", "invalid-path",
        [](Json& j) { how(j)["ignore_paths"][0] = "."; }},
       {"an absolute ignored path", "invalid-path",
        [](Json& j) { how(j)["ignore_paths"][0] = "/a"; }},
       {"a resource that is ignored", "schema-violation",
        [](Json& j) { how(j)["ignore_paths"][0] = "a"; }},
       {"a resource below an ignored path", "schema-violation",
        [](Json& j) { how(j)["ignore_paths"][0] = "d"; }}},
      oms_statement());
}

TEST(OmsStatement, Resources_AreStrict) {
  check_changes(
      {{"none", "schema-violation", [](Json& j) { j["predicate"]["resources"] = Json::array(); }},
       {"no list", "schema-violation", [](Json& j) { j["predicate"]["resources"] = 1; }, false},
       {"twice", "schema-violation", [](Json& j) { resource(j, 1) = resource(j, 0); }},
       {"twice with another digest", "schema-violation",
        [](Json& j) { resource(j, 1) = oms_resource("a", "y"); }},
       {"not sorted", "schema-violation",
        [](Json& j) { std::swap(resource(j, 0), resource(j, 1)); }},
       {"another algorithm than the serialization", "invalid-digest",
        [](Json& j) { resource(j, 0)["algorithm"] = "blake2b"; }},
       {"a digest in capitals", "invalid-digest",
        [](Json& j) { resource(j, 0)["digest"] = std::string(64, 'A'); }, false},
       {"a short digest", "invalid-digest", [](Json& j) { resource(j, 0)["digest"] = "abcd"; }},
       {"no digest", "schema-violation", [](Json& j) { resource(j, 0).erase("digest"); }},
       {"a member that says nothing", "ok", [](Json& j) { resource(j, 0)["size"] = 7; }},
       {"a file that is a directory", "invalid-path",
        [](Json& j) { resource(j, 0) = oms_resource("d"); }},
       {"the only file beside another", "invalid-path",
        [](Json& j) { resource(j, 0) = oms_resource("."); }},
       {"the only file behind another", "invalid-path",
        [](Json& j) { j["predicate"]["resources"] = files({"-x", "."}); }},
       {"a name of one dot alone", "ok",
        [](Json& j) { j["predicate"]["resources"] = files({"."}); }}},
      oms_statement());
}

TEST(OmsStatement, Names_HaveOneForm) {
  for (const char* name : {"/a", "../a", "a/../b", "./a", "a//b", "a/", "..", "a/."}) {
    EXPECT_EQ(code(oms_statement(files({name}))), "invalid-path") << name;
  }
  EXPECT_EQ(code(oms_statement(files({""}))), "schema-violation");
  // What the library above would not write.
  const std::string valid = oms_statement(files({"NAME"})).dump();
  for (const std::string& name :
       {std::string("a\xff"), std::string(R"(a\ud800)"), std::string("a\xc0\xaf")}) {
    std::string text = valid;
    text.replace(text.find("NAME"), 4, name);
    EXPECT_EQ(code_of(parse_oms_statement(as_bytes(text), OldForm::kRefused)), "malformed-json");
  }
  std::string nul = valid;
  nul.replace(nul.find("NAME"), 4, "a\\u0000b");
  EXPECT_EQ(code_of(parse_oms_statement(as_bytes(nul), OldForm::kRefused)), "invalid-path");
  EXPECT_EQ(code(oms_statement(files({std::string(kMaxNameBytes, 'a')}))), "ok");
  EXPECT_EQ(code(oms_statement(files({std::string(kMaxNameBytes + 1, 'a')}))), "invalid-path");
}

TEST(OmsStatement, DuplicateMembers_AreRefused) {
  std::string text = oms_statement().dump();
  text.replace(text.find("\"name\":\"a\""), 10, "\"name\":\"a\",\"name\":\"b\"ok");
  EXPECT_EQ(code_of(parse_oms_statement(as_bytes(text), OldForm::kRefused)), "duplicate-key");
}

// The spec sorts by code points, model_signing by parts of paths.
TEST(OmsStatement, BothOrders_AreRead) {
  EXPECT_EQ(code(oms_statement(files({"a-b/x", "a/x"}))), "ok");
  EXPECT_EQ(code(oms_statement(files({"a/x", "a-b/x"}))), "ok");
  EXPECT_EQ(code(oms_shards(files({"a:0:10", "a:10:20", "a:20:25", "b:0:1"}))), "ok");
  EXPECT_EQ(code(oms_shards(files({"a:0:10", "a:10:20", "a:100:110"}))), "schema-violation");
}

TEST(OmsShards, CoverFilesWithoutGaps) {
  struct Case {
    std::vector<std::string> names;
    const char* code;
  };
  const std::vector<Case> cases = {
      {{"a:0:10"}, "ok"},
      {{"a:0:7"}, "ok"},
      {{"a:b:0:7"}, "ok"},  // a colon in the name
      {{"a:0:10", "a:10:11"}, "ok"},
      {{"a:10:20"}, "schema-violation"},            // the first one is missing
      {{"a:0:10", "a:20:30"}, "schema-violation"},  // a gap
      {{"a:0:10", "a:0:10"}, "schema-violation"},   // twice
      {{"a:0:10", "a:0:5"}, "schema-violation"},    // overlap
      {{"a:0:7", "a:10:20"}, "schema-violation"},   // short in the middle
      {{"a:0:7", "a:7:9"}, "schema-violation"},     // not at a border
      {{"a:0:11"}, "schema-violation"},             // longer than a shard
      {{"a:0:0"}, "schema-violation"},              // empty
      {{"a:5:0"}, "schema-violation"},
      {{"a"}, "schema-violation"},
      {{"a:10"}, "schema-violation"},
      {{":0:10"}, "invalid-path"},
      {{"../a:0:10"}, "invalid-path"},
      {{"a:00:10"}, "schema-violation"},  // a second form of a number
      {{"a:+0:10"}, "schema-violation"},
      {{"a:-0:10"}, "schema-violation"},
      {{"a: 0:10"}, "schema-violation"},
      {{"a:0:0x9"}, "schema-violation"},
      {{"a:0:18446744073709551616"}, "schema-violation"},
      {{"a:18446744073709551610:18446744073709551615"}, "schema-violation"},
      {{"a:9007199254740990:9007199254740992"}, "schema-violation"}};
  for (const Case& one : cases) {
    EXPECT_EQ(code(oms_shards(files(one.names))), one.code) << one.names.front();
  }
}

TEST(OmsShards, SizeIsAWholeNumber) {
  const Json valid = oms_shards(files({"a:0:10"}));
  check_changes({{"none", "schema-violation", [](Json& j) { how(j).erase("shard_size"); }},
                 {"zero", "schema-violation", [](Json& j) { how(j)["shard_size"] = 0; }},
                 {"below zero", "schema-violation", [](Json& j) { how(j)["shard_size"] = -10; }},
                 {"text", "schema-violation", [](Json& j) { how(j)["shard_size"] = "10"; }},
                 {"a fraction", "schema-violation", [](Json& j) { how(j)["shard_size"] = 10.5; }},
                 {"too large", "schema-violation", [](Json& j) { how(j)["shard_size"] = 1e300; }},
                 {"as model_signing writes it", "ok", [](Json& j) { how(j)["shard_size"] = 10.0; }},
                 {"the algorithm of model_signing", "ok",
                  [](Json& j) { resource(j, 0)["algorithm"] = "sha256-sharded-10"; }},
                 {"the algorithm of another size", "invalid-digest",
                  [](Json& j) { resource(j, 0)["algorithm"] = "sha256-sharded-11"; }}},
                valid);
}

TEST(OmsStatement, OldForm_IsReadOnlyWhenAskedFor) {
  const Json old = {
      {"_type", "https://in-toto.io/Statement/v1"},
      {"predicateType", "https://model_signing/Digests/v0.1"},
      {"subject", Json::array({{{"name", "b"}, {"digest", {{"sha256", std::string(64, '1')}}}},
                               {{"name", "a"}, {"digest", {{"sha256", std::string(64, '2')}}}}})},
      {"predicate", {{"unused", "x"}}}};
  EXPECT_EQ(code(old), "predicate-type-unknown");
  const auto statement = parse(old, OldForm::kAccepted);
  ASSERT_EQ(code_of(statement), "ok");
  EXPECT_TRUE(statement->old_form);
  EXPECT_EQ(statement->resources.size(), 2U);
  Json twice = old;
  twice["subject"][0]["name"] = "a";
  EXPECT_EQ(code_of(parse(twice, OldForm::kAccepted)), "schema-violation");
  Json none = old;
  none["subject"] = Json::array();
  EXPECT_EQ(code_of(parse(none, OldForm::kAccepted)), "schema-violation");
}

// A statement of so many files, written as text because that is fast.
Result<Statement> many(std::size_t count) {
  const Json one = oms_resource("NAME");
  const std::string start = one.dump();
  const Bytes digest = *hex_decode(one["digest"].get<std::string>());
  ShaStream root(HashAlgorithm::kSha256);
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = start;
    text.replace(text.find("NAME"), 4, std::to_string(1000000 + i));
    list += (i == 0 ? "" : ",") + text;
    root.update(digest);
  }
  Json json = oms_statement(Json::array());
  json["subject"][0]["digest"]["sha256"] = root.finish().hex();
  std::string text = json.dump();
  text.insert(text.find("\"resources\":[") + 13, list);
  return parse_oms_statement(as_bytes(text), OldForm::kRefused);
}

TEST(OmsStatement, Limits_AreTakenAndNotPassed) {
  Json paths = Json::array();
  for (std::size_t i = 0; i < kMaxIgnorePaths; ++i) {
    paths.push_back("p" + std::to_string(i));
  }
  Json json = oms_statement();
  how(json)["ignore_paths"] = paths;
  EXPECT_EQ(code(json), "ok");
  how(json)["ignore_paths"].push_back("q");
  EXPECT_EQ(code(json), "limit-exceeded");
  EXPECT_EQ(code_of(many(kMaxResources)), "ok");
  EXPECT_EQ(code_of(many(kMaxResources + 1)), "limit-exceeded");
}

TEST(OmsStatement, WrittenOne_IsReadAsItWas) {
  for (const Json& json : {oms_statement(), oms_shards(files({"a:0:10", "a:10:20", "a:20:25"}))}) {
    const auto statement = parse(json);
    ASSERT_EQ(code_of(statement), "ok");
    const auto text = encode_oms_statement(*statement);
    ASSERT_EQ(code_of(text), "ok");
    const auto again = parse_oms_statement(as_bytes(*text), OldForm::kRefused);
    ASSERT_EQ(code_of(again), "ok");
    EXPECT_EQ(again->serialization, statement->serialization);
    EXPECT_EQ(again->resources, statement->resources);
  }
}

}  // namespace
}  // namespace assay::attestation::oms
