// SPDX-License-Identifier: Apache-2.0
// The second evaluator: one model under one policy. Conditions on what is signed are judged in
// policy_reference_signed.cc, the others and combinations in policy_reference.cc.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "tests/support/policy_reference.h"
#include "tests/support/policy_reference_pod.h"
#include "tests/support/policy_reference_withdrawn.h"

namespace assay::policy::reference {

enum class Truth { kNo, kYes, kUnknown };

inline Truth truth(bool value) { return value ? Truth::kYes : Truth::kNo; }

// One world: every unknown thing, in the order it is asked for, is yes or no.
class World {
 public:
  explicit World(std::uint32_t bits) : bits_(bits) {}
  bool decide(Truth value) {
    if (value != Truth::kUnknown) {
      return value == Truth::kYes;
    }
    if (++unknown_ > 20) {
      std::abort();
    }
    return (bits_ >> (unknown_ - 1) & 1U) != 0;
  }
  [[nodiscard]] int unknown() const { return unknown_; }

 private:
  std::uint32_t bits_;
  int unknown_ = 0;
};

// pass or fail when `holds` says the same in every world, else error.
template <typename Holds>
Outcome in_every_world(Holds holds) {
  World first(0);
  const bool answer = holds(first);
  for (std::uint32_t bits = 1; bits < 1U << first.unknown(); ++bits) {
    World world(bits);
    if (holds(world) != answer) {
      return Outcome::kError;
    }
  }
  return answer ? Outcome::kPass : Outcome::kFail;
}

inline Answer answer(Outcome outcome, Reason code) {
  return {{}, outcome, outcome == Outcome::kPass ? std::nullopt : std::optional(code), {}};
}

// What one statement is worth to a `not`.
struct Heard {
  enum { kOtherwise, kAsRequired, kUnknown } says = kAsRequired;
  std::optional<Reason> why;  // it is unknown
};

// What one demand comes to.
struct Tested {
  Truth holds;
  Reason code;
};

// Identities that count in other conditions.
struct Others {
  std::map<std::string, Truth> known;
  bool unknown = false;  // in one of them nobody surely counts
  [[nodiscard]] Truth has(const std::string& identity) const {
    const auto found = known.find(identity);
    return found == known.end() ? Truth::kNo : found->second;
  }
};

struct Case {
  const Facts& facts;
  const std::string& node;
  DecisionPoint point;
  Timestamp now;
  bool pod = false;
  std::set<std::string> bound{};        // of this model, under the policy that is judged
  std::set<std::string> filled{};       // volumes of the pod that may hold this model
  std::vector<const Facts*> besides{};  // models that they may hold instead
  std::set<std::string> believed{};     // names of the artifact, under that policy
  const std::vector<Condition>* conditions = nullptr;  // of that policy
  const Requester* requester = nullptr;

  // --- signatures
  [[nodiscard]] Truth counts(const SignerFact& signer, const SigningContext& context,
                             std::optional<Reason>* why = nullptr) const {
    const Status grant = check_grant(signer.key, context, signer.signed_at, now);
    if (!grant && why != nullptr) {
      *why = reason_of(grant.error().code);
    }
    if (!grant) {
      return Truth::kNo;
    }
    return signer.signed_at > now ? Truth::kUnknown : Truth::kYes;
  }

  static SigningContext publisher_of(const ManifestFact& manifest) {
    return {KeyPurpose::kPublisher, "", std::string(kManifestPredicateType), manifest.name};
  }
  static SigningContext publisher_of(const PlacementFact& placement) {
    return {KeyPurpose::kPublisher, "", std::string(kPlacementPredicateType), placement.name};
  }

  // Of a manifest or a placement. What was withdrawn nobody stands behind.
  template <typename Fact>
  [[nodiscard]] Truth counts_on(const SignerFact& signer, const Fact& fact,
                                std::optional<Reason>* why = nullptr) const {
    if (!taken_back(fact.statement, signer)) {
      return counts(signer, publisher_of(fact), why);
    }
    if (why != nullptr) {
      *why = Reason::kStatementWithdrawn;
    }
    return Truth::kNo;
  }

  // "!" is no name, so that only a role for every name covers it.
  static std::set<std::string> or_none(std::set<std::string> names) {
    return names.empty() ? std::set<std::string>{"!"} : names;
  }
  // Of the artifact, by those whom the policy believes; and what the statement calls it.
  [[nodiscard]] std::set<std::string> names() const { return or_none(believed); }
  static std::set<std::string> names_in(const StatementFact& statement) {
    return or_none({statement.names.begin(), statement.names.end()});
  }

  // A manifest or a placement, and who says so.
  template <typename Fact>
  [[nodiscard]] Said said_by(const Fact& fact) const {
    Said said{fact.name, fact.locations, {}, {}, false};
    for (const SignerFact& signer : fact.statement.signers) {
      const Truth truth = counts_on(signer, fact);
      if (truth == Truth::kYes) {
        said.surely.insert(signer.key.identity);
      }
      if (truth != Truth::kNo) {
        said.perhaps.insert(signer.key.identity);
      }
    }
    return said;
  }

