// SPDX-License-Identifier: Apache-2.0
// Finds what the author of a policy should know before the policy is signed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/policy_document.h"

namespace assay::policy {

struct Finding {
  enum class Level : std::uint8_t { kNote, kWarning, kError };
  Level level;
  std::string condition;  // id of the condition; empty for the policy as a whole
  std::string text;
};

// Returns "note", "warning" or "error".
[[nodiscard]] std::string_view name(Finding::Level level);

// Checks one policy and returns its findings. Findings about the policy as a whole come first, then
// findings about conditions in the order of the document.
//
// Notes name the decision point of each condition. Warnings name:
// - conditions that cannot fail or cannot pass (at_least above the number of listed identities, an
// empty any, two tests that exclude each other);
// - tests on unlikely pointers, and demands on nodes and reports that no node or report can meet;
// - anchors that prove nothing about hardware;
// - a policy that matches every workload or selects by one name alone;
// - rules about pods that admit everything, and modes that do not enforce;
// - statement conditions without a manifest condition beside them, and report conditions without a
// node condition;
// - models filled at run time that no condition checks.
//
// An enforce policy without any manifest condition is an error, because the policy denies every
// pod.
[[nodiscard]] std::vector<Finding> lint(const PolicyDocument& policy);

}  // namespace assay::policy
