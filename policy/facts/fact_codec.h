// SPDX-License-Identifier: Apache-2.0
// Parts of the canonical document of facts (policy/facts.h) that other parts share. Internal to
// policy.
#pragma once

#include <algorithm>

#include "policy/facts.h"
#include "schemas/core/json_object.h"

namespace assay::policy {

// A statement with its signers.
[[nodiscard]] Json to_json(const StatementFact& fact);
[[nodiscard]] Result<StatementFact> read_json(json::As<StatementFact> type, const Json& json);

// A list whose order says nothing, so that one order is written.
inline constexpr auto kSorted =
    json::sorted_by([](const Json& item) -> const Json& { return item; });

// What matched is named, or the member is absent.
inline constexpr auto kMatched = json::checked([](const MatchedReferences& matched) {
  const bool named = !matched.empty() && std::ranges::none_of(matched, [](const auto& one) {
    return one.second.empty();
  });
  return named ? Status()
               : Status(fail(ErrorCode::kSchemaViolation, "this says by which names what matched"));
});

}  // namespace assay::policy