  // What manifests of this very root, and placements of it, say of where it lies.
  [[nodiscard]] Placed placed() const {
    Placed model{facts.name, {}, false};
    if (!facts.artifact) {
      return model;
    }
    for (const ManifestFact& manifest : facts.manifests) {
      if (facts.artifact->root().algorithm() == manifest.parameters.hash) {
        model.said.push_back(said_by(manifest));
        model.said.back().manifest = true;
        model.links = model.links || manifest.parameters.follow_symlinks;
      }
    }
    for (const PlacementFact& placement : facts.placements) {
      model.said.push_back(said_by(placement));
    }
    return model;
  }

  [[nodiscard]] Truth counts(const SignerFact& signer, const StatementFact& statement) const {
    Truth best = Truth::kNo;
    if (taken_back(statement, signer)) {
      return best;
    }
    for (const std::string& name : names()) {
      const Truth one =
          counts(signer, {KeyPurpose::kSigner, statement.stage, statement.predicate_type, name});
      best = one == Truth::kNo ? best : one;
    }
    for (const std::string& name : names_in(statement)) {
      const Truth one =
          counts(signer, {KeyPurpose::kSigner, statement.stage, statement.predicate_type, name});
      best = one == Truth::kNo ? one : best;
    }
    return best;
  }

  // --- conditions
  [[nodiscard]] Answer judge(const ManifestCondition& condition) const;
  [[nodiscard]] Answer judge(const StatementCondition& condition) const;
  [[nodiscard]] Timestamp last_said(const StatementCondition& condition,
                                    const StatementFact& statement, bool counted) const;
  [[nodiscard]] std::vector<StatementFact> asked_about(const StatementCondition& condition) const;
  [[nodiscard]] std::set<std::string> who_moved_on(const StatementCondition& condition,
                                                   const StatementFact& kept, bool counted) const;
  [[nodiscard]] Truth as_required(const StatementCondition& condition,
                                  const StatementFact& statement) const;
  [[nodiscard]] Others others_of(const SignerRequirement& signers) const;
  [[nodiscard]] Answer judge(const RequestCondition& condition) const;
  [[nodiscard]] Answer judge(const WindowCondition& condition) const;
  // Everything that is asked of one statement.
  [[nodiscard]] std::vector<Tested> asked_of(const StatementCondition& condition,
                                             const StatementFact& statement,
                                             const Others& others = {}) const;
  [[nodiscard]] Answer judge(const ParametersCondition& condition) const;
  [[nodiscard]] Answer judge(const NodeCondition& condition, bool below_not) const;
  [[nodiscard]] Answer judge(const ReportCondition& condition, bool below_not) const;
  [[nodiscard]] Answer judge(const LineageCondition& condition, bool below_not) const;
  // Hash, chunk size, patterns, links, kinds of entries.
  using Bound = std::tuple<std::string, std::uint32_t, std::set<std::string>, bool, std::string>;
  [[nodiscard]] std::set<Bound> bound_parameters() const;
  [[nodiscard]] Reason why_unbound() const;
  [[nodiscard]] std::optional<Answer> judge_implied(const std::vector<Condition>& require) const;
  [[nodiscard]] Answer judge(const Condition& condition, bool below_not) const;
  [[nodiscard]] Reason why_none(const StatementCondition& condition) const;
  // Whether the stage evidence of a statement is as the condition demands.
  [[nodiscard]] Tested evidence_of(const StatementCondition& condition,
                                   const StatementFact& statement, const Others& others) const;
  // The same for demands. `stands` says of a signature whether its evidence is looked at.
  [[nodiscard]] Tested evidence_of(const EvidenceDemands& demands, const StatementFact& statement,
                                   const std::function<Truth(const SignerFact&)>& stands) const;

  // --- below a `not`
  [[nodiscard]] Reason why_not(const SignerFact& signer, const StatementFact& statement) const;
  [[nodiscard]] Heard hear(const StatementCondition& condition, const StatementFact& statement,
                           const Others& others) const;
  [[nodiscard]] Answer turned(const StatementCondition& condition, const Answer& plain) const;
};

// The first test with this truth; nullptr when there is none.
const Tested* first(const std::vector<Tested>& list, Truth wanted);

// The answer to a list of demands: the first that is not met, else the first that is not known.
Answer all_of(const std::vector<Tested>& demands);
// What a failed list of demands comes to: anything besides what is wrong with the thing makes it
// unreliable.
Answer turned_demands(const std::vector<Tested>& demands, const Answer& plain);

// What a `not` turns round.
bool is_about_the_thing_itself(Reason code);

}  // namespace assay::policy::reference
