// SPDX-License-Identifier: Apache-2.0
// The canonical document of a lineage.
#include <algorithm>

#include "policy/facts/fact_codec.h"
#include "policy/facts/json_reader.h"
#include "policy/lineage.h"

namespace assay::policy {
namespace {

using reading::check_members;
using reading::Reader;
using reading::text_of;
using reading::violation;

Result<LineageSubject> subject_from(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"digest", "names"}));
  const Reader in{json, where};
  LineageSubject subject;
  ASSAY_ASSIGN(subject.digest, in.text("digest"));
  ASSAY_ASSIGN(subject.names, in.list<std::string>("names", text_of));
  return subject;
}

Result<LineageInput> input_from(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"role", "digests"}, {"name", "also"}));
  const Reader in{json, where};
  LineageInput input;
  ASSAY_ASSIGN(input.role, in.text("role"));
  ASSAY_ASSIGN(input.digests, in.list<std::string>("digests", text_of));
  if (json.contains("name")) {
    ASSAY_ASSIGN(input.name, in.text("name"));
  }
  if (json.contains("also")) {
    ASSAY_ASSIGN(input.also, in.list<std::string>("also", text_of));
  }
  return input;
}

Result<std::vector<std::string>> digests_from(const Json& json, const std::string& where) {
  if (!json.is_array()) {
    return violation("the digests of a subject are a list", where);
  }
  std::vector<std::string> digests;
  for (const Json& one : json) {
    ASSAY_ASSIGN(std::string digest, text_of(one, where));
    digests.push_back(std::move(digest));
  }
  return digests;
}

Result<LineageAside> aside_from(const Json& json, const std::string& where) {
  ASSAY_TRY(
      check_members(json, where, {"digest", "key", "identity", "names", "statements"}, {"makes"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(const std::string key_text, in.text("key"));
  const auto key = KeyId::parse(key_text);
  if (!key || !json["statements"].is_number_unsigned()) {
    return violation("what was left out of a lineage is said by a key, in a number of statements",
                     where);
  }
  LineageAside aside{{}, *key, {}, {}, json["statements"].get<std::uint64_t>(), false};
  ASSAY_ASSIGN(aside.digest, in.text("digest"));
  ASSAY_ASSIGN(aside.identity, in.text("identity"));
  ASSAY_ASSIGN(aside.names, in.list<std::string>("names", text_of));
  if (json.contains("makes")) {
    ASSAY_ASSIGN(aside.makes, in.flag("makes"));
  }
  return aside;
}

bool ascend(const std::vector<LineageSubject>& subjects) {
  return std::is_sorted(subjects.begin(), subjects.end(),
                        [](const auto& a, const auto& b) { return a.digest < b.digest; });
}

}  // namespace

Json to_json(const LineageStatement& statement) {
  Json json = {{"fact", to_json(statement.fact)}, {"subjects", Json::array()}};
  for (const LineageSubject& subject : statement.subjects) {
    json["subjects"].push_back({{"digest", subject.digest}, {"names", subject.names}});
  }
  if (statement.manifest) {
    json["manifest"] = true;
  }
  for (const LineageInput& input : statement.inputs) {
    Json one = {{"role", input.role}, {"digests", input.digests}};
    if (!input.name.empty()) {
      one["name"] = input.name;
    }
    if (!input.also.empty()) {
      one["also"] = input.also;
    }
    json["inputs"].push_back(std::move(one));
  }
  if (statement.unread) {
    json["unread"] = true;
  }
  if (statement.licence) {
    json["licence"] = *statement.licence;
  }
  if (!statement.together.empty()) {
    json["together"] = statement.together;
  }
  return json;
}

Json to_json(const LineageAside& aside) {
  Json json = {{"digest", aside.digest},
               {"key", aside.key.text()},
               {"identity", aside.identity},
               {"names", aside.names},
               {"statements", aside.statements}};
  if (aside.makes) {
    json["makes"] = true;
  }
  return json;
}

Json to_json(const Lineage& lineage) {
  Json json = {{"start", lineage.start()}, {"statements", Json::array()}};
  for (const auto& statement : lineage.statements()) {
    json["statements"].push_back(to_json(*statement));
  }
  if (!lineage.reached().empty()) {
    json["reached"] = lineage.reached();
  }
  for (const LineageAside& aside : lineage.rest().aside) {
    json["aside"].push_back(to_json(aside));
  }
  if (!lineage.rest().cut.empty()) {
    json["cut"] = lineage.rest().cut;
  }
  return json;
}

Result<LineageStatement> lineage_statement_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"fact", "subjects"},
                          {"manifest", "inputs", "unread", "licence", "together"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(StatementFact fact, statement_fact_from_json(json["fact"], in.place("fact")));
  LineageStatement statement{std::move(fact), false, {}, {}};
  ASSAY_ASSIGN(statement.subjects, in.list<LineageSubject>("subjects", subject_from));
  if (!ascend(statement.subjects)) {
    return violation("subjects are ordered by digest", in.place("subjects"));
  }
  if (json.contains("inputs")) {
    ASSAY_ASSIGN(statement.inputs, in.list<LineageInput>("inputs", input_from));
  }
  if (json.contains("manifest")) {
    ASSAY_ASSIGN(statement.manifest, in.flag("manifest"));
  }
  if (json.contains("unread")) {
    ASSAY_ASSIGN(statement.unread, in.flag("unread"));
  }
  if (json.contains("licence")) {
    ASSAY_ASSIGN(statement.licence, in.text("licence"));
  }
  if (json.contains("together")) {
    ASSAY_ASSIGN(statement.together, in.list<std::vector<std::string>>("together", digests_from));
  }
  return statement;
}

Result<std::shared_ptr<const Lineage>> lineage_from_json(const Json& json,
                                                         const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"start", "statements"}, {"reached", "aside", "cut"}));
  const Reader in{json, where};
  ASSAY_ASSIGN(std::string start, in.text("start"));
  ASSAY_ASSIGN(auto read, in.list<LineageStatement>("statements", lineage_statement_from_json));
  Lineage::Statements statements;
  statements.reserve(read.size());
  for (LineageStatement& statement : read) {
    statements.push_back(std::make_shared<const LineageStatement>(std::move(statement)));
  }
  std::vector<std::string> reached;
  if (json.contains("reached")) {
    ASSAY_ASSIGN(reached, in.list<std::string>("reached", text_of));
  }
  LineageRest rest;
  if (json.contains("aside")) {
    ASSAY_ASSIGN(rest.aside, in.list<LineageAside>("aside", aside_from));
  }
  if (json.contains("cut")) {
    ASSAY_ASSIGN(rest.cut, in.list<std::string>("cut", text_of));
  }
  return Lineage::make(std::move(start), std::move(statements), std::move(reached),
                       std::move(rest));
}

}  // namespace assay::policy
