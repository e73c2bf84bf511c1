// SPDX-License-Identifier: Apache-2.0
// The lifecycle predicate: what happened to an artifact at one stage of its life.
// Schema: schemas/json/lifecycle.schema.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/statement.h"

namespace assay {

inline constexpr std::string_view kLifecyclePredicateType = "https://assay.dev/lifecycle/v1";

struct LifecycleInput {
  std::string role;  // dataset, base-model, adapter, code, config
  std::string name;  // empty when there is none
  std::map<std::string, std::string> digest;
};

struct Metric {
  double value;
  std::string unit;  // "1" for a plain ratio or count
};

struct Lifecycle {
  std::string stage;  // of schemas/stages.def, or any other kebab-case name
  std::vector<LifecycleInput> inputs;
  Json parameters = Json::object();
  std::map<std::string, Metric> metrics;
  std::optional<Json> freshness;
  std::string comment;
};

[[nodiscard]] Result<Statement> to_statement(const Lifecycle& lifecycle,
                                             std::vector<Subject> subjects);
// Parses the predicate. Checks predicate type and schema, and that at least one subject is an
// artifact. Errors: predicate-type-unknown; subject-mismatch; the errors of validate().
[[nodiscard]] Result<Lifecycle> lifecycle_from(const Statement& statement);

}  // namespace assay
