// SPDX-License-Identifier: Apache-2.0
// Changes the input of an evaluation as a hypothesis (schemas/impact_request.h) says.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "policy/reference_sets.h"
#include "schemas/impact_request.h"
#include "server/service/decision_cache.h"
#include "server/service/decisions/case_file.h"
#include "server/service/impact/tcb_levels.h"

namespace assay::server {

// What a statement says went into its subjects.
struct NamedInputs {
  std::set<std::string> digests{};  // "algorithm:value"
  bool unread = false;              // some of it cannot be read, so it may be anything
};

// What was made from artifacts, as the stored statements say now, whoever signed them.
struct MadeFrom {
  std::set<std::string> digests;  // of the artifacts themselves, too
  bool whole = true;              // false: there is more than a lineage has (policy/lineage.h)

  // Whether something that was named as an input is among them; nullopt when nobody can tell.
  [[nodiscard]] std::optional<bool> has_any(const NamedInputs& inputs) const;
};

// Which artifacts statements name as their inputs, read from their stored envelopes. Each statement
// is read once. The snapshot must outlive the object. `check` is called again and again while
// something is read; its error ends the reading.
class StatementInputs {
 public:
  StatementInputs(storage::Snapshot& snapshot, std::function<Status()> check)
      : snapshot_(snapshot), check_(std::move(check)) {}

  // Returns the inputs of a lifecycle statement, the resolved dependencies of SLSA provenance, and
  // of any statement what its predicate has as a member `inputs` of that form. Errors: those of
  // `check`; data-loss; storage.
  [[nodiscard]] Result<const NamedInputs*> of(const CaseModel& model,
                                              const policy::StatementFact& statement);
  // Returns what was made from `artifacts` at any distance. Anybody can sign that things of his own
  // were made from them, so when there is more than is looked at, the rest counts as unknown, and
  // what is known is not hidden by it. Errors: those of `check`; data-loss; storage.
  [[nodiscard]] Result<const MadeFrom*> made_from(const std::vector<std::string>& artifacts);
  // Returns whether of everything that `artifact` was made from, as the stored statements say now,
  // each input could be read, and nothing lies beyond the limits of a lineage. Otherwise it may
  // have been made from anything. Errors: those of `check`; data-loss; storage.
  [[nodiscard]] Result<bool> origins_are_read(const ArtifactId& artifact);

 private:
  static constexpr std::size_t kMaxKept = 65'536;

  storage::Snapshot& snapshot_;
  std::function<Status()> check_;
  std::map<StatementId, NamedInputs> known_;
  std::map<std::vector<std::string>, MadeFrom> made_from_;
  std::map<ArtifactId, bool> origins_;
};

// Reads what was made from `artifacts` before anything is judged by it. Errors: evaluation-deadline
// when that alone takes too long; others are left to made_from(), each time that it is asked.
[[nodiscard]] Status can_spread(StatementInputs& inputs, const std::vector<std::string>& artifacts);

// Returns the policies that would be in force: `policies` with those of the hypothesis activated,
// in order of their names, and without those that it deactivates. `sets` are the reference sets in
// force beside `policies`; those of the hypothesis replace them.
[[nodiscard]] Result<Policies> suppose_policies(const Hypothesis& hypothesis,
                                                std::span<const policy::ActivePolicy> policies,
                                                policy::ReferenceSets sets);

// Changes the facts of a model of a case. Revoked keys and nodes are revoked at any time. A
// statement or manifest that is withdrawn, or that is about an artifact that must not be used, or
// that names one, or something made from one at any distance, as what went in, counts as if all of
// its signers' keys were revoked: never for a pass, and below a `not` as an error. Evidence with a
// lost TCB status, at a lost TCB level or with a rejected advisory, of nodes and of stages, is
// refused now, and so are the reports of its node. References are not resolved again: the models
// stay those of the case. Returns false when of some statement nobody can tell whether it is about
// such a thing, as when an input of what a model was made from could not be read, or of some
// evidence what its TCB level is: it counts as before, so only a denial is sure. Errors: those of
// StatementInputs and TcbLevels.
[[nodiscard]] Result<bool> suppose_model(const Hypothesis& hypothesis, StatementInputs& inputs,
                                         TcbLevels& levels, CaseModel& model);
// Changes every model of the case; returns false when that of any was false.
[[nodiscard]] Result<bool> suppose_facts(const Hypothesis& hypothesis, StatementInputs& inputs,
                                         TcbLevels& levels, CaseFile& file);

}  // namespace assay::server
