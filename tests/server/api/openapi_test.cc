// SPDX-License-Identifier: Apache-2.0
// schemas/openapi.yaml against the program: routes, roles, parameters, media types, limits, codes.

#include "embedded/openapi.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "schemas/reason.h"
#include "server/api/route.h"
#include "tests/server/api/documented.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using Names = std::set<std::string>;

const Json& document() {
  static const Json json = parse_json(embedded::kOpenapiJson).value();
  return json;
}

// Follows "#/components/...".
const Json& resolved(const Json& node) {
  if (!node.contains("$ref")) {
    return node;
  }
  const auto pointer = node["$ref"].get<std::string>().substr(1);
  return document().at(Json::json_pointer(pointer));
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = static_cast<char>(std::tolower(c));
  }
  return result;
}

// "GET /log/tile/{level}/{index...}" is "get /log/tile/{level}/{index}" in the document.
std::string key_of(const Route& route) {
  std::string path = route.pattern.path;
  if (const auto dots = path.find("..."); dots != std::string::npos) {
    path.erase(dots, 3);
  }
  return lowered(name(route.pattern.method)) + " " + path;
}

std::map<std::string, const Json*> operations() {
  std::map<std::string, const Json*> found;
  for (const auto& [path, methods] : document()["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      found.emplace(method + " " + path, &operation);
    }
  }
  return found;
}

const Json& operation_of(const Route& route) { return *operations().at(key_of(route)); }

Names parameters(const Json& operation, const std::string& place) {
  Names names;
  for (const Json& parameter : operation.value("parameters", Json::array())) {
    const Json& own = resolved(parameter);
    if (own["in"] == place) {
      names.insert(own["name"].get<std::string>());
    }
  }
  return names;
}

template <typename Range>
Names to_names(const Range& range) {
  return Names(range.begin(), range.end());
}

Names keys(const Json& object) {
  Names names;
  for (const auto& [key, value] : object.items()) {
    names.insert(key);
  }
  return names;
}

Names captures(const std::string& path) {
  Names names;
  for (std::size_t open = 0; (open = path.find('{', open)) != std::string::npos; ++open) {
    std::string name = path.substr(open + 1, path.find('}', open) - open - 1);
    names.insert(name.ends_with("...") ? name.substr(0, name.size() - 3) : name);
  }
  return names;
}

Names roles(const Access& access) {
  switch (access.kind) {
    case Access::Kind::kPublic:
      return {"public"};
    case Access::Kind::kAnyRole:
      return {"any"};
    case Access::Kind::kRoles:
      break;
  }
  Names names;
  for (const AccessRole role : access.roles) {
    names.insert(std::string(name(role)));
  }
  return names;
}

TEST(OpenApi, Routes_AreTheDocumentsOperations) {
  Names served;
  for (const Route& route : routes()) {
    EXPECT_TRUE(served.insert(key_of(route)).second) << key_of(route) << " twice";
  }
  Names described;
  for (const auto& [key, operation] : operations()) {
    described.insert(key);
  }
  EXPECT_EQ(served, described);
}

TEST(OpenApi, Roles_AreThoseOfTheRoutes) {
  for (const Route& route : routes()) {
    const Json& operation = operation_of(route);
    EXPECT_EQ(operation["x-roles"].get<Names>(), roles(route.access)) << key_of(route);
    EXPECT_EQ(operation["x-listener"],
              route.pattern.listener == Listener::kApi ? "api" : "admission");
    EXPECT_EQ(operation.contains("security"), route.access.kind == Access::Kind::kPublic);
  }
}

TEST(OpenApi, Parameters_AreThoseOfTheRoutes) {
  for (const Route& route : routes()) {
    const Json& operation = operation_of(route);
    EXPECT_EQ(parameters(operation, "query"), to_names(route.parameters)) << key_of(route);
    EXPECT_EQ(parameters(operation, "path"), captures(route.pattern.path)) << key_of(route);
  }
}

