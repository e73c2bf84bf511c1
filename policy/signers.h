// SPDX-License-Identifier: Apache-2.0
// Judges every signature once, and shares the results with all conditions. From these results, each
// condition counts the identities whose signatures it accepts. evaluate() in policy/evaluate.h says
// when a signature counts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/compare.h"
#include "policy/facts.h"
#include "policy/horizon.h"
#include "policy/statement_index.h"
#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

enum class SignerState {
  kCounts,
  kUndecided,  // would count, but was logged after `now`
  kRejected,
};

// A judged signature. In this and the next two structs, views and pointers borrow from the Facts
// (policy/facts.h).
struct JudgedSigner {
  std::string_view identity;
  SignerState state;
  Reason code;  // why the signature does not count; meaningless for kCounts
  Timestamp signed_at{};
  const CertificateUse* certificate = nullptr;  // of a signature by certificate
};

struct JudgedStatement {
  const StatementFact* fact;
  std::span<const JudgedSigner> signers;

  // Returns true when at least one signature counts or would count.
  [[nodiscard]] bool has_signer() const;
};

using Names = std::set<std::string_view>;
// Ids of the manifests of an artifact that a policy believes.
using Believed = std::set<StatementId>;

// Returns the names to ask check_grant() about instead of all of `names`, which must not be empty:
// for each role of the key one name that its pattern covers, if there is one, so that the cost does
// not depend on the number of names. At least one name.
[[nodiscard]] Names worth_asking(const TrustedKey& key, const Names& names);

// Movable but not copyable, because its members borrow from each other.
struct JudgedFacts {
  JudgedFacts() = default;
  JudgedFacts(JudgedFacts&&) noexcept = default;
  JudgedFacts& operator=(JudgedFacts&&) noexcept = default;

  std::vector<const ManifestFact*> manifests;      // in log order
  std::vector<const ManifestFact*> own_manifests;  // those of `manifests` with the artifact as root
  std::vector<JudgedStatement> manifest_statements;  // of `manifests`, in the same order
  // Placements of this artifact (statements that add locations to it), in log order. Their signers
  // are judged as publishers of the name in the placement.
  std::vector<const PlacementFact*> placements{};
  std::vector<JudgedStatement> placement_statements{};  // of `placements`, in the same order
  const PredicateTests* tests = nullptr;                // as in Facts
  Timestamp now{};                                      // time of the evaluation
  // When something that was judged changes as time passes. Judging adds to it.
  mutable Horizon horizon{};
  std::shared_ptr<const StatementIndex> index{};     // of Facts::statements
  std::vector<std::vector<JudgedSigner>> signers{};  // storage that the statements borrow from

  // Set by judge_statements(), for one policy at a time.
  std::vector<JudgedStatement> statements{};      // in log order
  std::vector<JudgedSigner> statement_signers{};  // storage that `statements` borrows from
  std::optional<Names> names{};  // under which `statements` were judged; nullopt: not judged yet
  Believed believed{};           // with which they were judged
};

// Judges manifests and placements. No statement is judged yet.
[[nodiscard]] JudgedFacts judge_signers(const Facts& facts, Timestamp now);

// Judges all statements of `judged`, in place of what was judged before. A signature counts when
// check_grant() (schemas/trust.h) passes under one of `names`, and a role of the key covers every
// name that the statement itself gives to the artifact. Without names, only roles for every name
// ("*") count. A statement about another digest of the artifact counts only when a manifest in
// `believed` joins that digest (StatementFact::joined_by).
void judge_statements(const Names& names, Timestamp now, JudgedFacts& judged,
                      const Believed& believed = {});

// Returns what an explanation says of those `statements` that were withdrawn: [{"statement",
// "reason", "since", "by"}], in the order given, at most 16; null when none was.
[[nodiscard]] Json withdrawn_among(std::span<const JudgedStatement* const> statements);

// Returns the outcome of `test` on the predicate of `statement`, which must be one of `facts`.
[[nodiscard]] TestOutcome test_of(const JudgedFacts& facts, const StatementFact& statement,
                                  const PredicateTest& test);

// A count of the distinct identities that meet a signer requirement.
class Tally {
 public:
  // Borrows from `requirement` and from the Facts of every statement added.
  explicit Tally(const SignerRequirement& requirement);
  explicit Tally(const SignerRequirement&&) = delete;

  // From now on, looks only at signatures of `identities`, unless the list is empty. Borrows.
  void consider(const std::vector<std::string>& identities);
  // From now on, does not count the identities in `surely`, and counts those in `perhaps` as
  // undecided. Borrows from what the views borrow from.
  void exclude(Names surely, Names perhaps);

  // Adds all signatures of a statement that meets the other parts of the condition.
  void add(const JudgedStatement& statement);
  // Adds the signatures of a statement for which it is undecided whether it meets the other parts
  // of the condition. Its signers therefore may or may not count.
  void add_undecided(const JudgedStatement& statement);
  // Records only those signatures of `statement` that do not count, for failure() and actual().
  void note_rejected(const JudgedStatement& statement);

  // Returns pass when enough identities count; fail when there are too few even if all undecided
  // ones would count; else error.
  [[nodiscard]] Outcome outcome() const;
  // Returns the reason for which every listed signer was rejected. Returns signers-insufficient
  // when some signers count or may count, or when the signers were rejected for different reasons.
  [[nodiscard]] Reason failure() const;

  [[nodiscard]] const Names& counted() const { return counted_; }
  [[nodiscard]] const Names& undecided() const { return undecided_; }

  // Returns {"at_least": n, "identities": [...]}.
  [[nodiscard]] Json expected() const;
  // Returns {"identities": [...], "rejected": [{"identity", "code"}]}, sorted. Adds "unlisted" when
  // there are signing identities that the requirement does not list, "certificates" with what the
  // certificates of counted identities said, "excluded" when there are some
  // that exclude() named, and "undecided" when some identities may count.
  [[nodiscard]] Json actual() const;

 private:
  [[nodiscard]] bool listed(std::string_view identity) const;
  [[nodiscard]] bool considered(std::string_view identity) const;

  std::size_t needed_;
  Names considered_;  // empty: everybody
  Names surely_;      // see exclude()
  Names perhaps_;
  Names excluded_;
  Names listed_;  // empty: everybody
  Names counted_;
  Names undecided_;
  Names unlisted_;
  // Of counted signatures by certificate: identity, issuer, subject, time.
  std::set<std::tuple<std::string_view, std::string_view, std::string_view, Timestamp>>
      certificates_;
  std::set<std::pair<std::string_view, std::string_view>> rejected_;  // identity, code
  std::set<Reason> rejections_;                                       // of listed identities
};

}  // namespace assay::policy
