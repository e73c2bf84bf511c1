// SPDX-License-Identifier: Apache-2.0
// Finds what the author of a policy should know before the policy is signed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/reference_sets.h"
#include "schemas/policy_document.h"

namespace assay::policy {

struct Finding {
  enum class Level : std::uint8_t { kNote, kWarning, kError };
  Level level;
  std::string condition;  // id of the condition; empty for the policy as a whole
  std::string text;
  // Stable: never-passes, never-fails, never-matches, contradiction, pointer-leads-nowhere,
  // index-below-not, index-without-order, passes-when-empty, relation-weak, reference-set-missing,
  // reference-set-mismatch, no-manifest; "advice" for what has no other code.
  std::string code = "advice";
  std::string where{};  // JSON pointer into the document; empty for the policy as a whole
};

// Returns "note", "warning" or "error".
[[nodiscard]] std::string_view name(Finding::Level level);

// Checks one policy, with the values of the reference sets `sets` in the place of their names, and
// returns its findings. Findings about the policy as a whole come first, then
// findings about conditions in the order of the document, then findings about their combinations.
//
// A note says at which decision point (create, bind or serve) each condition is evaluated. There is
// a warning for each of these:
// - a condition that always passes or never passes: at_least above the number of listed identities,
//   an empty any, two tests that exclude each other; a combination of such conditions; conditions
//   that exclude each other, or one beside its own `not`;
// - a match that no workload meets;
// - a reference set that is not in `sets`; the lists that name it are not looked at;
// - a test whose JSON pointer probably matches no member;
// - a test whose JSON pointer has an index of an array, below a `not` or where the order of the
//   array means nothing;
// - a demand that no node or no report can meet;
// - an anchor (root certificate of evidence) that proves nothing about hardware;
// - a policy that matches every workload, or selects workloads by one name alone;
// - rules about pods that admit every pod;
// - a mode that does not enforce;
// - a statement condition without a manifest condition beside it;
// - a report condition without a node condition beside it;
// - a model whose files are downloaded at run time, when no condition checks them.
//
// A policy that resolves names by releases without any manifest condition is an error, because
// nobody's release counts for such a policy.
//
// What always passes or never passes, and conditions that exclude each other, are errors where all
// of them must pass: in `require`, and in an `all` there. As one of several ways, below `any`,
// `at_least` or `not`, they are warnings.
//
// A lineage condition whose parts contradict each other, or with a rule that cannot pass or is
// about nothing, is an error wherever it stands.
//
// A reference set of a kind that its list does not take is an error.
//
// A policy in mode enforce without any manifest condition is an error, because such a policy denies
// every pod.
[[nodiscard]] std::vector<Finding> lint(const PolicyDocument& document,
                                        const ReferenceSets& sets = {});

}  // namespace assay::policy
