// SPDX-License-Identifier: Apache-2.0
// in-toto statements: one valid sample, one change a test.
#include "schemas/statement.h"

#include <gtest/gtest.h>

#include "schemas/core/json_foreign.h"
#include "schemas/document_size.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::where_of;

Json foreign() {
  return {{"_type", kStatementType},
          {"subject", {{{"name", "model"}, {"digest", {{"sha256", std::string(64, 'a')}}}}}},
          {"predicateType", "https://slsa.dev/provenance/v1"},
          {"predicate", {{"unknown", {{"kept", 1.5}}}}}};
}

Json own() {
  Json json = foreign();
  json["predicateType"] = "https://assay.dev/lifecycle/v1";
  json["predicate"] = {{"stage", "train"}};
  return json;
}

TEST(Statement, ForeignPredicate_IsKeptAsItStands) {
  const auto statement = parse_statement(bytes_of(foreign()));
  ASSERT_TRUE(statement);
  EXPECT_EQ(statement->predicate_type, "https://slsa.dev/provenance/v1");
  EXPECT_EQ(statement->predicate, foreign()["predicate"]);
  ASSERT_EQ(statement->subjects.size(), 1U);
  EXPECT_EQ(statement->subjects[0].name, "model");
  EXPECT_EQ(statement->subjects[0].digest.at("sha256"), std::string(64, 'a'));
  EXPECT_EQ(statement->subjects[0].artifact(), std::nullopt);
}

// Whatever the predicate: what a statement calls its subject is shown and compared with rules.
TEST(Statement, ControlCharactersInTheNameOfASubject_AreRefused) {
  for (const char* name : {"model\n", "\rmodel", "mo\tdel", "m\x1b[2K", "m\x7f", "m\xc2\x9b"}) {
    for (Json json : {foreign(), own()}) {
      json["subject"][0]["name"] = name;
      const auto read = parse_statement(bytes_of(json));
      EXPECT_EQ(code_of(read), "schema-violation") << name;
      EXPECT_EQ(where_of(read), "/subject/0/name");
    }
  }
  Json json = foreign();
  json["subject"][0]["name"] = "model \xc3\xa9";
  auto read = parse_statement(bytes_of(json));
  ASSERT_TRUE(read);
  read->subjects[0].name += '\n';
  EXPECT_EQ(code_of(encode_statement(*read)), "schema-violation");
}

TEST(ModelName, ControlCharacters_AreRefused) {
  for (const std::string name : {"acme/demo\n", "acme\n/demo", "acme/de\x01mo", "\tacme/demo"}) {
    EXPECT_EQ(code_of(check_model_name(name)), "schema-violation");
  }
  EXPECT_EQ(code_of(check_model_name(std::string("acme/demo\0", 10))), "schema-violation");
}

TEST(Statement, AbsentPredicate_IsEmpty) {
  Json json = foreign();
  json.erase("predicate");
  EXPECT_EQ(parse_statement(bytes_of(json))->predicate, Json::object());
}

TEST(Statement, UnknownMembers_AreIgnoredBesideForeignPredicates) {
  Json json = foreign();
  json["extra"] = 1;
  json["subject"][0]["uri"] = "https://example.com/x";
  EXPECT_TRUE(parse_statement(bytes_of(json)));
}

TEST(Statement, UnknownMembers_AreRefusedBesideOurOwn) {
  EXPECT_TRUE(parse_statement(bytes_of(own())));
  Json json = own();
  json["extra"] = 1;
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "unknown-member");
  json = own();
  json["subject"][0]["uri"] = "https://example.com/x";
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "unknown-member");
  EXPECT_EQ(where_of(parse_statement(bytes_of(json))), "/subject/0/uri");
  json = own();
  json.erase("predicate");
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation");
}

TEST(Statement, OwnPredicate_AsksForWellFormedStrongDigests) {
  for (const char* algorithm : {"sha256", "sha384", "sha512"}) {
    Json json = own();
    json["subject"][0]["digest"][algorithm] = "ABC";
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation") << algorithm;
    json = foreign();
    json["subject"][0]["digest"][algorithm] = "ABC";
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "invalid-digest") << algorithm;
  }
}

TEST(Statement, WrongType_IsRefused) {
  for (const Json& type : {Json("https://in-toto.io/Statement/v0.2"),
                           Json("https://in-toto.io/Statement/v1 "), Json(""), Json(1), Json()}) {
    Json json = foreign();
    json["_type"] = type;
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation") << type;
    EXPECT_EQ(where_of(parse_statement(bytes_of(json))), "/_type");
  }
}