TEST(OpenApi, Bodies_AreThoseOfTheRoutes) {
  for (const Route& route : routes()) {
    const Json& operation = operation_of(route);
    EXPECT_EQ(operation.value("x-max-body-bytes", std::size_t{0}), route.body_limit)
        << key_of(route);
    const Json body = operation.contains("requestBody") ? resolved(operation["requestBody"])
                                                        : Json{{"content", Json::object()}};
    EXPECT_EQ(keys(body["content"]), to_names(route.consumes)) << key_of(route);
  }
}

TEST(OpenApi, Answers_AreThoseOfTheRoutes) {
  for (const Route& route : routes()) {
    const Json& answers = operation_of(route)["responses"];
    const Names types = keys(answers[answers.contains("200") ? "200" : "201"]["content"]);
    const Names produced = route.produces.empty() ? Names{"*/*"} : to_names(route.produces);
    EXPECT_EQ(types, produced) << key_of(route);
    EXPECT_TRUE(answers.contains("default")) << key_of(route);
    EXPECT_TRUE(answers.contains("400") && answers.contains("500") && answers.contains("503"));
    EXPECT_EQ(answers.contains("411"), route.pattern.method != Method::kGet) << key_of(route);
    EXPECT_EQ(answers.contains("401"), route.access.kind != Access::Kind::kPublic);
    EXPECT_EQ(answers.contains("403"), route.access.kind != Access::Kind::kPublic);
    EXPECT_EQ(answers.contains("413") && answers.contains("415"), !route.consumes.empty())
        << key_of(route);
  }
}

TEST(OpenApi, ErrorCodes_AreTheTable) {
  std::vector<std::string> table;
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    table.emplace_back(info(static_cast<ErrorCode>(i)).code);
  }
  EXPECT_EQ(document()["components"]["schemas"]["ErrorCode"]["enum"], Json(table));
}

TEST(OpenApi, Reasons_AreTheTable) {
  std::vector<std::string> table;
  for (std::size_t i = 0; i < reason_count(); ++i) {
    table.emplace_back(info(static_cast<Reason>(i)).code);
  }
  EXPECT_EQ(document()["components"]["schemas"]["Reason"]["enum"], Json(table));
}

TEST(OpenApi, Statuses_HaveACodeInTheTable) {
  std::set<int> table;
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    table.insert(info(static_cast<ErrorCode>(i)).http_status);
  }
  for (const auto& [key, operation] : operations()) {
    for (const auto& [status, answer] : (*operation)["responses"].items()) {
      if (status.starts_with('4') || status.starts_with('5')) {
        EXPECT_TRUE(table.contains(std::stoi(status))) << key << " " << status;
      }
    }
  }
}

TEST(OpenApi, AccessRoles_AreTheTable) {
  Names table;
  for (const AccessRole role :
       {AccessRole::kReader, AccessRole::kSubmitter, AccessRole::kWorker, AccessRole::kPolicyAuthor,
        AccessRole::kPolicyApprover, AccessRole::kDecider, AccessRole::kAdmission,
        AccessRole::kAuditor, AccessRole::kMonitor, AccessRole::kAdmin}) {
    table.insert(std::string(name(role)));
  }
  EXPECT_EQ(document()["components"]["schemas"]["Role"]["enum"].get<Names>(), table);
}

void check_references(const Json& node) {
  if (node.is_object() && node.contains("$ref")) {
    const auto reference = node["$ref"].get<std::string>();
    ASSERT_TRUE(reference.starts_with("#/")) << reference;
    EXPECT_TRUE(document().contains(Json::json_pointer(reference.substr(1)))) << reference;
  }
  for (const Json& part : node) {
    if (part.is_structured()) {
      check_references(part);
    }
  }
}

TEST(OpenApi, References_Resolve) { check_references(document()); }

TEST(OpenApi, OperationIds_AreUnique) {
  Names ids;
  for (const auto& [key, operation] : operations()) {
    EXPECT_TRUE(ids.insert((*operation)["operationId"].get<std::string>()).second) << key;
  }
}

// --- what compares answers with the document

