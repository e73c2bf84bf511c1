// SPDX-License-Identifier: Apache-2.0
// Lifecycle statements: shape by lifecycle.schema.json.
#include "schemas/lifecycle.h"

#include <algorithm>

#include "schemas/members.h"
#include "schemas/name_form.h"
#include "schemas/validate.h"

namespace assay {
namespace {

Status check_subjects(const std::vector<Subject>& subjects) {
  const bool any = std::any_of(subjects.begin(), subjects.end(), [](const Subject& subject) {
    return subject.artifact().has_value();
  });
  if (!any) {
    return fail(ErrorCode::kSubjectMismatch,
                "a lifecycle statement is about at least one artifact: give its "
                "assay-tree-v1 digest",
                "/subject");
  }
  return {};
}

Json to_json(const Lifecycle& lifecycle) {
  Json inputs = Json::array();
  for (const LifecycleInput& input : lifecycle.inputs) {
    Json item = {{"role", input.role}, {"digest", input.digest}};
    if (!input.name.empty()) {
      item["name"] = input.name;
    }
    inputs.push_back(std::move(item));
  }
  Json metrics = Json::object();
  for (const auto& [name, metric] : lifecycle.metrics) {
    metrics[name] = {{"value", metric.value}, {"unit", metric.unit}};
  }
  Json json = {{"stage", lifecycle.stage},
               {"inputs", std::move(inputs)},
               {"parameters", lifecycle.parameters},
               {"metrics", std::move(metrics)}};
  if (lifecycle.freshness) {
    json["freshness"] = *lifecycle.freshness;
  }
  if (!lifecycle.comment.empty()) {
    json["comment"] = lifecycle.comment;
  }
  return json;
}

}  // namespace

Result<Statement> to_statement(const Lifecycle& lifecycle, std::vector<Subject> subjects) {
  ASSAY_TRY(check_subjects(subjects));
  Json predicate = to_json(lifecycle);
  ASSAY_TRY(validate("lifecycle", predicate));
  return Statement{std::move(subjects), std::string(kLifecyclePredicateType), std::move(predicate)};
}

Result<Lifecycle> lifecycle_from(const Statement& statement) {
  if (statement.predicate_type != kLifecyclePredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "this is not a lifecycle statement",
                "/predicateType");
  }
  const Json& predicate = statement.predicate;
  if (auto status = validate("lifecycle", predicate); !status) {
    return members::under("/predicate", std::move(status).error());
  }
  ASSAY_TRY(check_subjects(statement.subjects));
  Lifecycle lifecycle;
  lifecycle.stage = members::text(predicate, "stage");
  const Json no_inputs = Json::array();
  for (const Json& item : members::child(predicate, "inputs", no_inputs)) {
    lifecycle.inputs.push_back({members::text(item, "role"), members::text(item, "name"),
                                members::text_map(item, "digest")});
    if (has_control_character(lifecycle.inputs.back().name)) {
      return fail(ErrorCode::kSchemaViolation, "a name holds no control characters",
                  "/predicate/inputs/" + std::to_string(lifecycle.inputs.size() - 1) + "/name");
    }
  }
  lifecycle.parameters = members::child(predicate, "parameters", Json::object());
  const Json no_metrics = Json::object();
  for (const auto& [name, item] : members::child(predicate, "metrics", no_metrics).items()) {
    lifecycle.metrics.emplace(name,
                              Metric{item["value"].get<double>(), members::text(item, "unit")});
  }
  if (const auto freshness = predicate.find("freshness"); freshness != predicate.end()) {
    lifecycle.freshness = *freshness;
  }
  lifecycle.comment = members::text(predicate, "comment");
  return lifecycle;
}

}  // namespace assay