TEST(Statement, PredicateType_IsAUri) {
  for (const Json& type : {Json(""), Json("manifest"), Json("https://with space"), Json(1), Json(),
                           Json("https:"), Json(":x"), Json(std::string(600, 'a') + ":x")}) {
    Json json = foreign();
    json["predicateType"] = type;
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation") << type;
  }
  Json json = foreign();
  json["predicateType"] = "urn:example:x";
  EXPECT_TRUE(parse_statement(bytes_of(json)));
}

TEST(Statement, Subjects_AreOneTo1024WithDigests) {
  Json json = foreign();
  json["subject"] = Json::array();
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation");
  json = foreign();
  json["subject"] = Json(1024, foreign()["subject"][0]);
  EXPECT_EQ(parse_statement(bytes_of(json))->subjects.size(), kMaxSubjects);
  json["subject"].push_back(foreign()["subject"][0]);
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation");
  json = foreign();
  json["subject"][0]["digest"] = Json::object();
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation");
  json["subject"][0].erase("digest");
  EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation");
}

TEST(Statement, MalformedArtifactDigest_IsRefusedEverywhere) {
  for (const auto& [algorithm, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"assay-tree-v1-sha256", std::string(64, 'A')},
           {"assay-tree-v1-sha256", std::string(63, 'a')},
           {"assay-tree-v1-sha256", std::string(96, 'a')},
           {"assay-tree-v1-sha384", std::string(64, 'a')},
           {"assay-tree-v1-sha512", std::string(128, 'a')},
           {"assay-tree-v1-", std::string(64, 'a')}}) {
    Json json = foreign();
    json["subject"][0]["digest"][algorithm] = value;
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "invalid-digest") << algorithm;
    json["predicateType"] = "https://assay.dev/lifecycle/v1";
    EXPECT_FALSE(parse_statement(bytes_of(json))) << algorithm;
  }
}

// A seed of PyTorch has 64 bits. The value is neither a number nor a text, so nothing rounds it,
// and nothing takes it for the text of its digits.
TEST(Statement, LargeIntegersOfForeignPredicates_AreKeptApart) {
  for (const std::string digits :
       {"13938349572398471239", "9007199254740992", "-9007199254740992",
        "123456789012345678901234567890", "1e20", "9007199254740993.0"}) {
    std::string text = foreign().dump();
    text.replace(text.find("1.5"), 3, digits);
    const auto statement = parse_statement(as_bytes(text));
    ASSERT_TRUE(statement) << digits << to_string(statement.error());
    const Json& kept = statement->predicate["unknown"]["kept"];
    EXPECT_EQ(large_integer(kept), digits);
    EXPECT_FALSE(kept.is_number() || kept.is_string()) << digits;
    EXPECT_NE(kept, Json(digits));
    EXPECT_EQ(code_of(encode_statement(*statement)), "malformed-json") << "it would be another one";
  }
  std::string text = foreign().dump();
  text.replace(text.find("1.5"), 3, "1e400");
  EXPECT_EQ(code_of(parse_statement(as_bytes(text))), "limit-exceeded") << "beyond a double";
}

TEST(Statement, LargeIntegersElsewhere_AreRefused) {
  for (const char* type : {"https://assay.dev/lifecycle/v1", "https://assay.dev/unknown/v9"}) {
    Json json = own();
    json["predicateType"] = type;
    json["predicate"]["seed"] = 13938349572398471239U;
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "limit-exceeded") << type;
  }
  // Where a text is expected, digits without quotation marks are none.
  for (const char* place :
       {"/predicateType", "/_type", "/subject/0/name", "/predicate", "/subject/0/digest/sha256"}) {
    Json json = foreign();
    json[Json::json_pointer(place)] = 13938349572398471239U;
    EXPECT_EQ(code_of(parse_statement(bytes_of(json))), "schema-violation") << place;
  }
}

TEST(Statement, StrictJson_IsAskedFor) {
  const std::string text = foreign().dump();
  EXPECT_EQ(code_of(parse_statement(as_bytes(text + "x"))), "malformed-json");
  std::string twice = text;
  twice.insert(1, "\"predicateType\":\"a:b\",");
  EXPECT_EQ(code_of(parse_statement(as_bytes(twice))), "duplicate-key");
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_statement(as_bytes(std::string_view(text).substr(0, size)))) << size;
  }
}

