// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/fill_decision.h"

#include <utility>
#include <vector>

#include "cli/verbs/verdict.h"
#include "schemas/statement.h"

namespace assay::cli {
namespace {

std::unexpected<Error> no_decision(const std::string& what) {
  return fail(ErrorCode::kSchemaViolation, "The service's answer lacks " + what);
}

bool fits(const Json& model, const ModelReference& wanted) {
  return (wanted.name.empty() || text_at(model, "name") == wanted.name) &&
         (!wanted.artifact || text_at(model, "artifact") == wanted.artifact->text());
}

// What makes a decision an allow that can be relied on now.
Status check_allows(const Json& decision, const std::string& name_space, Timestamp now) {
  const auto verdict = decision.find("verdict");
  const auto dry_run = decision.find("dry_run");
  if (verdict == decision.end() || dry_run == decision.end() || !dry_run->is_boolean()) {
    return no_decision("members of a decision");
  }
  if (!is_allowed(*verdict)) {
    return fail(ErrorCode::kConditionUndecided,
                "The decision is no allow: " + verdict_headline(*verdict));
  }
  if (dry_run->get<bool>()) {
    return fail(ErrorCode::kConditionUndecided, "The decision is a dry run");
  }
  if (const std::string until = text_at(*verdict, "valid_until"); !until.empty()) {
    ASSAY_ASSIGN(const Timestamp end, parse_rfc3339(until));
    if (now >= end) {
      return fail(ErrorCode::kConditionUndecided, "The decision held until " + until);
    }
  }
  const auto request = decision.find("request");
  if (!name_space.empty() &&
      (request == decision.end() || text_at(*request, "namespace") != name_space)) {
    return fail(ErrorCode::kConditionUndecided,
                "The decision is about a workload of another namespace than " + name_space);
  }
  return {};
}

}  // namespace

std::string ModelReference::text() const {
  if (!artifact) {
    return name;
  }
  return name.empty() ? artifact->text() : name + "@" + artifact->text();
}

Result<ModelReference> parse_model_reference(const std::string& text) {
  ModelReference reference;
  const std::size_t at = text.find('@');
  const std::string last = at == std::string::npos ? text : text.substr(at + 1);
  if (auto artifact = ArtifactId::parse(last)) {
    reference.artifact = *std::move(artifact);
    reference.name = at == std::string::npos ? "" : text.substr(0, at);
  } else if (at == std::string::npos) {
    reference.name = text;
  } else {
    return fail(ErrorCode::kUsage, "Behind @ stands the id of an artifact", text);
  }
  const bool only_artifact = at == std::string::npos && reference.artifact;
  if (!only_artifact && !check_model_name(reference.name)) {
    return fail(ErrorCode::kUsage, "Not the name of a model", text);
  }
  return reference;
}

Result<ArtifactId> artifact_of_decision(const Json& decision, const ModelReference& wanted,
                                        const std::string& name_space, Timestamp now) {
  if (!decision.is_object()) {
    return no_decision("the decision");
  }
  ASSAY_TRY(check_allows(decision, name_space, now));
  std::vector<std::string> found;
  for (const Json& model : list_at(decision, "models")) {
    if (fits(model, wanted)) {
      found.push_back(text_at(model, "artifact"));
    }
  }
  if (found.empty()) {
    return fail(ErrorCode::kSubjectMismatch,
                "The decision is not about " +
                    (wanted.text().empty() ? std::string("a model") : wanted.text()));
  }
  if (found.size() > 1) {
    return fail(ErrorCode::kUsage, "The decision is about several models; name one with --model");
  }
  return ArtifactId::parse(found.front());
}

Result<Json> fetch_decision(const Context& context, const DecisionFlags& flags,
                            const ModelReference& wanted) {
  ASSAY_ASSIGN(Api api, open_api(context, flags.connection));
  if (!flags.id.empty()) {
    ASSAY_ASSIGN(Json decision, api.get("/v1/decisions/" + percent_encode(flags.id)));
    return text_at(decision, "id") == flags.id ? Result<Json>(std::move(decision))
                                               : no_decision("the decision that was asked for");
  }
  ASSAY_ASSIGN(policy::Workload workload, workload_from(flags.workload));
  const std::string node = std::exchange(workload.node, {});
  Json question = {{"point", node.empty() ? "create" : "bind"},
                   {"dry_run", false},
                   {"model", wanted.text()},
                   {"workload", to_json(workload)}};
  if (!node.empty()) {
    question["node"] = node;
  }
  ASSAY_ASSIGN(Json answer,
               api.post("/v1/decisions", as_bytes(question.dump()), client::kJsonType, false));
  const auto selected = answer.find("selected");
  const auto decision = answer.find("decision");
  if (selected == answer.end() || !selected->is_boolean() || decision == answer.end()) {
    return no_decision("the decision");
  }
  if (!selected->get<bool>()) {
    return fail(ErrorCode::kConditionUndecided,
                "No policy selects the workload, so nothing was decided");
  }
  return *decision;
}

}  // namespace assay::cli