TEST(OpenApiAnswers, WhatIsNotDocumented_IsTold) {
  const auto answer = [](int status, const char* type, const std::string& body) {
    return test::not_documented(Listener::kApi, Method::kGet, "/version", {status, type, {}, body});
  };
  const char* const kJson = "application/json";
  const std::string good = R"({"version":"1.2.3","api":"v1"})";
  EXPECT_EQ(answer(200, kJson, good), "");
  EXPECT_EQ(answer(200, kJson, R"({"version":"1.2.3","api":"v1","more":1})"),
            "/more is not allowed");
  EXPECT_EQ(answer(200, kJson, R"({"version":"1.2.3"})"), " lacks api");
  EXPECT_EQ(answer(200, kJson, R"({"version":1,"api":"v1"})"),
            "/version is 1, which is against type \"string\"");
  EXPECT_EQ(answer(200, kJson, "{"), "a body that is no JSON");
  EXPECT_EQ(answer(200, "text/html", good), "the media type text/html");
  EXPECT_EQ(answer(202, kJson, good), "status 202 ");
  EXPECT_EQ(answer(404, kJson, R"({"code":"not-found"})"), "status 404 not-found");
  const test::ApiAnswer any{200, kJson, {}, "{}"};
  EXPECT_EQ(test::not_documented(Listener::kApi, Method::kGet, "/nothing", any), "");
}

TEST(OpenApiAnswers, EachKeyword_Counts) {
  const auto fits = [](const char* schema, const char* value) {
    return test::violation(Json::parse(schema), Json::parse(value)).empty();
  };
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"({"enum":[1,2]})", "2", "3"},
      {R"({"const":"a"})", R"("a")", R"("b")"},
      {R"({"type":["string","null"]})", "null", "1"},
      {R"({"minimum":1,"maximum":2})", "2", "0"},
      {R"({"maxLength":1})", R"("\u00e4")", R"("ab")"},
      {R"({"minLength":1})", R"("a")", R"("")"},
      {R"({"pattern":"^a+$"})", R"("aa")", R"("ab")"},
      {R"({"format":"date-time"})", R"("2026-03-01T12:00:00Z")", R"("today")"},
      {R"({"minItems":1,"maxItems":2})", "[1]", "[1,2,3]"},
      {R"({"uniqueItems":true})", "[1,2]", "[1,1]"},
      {R"({"items":{"type":"integer"}})", "[1]", R"([1,"2"])"},
      {R"({"minProperties":1})", R"({"a":1})", "{}"},
      {R"({"propertyNames":{"maxLength":1}})", R"({"a":1})", R"({"ab":1})"},
      {R"({"dependentRequired":{"a":["b"]}})", R"({"a":1,"b":1})", R"({"a":1})"},
      {R"({"dependencies":{"a":["b"]}})", R"({"a":1,"b":1})", R"({"a":1})"},
      {R"({"oneOf":[{"type":"null"},{"minimum":1}]})", "1", "0"},
      {R"({"anyOf":[{"minimum":1},{"minimum":2}]})", "2", "0"},
      {R"({"format":"uri"})", R"("about:blank")", R"("blank")"},
      {R"({"not":{"type":"null"}})", "1", "null"},
      {R"({"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}})",
       R"({"a":1,"b":1})", R"({"a":1,"c":1})"},
      {R"({"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false})", R"({"a":1})",
       R"({"a":1,"b":1})"},
      {R"({"$ref":"#/components/schemas/Role"})", R"("reader")", R"("king")"}};
  for (const auto& [schema, good, bad] : cases) {
    EXPECT_TRUE(fits(schema, good)) << schema;
    EXPECT_FALSE(fits(schema, bad)) << schema;
  }
}

TEST(OpenApiAnswers, KeywordThatIsNotKnown_IsAViolationForEachValue) {
  for (const char* schema :
       {R"({"anyThing":1})", R"({"exclusiveMinimum":0})", R"({"multipleOf":1})",
        R"({"patternProperties":{}})", R"({"contains":{}})", R"({"items":[{}]})",
        R"({"format":"email"})", R"({"minimum":0,"unevaluatedItems":false})"}) {
    for (const char* value : {"{}", "[]", R"("a@b")", "1", "1.5", "true", "null"}) {
      EXPECT_TRUE(test::violation(Json::parse(schema), Json::parse(value)).ends_with("known here"))
          << schema << " " << value;
    }
  }
}