TEST(Statement, Encode_IsCanonicalAndReadsBack) {
  const Statement statement = *parse_statement(bytes_of(own()));
  const auto encoded = encode_statement(statement);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(*encoded, *canonical_json(own()));
  EXPECT_EQ(encode_statement(*parse_statement(as_bytes(*encoded))), *encoded);
}

// Writer and reader have one limit.
TEST(Statement, LongestStatement_IsWrittenAndRead_AndNoLongerOne) {
  auto statement = parse_statement(bytes_of(foreign()));
  ASSERT_TRUE(statement);
  statement->predicate = {{"x", ""}};
  const std::size_t rest = encode_statement(*statement).value().size();
  std::string& filled = statement->predicate["x"].get_ref<std::string&>();
  filled.assign(kMaxStatementBytes - rest, 'x');
  const auto longest = encode_statement(*statement);
  ASSERT_TRUE(longest) << to_string(longest.error());
  EXPECT_EQ(longest->size(), kMaxStatementBytes);
  EXPECT_TRUE(parse_statement(as_bytes(*longest)));
  EXPECT_EQ(code_of(parse_statement(as_bytes(*longest + " "))), "limit-exceeded");
  filled += 'x';
  EXPECT_EQ(code_of(encode_statement(*statement)), "limit-exceeded");
}

TEST(Statement, OneOfTheMostMemory_IsWrittenAndRead_AndNoLargerOne) {
  auto statement = parse_statement(bytes_of(foreign()));
  ASSERT_TRUE(statement);
  statement->predicate = {{"x", Json::array()}};
  std::string text = encode_statement(*statement).value();
  constexpr std::string_view kItem = "[[],[]],";
  const std::size_t each = json_memory(Json::parse(kItem.substr(0, kItem.size() - 1)));
  const std::size_t fits = kMaxStatementMemory / each - 100;
  std::string items;
  for (std::size_t i = 0; i < fits; ++i) {
    items += kItem;
  }
  items.back() = ']';
  const std::string begin = R"({"x":[)";
  text.replace(text.find(begin) + begin.size(), 1, items);
  const auto taken = parse_statement(as_bytes(text));
  ASSERT_TRUE(taken) << to_string(taken.error());
  for (int i = 0; i < 100; ++i) {
    text.insert(text.find(begin) + begin.size(), kItem);
  }
  EXPECT_EQ(code_of(parse_statement(as_bytes(text))), "limit-exceeded");
  *statement = *taken;
  const Json item = statement->predicate["x"][0];
  for (int i = 0; i < 100; ++i) {
    statement->predicate["x"].push_back(item);
  }
  EXPECT_EQ(code_of(encode_statement(*statement)), "limit-exceeded");
}

TEST(Statement, EncodeOfWhatNobodyWouldRead_IsRefused) {
  Statement statement = *parse_statement(bytes_of(own()));
  statement.subjects.clear();
  EXPECT_EQ(code_of(encode_statement(statement)), "schema-violation");
  statement = *parse_statement(bytes_of(own()));
  statement.subjects[0].digest["assay-tree-v1-sha256"] = "x";
  EXPECT_EQ(code_of(encode_statement(statement)), "invalid-digest");
  statement = *parse_statement(bytes_of(own()));
  statement.predicate_type = "nothing";
  EXPECT_EQ(code_of(encode_statement(statement)), "schema-violation");
}

TEST(Subject, Artifact_IsFoundAmongOtherDigests) {
  const std::string root(64, 'b');
  const Subject subject{"x", {{"sha256", root}, {"assay-tree-v1-sha256", root}}};
  EXPECT_EQ(subject.artifact()->text(), "assay-tree-v1-sha256:" + root);
  EXPECT_EQ((Subject{"x", {{"assay-tree-v1-sha256", "no"}}}).artifact(), std::nullopt);
}

TEST(ModelName, GoodNames_AreTaken) {
  for (const std::string& name : {std::string("a"), std::string("acme/demo-llm"),
                                  std::string("a.b_c-d/0/x9"), std::string(253, 'a')}) {
    EXPECT_TRUE(check_model_name(name)) << name;
  }
}

TEST(ModelName, OtherNames_AreRefused) {
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("Acme"), std::string("a b"), std::string("-a"), std::string("a-"),
        std::string("a/.b"), std::string("."), std::string(".."), std::string("a/../b"),
        std::string("a:b"), std::string("a@b"), std::string("\xC3\xA9"), std::string("a\n"),
        std::string("a\0", 2), std::string(254, 'a')}) {
    EXPECT_EQ(code_of(check_model_name(name)), "schema-violation") << name;
  }
}

