// SPDX-License-Identifier: Apache-2.0
// Which model `assay fill` may put into a pod: what the caller names, and what a decision allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/client/connect.h"
#include "cli/context.h"
#include "cli/verbs/workload.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay::cli {

// URIs of models in arguments of KServe: "assay://NAME", "assay://NAME@ARTIFACT".
inline constexpr std::string_view kModelScheme = "assay://";

// A model by name, artifact id or both.
struct ModelReference {
  std::string name;                        // empty: any
  std::optional<ArtifactId> artifact{};    // absent: any
  [[nodiscard]] std::string text() const;  // as POST /v1/decisions takes it
};
// Parses "NAME", "ARTIFACT" or "NAME@ARTIFACT". Errors: usage.
[[nodiscard]] Result<ModelReference> parse_model_reference(const std::string& text);

// Returns the artifact of the one model that a decision is about and `wanted` fits. `decision` must
// be an allow that was recorded and holds at `now`; with a `name_space` it must be about a workload
// of that namespace. Errors: condition-undecided when it is no such allow; subject-mismatch when no
// model fits; usage when several do; schema-violation for what is no decision.
[[nodiscard]] Result<ArtifactId> artifact_of_decision(const Json& decision,
                                                      const ModelReference& wanted,
                                                      const std::string& name_space, Timestamp now);

struct DecisionFlags {
  std::string id;          // of a stored decision; empty: the service is asked for one
  WorkloadFlags workload;  // for that question; its namespace is compared with a stored one
  ConnectionFlags connection;
};
// Fetches the decision, or asks for one at `create`, or at `bind` when the flags name a node.
// Errors: condition-undecided when no policy selects the workload; those of the service.
[[nodiscard]] Result<Json> fetch_decision(const Context& context, const DecisionFlags& flags,
                                          const ModelReference& wanted);

}  // namespace assay::cli
