// SPDX-License-Identifier: Apache-2.0
// Whose signatures count: every signature is judged once for all conditions, then conditions count
// identities.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/compare.h"
#include "policy/facts.h"
#include "policy/statement_index.h"
#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

enum class SignerState {
  kCounts,
  kUndecided,  // would count, but was logged after `now`
  kRejected,
};

// Views and pointers borrow from the Facts.
struct JudgedSigner {
  std::string_view identity;
  SignerState state;
  Reason code;  // why, unless it counts
};

struct JudgedStatement {
  const StatementFact* fact;
  std::span<const JudgedSigner> signers;

  // At least one signature counts or would count: the statement is somebody's.
  [[nodiscard]] bool has_signer() const;
};

// Moves, but is not copied: it borrows from itself.
struct JudgedFacts {
  JudgedFacts() = default;
  JudgedFacts(JudgedFacts&&) noexcept = default;
  JudgedFacts& operator=(JudgedFacts&&) noexcept = default;

  std::vector<const ManifestFact*> manifests;        // in log order
  std::vector<const ManifestFact*> own_manifests;    // those of them whose root the artifact is
  std::vector<JudgedStatement> manifest_statements;  // of `manifests`, in the same order
  std::vector<JudgedStatement> statements;           // in log order
  // Of this very artifact, in log order, and their signers as publishers of the placement's name.
  std::vector<const PlacementFact*> placements{};
  std::vector<JudgedStatement> placement_statements{};  // of `placements`, in the same order
  std::set<std::string_view> names;                     // of manifests with a signature that counts
  const PredicateTests* tests = nullptr;                // as in Facts
  std::shared_ptr<const StatementIndex> index{};        // of `statements`
  std::vector<std::vector<JudgedSigner>> signers{};     // that the statements borrow
};

[[nodiscard]] JudgedFacts judge_signers(const Facts& facts, Timestamp now);

// What a test gives about the predicate of a statement among `facts`.
[[nodiscard]] TestOutcome test_of(const JudgedFacts& facts, const StatementFact& statement,
                                  const PredicateTest& test);

// Counts distinct identities against a requirement.
class Tally {
 public:
  // Borrows from `requirement` and from the Facts of every statement added.
  explicit Tally(const SignerRequirement& requirement);
  explicit Tally(const SignerRequirement&&) = delete;

  // Every signature of a statement that is as required.
  void add(const JudgedStatement& statement);
  // A statement that could not be decided: its signers might count.
  void add_undecided(const JudgedStatement& statement);
  // Notes only the signatures of `statement` that do not count.
  void note_rejected(const JudgedStatement& statement);

  // pass: enough identities. fail: too few even if everything undecided counted. Else error.
  [[nodiscard]] Outcome outcome() const;
  // The one reason for which every listed signer was rejected; signers-insufficient when some count
  // or the reasons differ.
  [[nodiscard]] Reason failure() const;

  // {"at_least": n, "identities": [...]}
  [[nodiscard]] Json expected() const;
  // {"identities": [...], "rejected": [{"identity", "code"}]}, sorted; "unlisted" when identities
  // count that the requirement does not list, "undecided" when some might count.
  [[nodiscard]] Json actual() const;

 private:
  [[nodiscard]] bool listed(std::string_view identity) const;

  std::size_t needed_;
  std::set<std::string_view> listed_;  // empty: everybody
  std::set<std::string_view> counted_;
  std::set<std::string_view> undecided_;
  std::set<std::string_view> unlisted_;
  std::set<std::pair<std::string_view, std::string_view>> rejected_;  // identity, code
  std::set<Reason> rejections_;                                       // of listed identities
};

}  // namespace assay::policy