TEST(Namespace, Covers_WholePartsOnly) {
  EXPECT_TRUE(namespace_covers("*", "acme/x"));
  EXPECT_TRUE(namespace_covers("*", ""));
  EXPECT_TRUE(namespace_covers("acme", "acme"));
  EXPECT_TRUE(namespace_covers("acme", "acme/x/y"));
  EXPECT_TRUE(namespace_covers("acme/x", "acme/x"));
  for (const auto& [pattern, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"", ""},
                                                                  {"", "acme"},
                                                                  {"acme", ""},
                                                                  {"acme", "acmex"},
                                                                  {"acme", "acme-x"},
                                                                  {"acme/x", "acme"},
                                                                  {"acme/", "acme/x"},
                                                                  {"a*", "acme"},
                                                                  {"**", "acme"},
                                                                  {"acme/*", "acme/x"}}) {
    EXPECT_FALSE(namespace_covers(pattern, name)) << pattern << " " << name;
  }
}

// Subjects of foreign statements have names of any form: each reads as what it leads to.
TEST(Namespace, NamesOfAnyForm_AreNormalisedFirst) {
  for (const char* name : {"acme/", "ACME/x", "acme//x", "./acme/x", "acme/./x", "other/../acme/x",
                           "%61cme/x", "acme%2Fx", "Acme/%41"}) {
    EXPECT_TRUE(namespace_covers("acme", name)) << name;
  }
  for (const char* name : {"acme/../other", "acme/%2e%2e/other", "acme/%2E%2E%2Fother",
                           "acme%2f..%2fother", "acme/x/../../other", "acme/../../acme",
                           "../acme/x", "acme/%252e%252e/other", "acme\\..\\x", "acme/%5c",
                           "acme/%", "acme/%zz", "acme/x%00", "acme /x", "acme/..", "OTHER/acme"}) {
    EXPECT_FALSE(namespace_covers("acme", name)) << name;
    EXPECT_TRUE(namespace_covers("*", name)) << name;
  }
  EXPECT_TRUE(namespace_covers("other", "acme/../other"));
}

TEST(Statement, DigestsOfKnownAlgorithms_HaveTheirForm) {
  const auto with = [](const std::string& algorithm, const std::string& value) {
    const Json json = {{"_type", "https://in-toto.io/Statement/v1"},
                       {"predicateType", "https://slsa.dev/provenance/v1"},
                       {"subject", {{{"name", "a"}, {"digest", {{algorithm, value}}}}}}};
    return code_of(parse_statement(as_bytes(json.dump())));
  };
  const std::string hex(64, 'a');
  EXPECT_EQ(with("sha256", hex), "ok");
  EXPECT_EQ(with("sha1", std::string(40, '0')), "ok");
  EXPECT_EQ(with("gitCommit", std::string(40, '0')), "ok");
  EXPECT_EQ(with("gitCommit", hex), "ok");
  EXPECT_EQ(with("dirHash", "h1:abc="), "ok");
  for (const auto& [algorithm, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"sha256", std::string(64, 'A')},
           {"sha256", std::string(63, 'a')},
           {"sha256", std::string(64, 'g')},
           {"sha256", "sha256:" + hex},
           {"sha512", hex},
           {"gitCommit", std::string(41, '0')},
           {"SHA256", hex},
           {"sha-256", hex},
           {"Sha3-256", hex},
           {"gitcommit", hex},
           {"ASSAY-tree-v1-sha256", hex},
           {"assay_tree_v1_sha256", hex},
           {"assay-tree-v1-sha256", "aa"}}) {
    EXPECT_EQ(with(algorithm, value), "invalid-digest") << algorithm << " " << value;
  }
}

TEST(Statement, Version01_IsTakenBesideForeignPredicates) {
  const auto with = [](const std::string& type, const std::string& predicate_type) {
    const Json json = {
        {"_type", type},
        {"predicateType", predicate_type},
        {"predicate", {{"stage", "evaluate"}}},
        {"subject", {{{"name", "a"}, {"digest", {{"sha256", std::string(64, 'a')}}}}}}};
    return code_of(parse_statement(as_bytes(json.dump())));
  };
  EXPECT_EQ(with("https://in-toto.io/Statement/v0.1", "https://slsa.dev/provenance/v0.2"), "ok");
  EXPECT_EQ(with("https://in-toto.io/Statement/v0.2", "https://slsa.dev/provenance/v0.2"),
            "schema-violation");
  EXPECT_EQ(with("https://in-toto.io/Statement/v0.1", "https://assay.dev/lifecycle/v1"),
            "schema-violation");
}

}  // namespace
}  // namespace assay
