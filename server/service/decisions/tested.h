// SPDX-License-Identifier: Apache-2.0
// Runs the tests of policies on the predicates (contents) of stored statements. A statement is
// parsed only once for all tests of one policy. Outcomes are cached.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/service/decision_cache.h"
#include "server/service/facts/case_parts.h"

namespace assay::server {

// Predicate tests of one evaluation. Each object may be used by one thread only. The snapshot and
// the cache must outlive the object.
class StoredTests final : public policy::PredicateTests {
 public:
  // If `cache` is null, outcomes are kept only in this object.
  StoredTests(storage::Snapshot& snapshot, DecisionCache* cache)
      : snapshot_(snapshot), cache_(cache) {}

  // Adds the statements about `artifact`, whose envelopes are `envelopes`, to those that run() can
  // test. Both arguments must outlive this object.
  void add(const std::string& artifact, const Envelopes& envelopes) {
    models_.push_back({&artifact, &envelopes});
  }

  // Runs one test. All runs of an object must have the same time. When the predicate cannot be
  // read, returns the outcome error, and status() gives the reason.
  [[nodiscard]] policy::TestOutcome run(const policy::StatementFact& statement,
                                        const PredicateTest& test, Timestamp now) const override;
  // Returns OK when every test could be run. Otherwise the caller must not use the verdict. Errors:
  // data-loss; storage.
  [[nodiscard]] const Status& status() const { return status_; }
  // Puts the outcomes of this evaluation into the cache.
  void remember() const;

 private:
  using Outcomes = DecisionCache::Outcomes;
  struct Model {
    const std::string* artifact;
    const Envelopes* envelopes;
  };
  // Outcomes of one test for the statements of one model.
  struct Known {
    std::string key;                         // key in the cache
    std::shared_ptr<const Outcomes> before;  // from the cache; may be null
    Outcomes found;                          // by this evaluation

    // An outcome that holds at `now`; null when none is known.
    [[nodiscard]] const policy::TestOutcome* find(const StatementId& id, Timestamp now) const;
  };

  [[nodiscard]] Result<policy::TestOutcome> try_run(const policy::StatementFact& statement,
                                                    const PredicateTest& test, Timestamp now) const;
  // Returns the predicate of a statement; sets `model` to the index of the model that has the
  // statement.
  [[nodiscard]] Result<const Json*> predicate_of(const StatementId& id, std::size_t& model) const;
  [[nodiscard]] std::vector<Known>& known_about(const PredicateTest& test) const;

  storage::Snapshot& snapshot_;
  DecisionCache* cache_;
  std::vector<Model> models_;
  mutable Status status_;
  mutable std::map<const PredicateTest*, std::vector<Known>> known_;  // one element for each model
  mutable std::optional<std::pair<StatementId, Json>> last_;  // last statement and its predicate
};

}  // namespace assay::server
