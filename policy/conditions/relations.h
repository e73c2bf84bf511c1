// SPDX-License-Identifier: Apache-2.0
// Relations between the signers of conditions (SignerRequirement::none_of). Internal to policy.
#pragma once

#include "policy/conditions.h"

namespace assay::policy {

// Whom a condition does not count, because their signatures count elsewhere.
struct Excluded {
  Names surely;
  Names perhaps;         // undecided there
  bool unknown = false;  // one of the other conditions has no counted signer, so nobody can tell
};

// Judges who counts in the conditions that `signers.none_of` names. There, relations of their own
// are not looked at, so that the order of conditions and circles do not matter. Below, kPublishers
// is everybody whose signature on a manifest of the artifact counts.
[[nodiscard]] Excluded excluded_by(const SignerRequirement& signers, const Scope& scope);

// Returns whether an identity may be counted: always, or when `considered` has it.
[[nodiscard]] bool is_considered(const StatementCondition& condition, std::string_view identity);

// Returns whether a signature that counts or would count is of a considered identity.
[[nodiscard]] bool has_considered_signer(const StatementCondition& condition,
                                         const JudgedStatement& statement);

// With the quantifier latest, keeps that statement alone which a considered identity signed last;
// of several, the last one in `statements`. When a statement was first pushed does not matter:
// somebody else may have pushed the same bytes before. `rejected`: signatures that do not count
// are looked at as well. Returns the identities that signed another one of `statements` since: they
// do not stand behind the one that is kept, so whoever signs it again brings back nobody's word but
// his own.
Names keep_latest(const StatementCondition& condition, bool rejected,
                  std::vector<const JudgedStatement*>& statements);

}  // namespace assay::policy
