// SPDX-License-Identifier: Apache-2.0
// Questions of the kind "which answers would be others if this were so": what is supposed, and
// over which decisions or pods. Schema: impact-request.schema.json.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/policy_document.h"

namespace assay {

// A TCB level of Intel's TCB info: of the platforms with this FMSPC, that of this date.
struct TcbLevel {
  std::string fmspc;  // twelve lowercase hex digits
  Timestamp date;
  bool operator==(const TcbLevel&) const = default;
};

// What is supposed to be so, in addition to what is known. Empty lists suppose nothing.
struct Hypothesis {
  std::vector<PolicyDocument> activate{};  // distinct names; each replaces the one with its name
  std::vector<std::string> deactivate{};   // names of policies
  std::vector<ReferenceSet> sets{};        // distinct names; each replaces the one with its name
  std::vector<KeyId> revoke_keys{};
  std::vector<StatementId> withdraw_statements{};  // manifests included
  // Digests ("algorithm:value", artifact ids in their text form) of artifacts that must not be
  // used. What was signed about them counts for nothing, and so does each statement that names one,
  // or something made from one, as what went in. Other statements about what was made from them
  // count as before.
  std::vector<std::string> without_artifacts{};
  std::vector<std::string> tcb_status_lost{};  // evidence with such a status is refused
  // Evidence of platforms at one of these levels, or at an older one, is refused.
  std::vector<TcbLevel> tcb_levels_lost{};
  // Ids of advisories: evidence of platforms to which one of them applies is refused.
  std::vector<std::string> reject_advisories{};
  std::vector<std::string> revoke_nodes{};  // names

  // Returns true when other policies are supposed than are in force.
  [[nodiscard]] bool changes_policies() const {
    return !activate.empty() || !deactivate.empty() || !sets.empty();
  }
};

struct ImpactRequest {
  static constexpr std::size_t kDefaultLimit = 100;

  Hypothesis hypothesis{};
  std::optional<Timestamp> since{};
  std::optional<Timestamp> until{};
  std::size_t limit = kDefaultLimit;  // of listed items; all are counted
  std::string after{};                // empty: from the first
};

// Parses strict JSON and checks the schema. Errors: those of parse_json(), validate() and
// parse_policy() and parse_reference_set();
// policy-invalid when two policies to activate, or two sets, have one name.
[[nodiscard]] Result<ImpactRequest> parse_impact_request(ByteView body);
[[nodiscard]] Json to_json(const ImpactRequest& request);

}  // namespace assay
