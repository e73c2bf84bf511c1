// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/own_suite.h"

#include <utility>

#include "cli/decisions/verify_export.h"
#include "client/files.h"
#include "schemas/core/json_at.h"

namespace assay::cli {

namespace {

Result<ExportedCase> newest_case(Api& api, const std::string& model) {
  Query query;
  query.add(model.starts_with("assay-tree-v1-") ? "subject" : "model", model);
  query.add("order", "newest");
  query.add("limit", "1");
  ASSAY_ASSIGN(const Json answer, api.get("/v1/decisions" + query.text()));
  const auto& items = list_at(answer, "items");
  if (items.empty()) {
    return fail(ErrorCode::kNotFound,
                "Nobody asked about this model yet; ask once with 'assay decide', and try again",
                model);
  }
  ASSAY_ASSIGN(const Bytes bytes,
               api.get_bytes("/v1/decisions/" + text_at(items.front(), "id") + "/export",
                             client::kJsonType));
  ASSAY_ASSIGN(const DecisionExport exported, parse_decision_export(bytes));
  return read_exported_case(exported);
}

Json shared_members(const ExportedCase& found) {
  Json facts = Json::array();
  for (const policy::Facts& model : found.models) {
    facts.push_back(policy::to_json(model));
  }
  return {{"facts", facts.size() == 1 ? Json(facts.front()) : std::move(facts)},
          {"workload", policy::to_json(found.workload)},
          {"point", name(found.point)},
          {"now", to_rfc3339(found.evaluated_at)}};
}

// The cases of a file that share their facts, or the one of the decision.
Result<Json> cases_of(const std::string& suite_file) {
  if (suite_file.empty()) {
    return Json::array({{{"name", "as the newest decision has it"}}});
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(suite_file));
  ASSAY_ASSIGN(const Json suite, parse_json(bytes));
  if (!suite.is_object() || !suite.contains("cases") || !suite.at("cases").is_array()) {
    return fail(ErrorCode::kUsage, "Give a suite: {\"facts\",...,\"cases\":[...]}", suite_file);
  }
  return suite.at("cases");
}

}  // namespace

Result<OwnSuite> own_suite(Api& api, const std::string& model, const std::string& suite_file,
                           const PolicyCase& base) {
  ASSAY_ASSIGN(const Json cases, cases_of(suite_file));
  ASSAY_ASSIGN(const ExportedCase found, newest_case(api, model));
  OwnSuite own{.document = shared_members(found), .cases = {}, .left_out = {}};
  Json kept = Json::array();
  for (const Json& one : cases) {
    Json document = own.document;
    document["cases"] = Json::array({one});
    const std::string text = document.dump();
    auto read = parse_cases(as_bytes(text), base);
    const bool own_facts = one.is_object() && one.contains("facts");
    const std::string& where = read ? std::string() : read.error().where;
    if (own_facts || where.starts_with("/cases/0/change/")) {
      own.left_out.push_back(text_at(one, "name") + (own_facts ? ": it has facts of its own"
                                                               : ": its change does not fit"));
      continue;
    }
    if (!read) {
      return std::unexpected(std::move(read).error());
    }
    own.cases.push_back(std::move(read->front()));
    kept.push_back(one);
  }
  own.document["cases"] = std::move(kept);
  return own;
}

}  // namespace assay::cli
