// SPDX-License-Identifier: Apache-2.0
// The lineage condition of policies: what a policy asks of everything that a model was made from.
// policy/lineage_condition.h says what each member means, docs/lineage.md explains the condition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/evidence_demands.h"

namespace assay {

// Who must have signed the statements that make a node of the lineage, and on what hardware.
struct LineageEdgeRule {
  std::string stage;           // only statements of this stage; empty: of any stage
  std::string role;            // only statements with an input of this role; empty: with any inputs
  std::uint64_t at_least = 1;  // distinct identities
  std::vector<std::string> identities;  // empty: anybody whose signature counts
  // Each of these statements needs evidence of one of its signers (of the identities, where some
  // are listed) that is as demanded.
  std::optional<EvidenceDemands> evidence{};
  bool operator==(const LineageEdgeRule&) const = default;
};

// What must not occur in the lineage, the model itself included.
struct LineageDeny {
  std::vector<std::string> digests;     // "sha256:..."
  std::vector<std::string> names;       // patterns with '*'
  std::vector<std::string> keys;        // ids of keys that made an ancestor
  std::vector<std::string> identities;  // people that made an ancestor
  bool operator==(const LineageDeny&) const = default;
};

// Licences that the nodes of the lineage may have: SPDX identifiers, compared without regard to
// case. At least one of the lists is not empty.
struct LineageLicences {
  std::vector<std::string> allow;  // empty: every licence that is not denied
  std::vector<std::string> deny;
  bool operator==(const LineageLicences&) const = default;
};

struct LineageCondition {
  std::vector<std::string> roles;   // roles of inputs that are followed; empty: all
  std::vector<std::string> leaves;  // patterns: with ':' for digests, without for names
  std::vector<LineageEdgeRule> edges;
  std::vector<std::string> stages;  // in this order
  LineageDeny deny;
  std::optional<std::uint64_t> max_depth;  // most edges on one path
  std::optional<LineageLicences> licences;
  bool operator==(const LineageCondition&) const = default;
};

[[nodiscard]] Json to_json(const LineageCondition& condition);
// Errors: policy-invalid for a licence that is no SPDX identifier; schema-violation.
[[nodiscard]] Result<LineageCondition> read_json(json::As<LineageCondition> type, const Json& json);

}  // namespace assay