// --- what the document says of answers

using Visit = std::function<void(const Json& schema, bool closed, const std::string& at)>;

// Whether no member can be there that the schema does not speak of.
bool closes(const Json& schema) {
  if (!schema.is_object()) {
    return false;
  }
  const Json all = schema.value("allOf", Json::array());
  return schema.contains("additionalProperties") || schema.contains("unevaluatedProperties") ||
         (schema.contains("$ref") && closes(resolved(schema))) ||
         std::any_of(all.begin(), all.end(), closes);
}

// Visits a schema and all within it, each once. `closed`: a schema around it for the same value
// closes it.
class Walk {
 public:
  explicit Walk(Visit visit) : visit_(std::move(visit)) {}

  void into(const Json& schema, bool closed, const std::string& at) {
    if (!schema.is_object()) {
      return;
    }
    closed = closed || closes(schema);
    if (!seen_.emplace(&schema, closed).second) {
      return;
    }
    visit_(schema, closed, at);
    if (schema.contains("$ref")) {
      into(resolved(schema), closed, schema["$ref"].get<std::string>());
    }
    for (const auto& [key, rule] : schema.items()) {
      inside(key, rule, closed, at + "/" + key);
    }
  }

 private:
  void inside(const std::string& key, const Json& rule, bool closed, const std::string& at) {
    static const Names kSame = {"allOf", "anyOf", "oneOf"};
    static const Names kBranches = {"then", "else"};
    static const Names kAsked = {"if", "not", "propertyNames"};  // says what is looked for
    static const Names kWithin = {"items", "additionalProperties", "unevaluatedProperties"};
    static const Names kByName = {"properties", "definitions"};
    if (kSame.contains(key)) {
      for (std::size_t i = 0; i < rule.size(); ++i) {
        into(rule[i], closed, at + "/" + std::to_string(i));
      }
    } else if (kBranches.contains(key)) {
      into(rule, closed, at);
    } else if (kAsked.contains(key)) {
      into(rule, true, at);
    } else if (kWithin.contains(key)) {
      into(rule, false, at);
    } else if (kByName.contains(key)) {
      for (const auto& [name, schema] : rule.items()) {
        into(schema, false, at + "/" + name);
      }
    }
  }

  Visit visit_;
  std::set<std::pair<const Json*, bool>> seen_;
};

// Where the walk from the answers of all operations finds what `is_wrong`.
Names wrong_in_answers(const std::function<bool(const Json& schema, bool closed)>& is_wrong) {
  Names found;
  Walk walk([&](const Json& schema, bool closed, const std::string& at) {
    if (is_wrong(schema, closed)) {
      found.insert(at);
    }
  });
  for (const auto& [key, operation] : operations()) {
    for (const auto& [status, answer] : (*operation)["responses"].items()) {
      if (!resolved(answer).contains("content")) {
        continue;
      }
      for (const auto& [type, body] : resolved(answer)["content"].items()) {
        if (body.contains("schema")) {
          walk.into(body["schema"], false, key + " " + status);
        }
      }
    }
  }
  return found;
}

// The service knows what it answers. A comment says why an object is open all the same.
TEST(OpenApi, ObjectsOfAnswers_AreClosedOrSayWhyNot) {
  EXPECT_EQ(wrong_in_answers([](const Json& schema, bool closed) {
              const bool object = schema.value("type", Json()) == "object";
              return (object || schema.contains("properties")) && !closed &&
                     !schema.contains("$comment");
            }),
            Names());
}

TEST(OpenApi, KeywordsOfAnswers_AreKnown) {
  EXPECT_EQ(wrong_in_answers([](const Json& schema, bool) {
              bool known = true;
              for (const auto& [key, rule] : schema.items()) {
                known = known && test::knows_keyword(key, rule);
              }
              return !known;
            }),
            Names());
}

}  // namespace
}  // namespace assay::server
