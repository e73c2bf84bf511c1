// SPDX-License-Identifier: Apache-2.0
// What is worth saying about a policy before it is signed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/policy_document.h"

namespace assay::policy {

struct Finding {
  enum class Level : std::uint8_t { kNote, kWarning, kError };
  Level level;
  std::string condition;  // id, or empty for the policy as a whole
  std::string text;
};

// "note", "warning", "error".
[[nodiscard]] std::string_view name(Finding::Level level);

// Notes the decision point of each condition; warns about conditions that cannot fail or cannot
// pass (at_least above the identities listed, an empty any, two tests that exclude each other),
// tests on unlikely pointers, demands on nodes and reports that nothing meets, anchors that prove
// nothing about hardware, a policy that matches every workload or selects by one name alone, rules
// about pods that admit anything, modes that do not enforce, statements without a manifest
// condition beside them, reports without a node condition, and models filled in at run time that
// nobody looks at. An enforce policy without any manifest condition is an error: it denies every
// pod. Findings about the policy as a whole come first, then those of the conditions in the order
// of the document.
[[nodiscard]] std::vector<Finding> lint(const PolicyDocument& policy);

}  // namespace assay::policy
