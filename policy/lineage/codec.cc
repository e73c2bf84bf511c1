// SPDX-License-Identifier: Apache-2.0
// The canonical document of a lineage.
#include <algorithm>

#include "policy/fact_codec.h"
#include "policy/json_reader.h"
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
  ASSAY_TRY(check_members(json, where, {"role", "digests"}, {"name"}));
  const Reader in{json, where};
  LineageInput input;
  ASSAY_ASSIGN(input.role, in.text("role"));
  ASSAY_ASSIGN(input.digests, in.list<std::string>("digests", text_of));
  if (json.contains("name")) {
    ASSAY_ASSIGN(input.name, in.text("name"));
  }
  return input;
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
    json["inputs"].push_back(std::move(one));
  }
  if (statement.unread) {
    json["unread"] = true;
  }
  if (statement.licence) {
    json["licence"] = *statement.licence;
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
  return json;
}

Result<LineageStatement> lineage_statement_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"fact", "subjects"},
                          {"manifest", "inputs", "unread", "licence"}));
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
  return statement;
}

Result<std::shared_ptr<const Lineage>> lineage_from_json(const Json& json,
                                                         const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"start", "statements"}, {"reached"}));
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
  return Lineage::make(std::move(start), std::move(statements), std::move(reached));
}

}  // namespace assay::policy
