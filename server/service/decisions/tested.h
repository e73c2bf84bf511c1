// SPDX-License-Identifier: Apache-2.0
// What tests of predicates give, read from the stored envelopes of statements: each statement is
// parsed once for the tests of a policy, then what they gave is remembered.
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

// Of one evaluation, on one thread; borrows the snapshot and the cache.
class StoredTests final : public policy::PredicateTests {
 public:
  // `cache` may be null: then nothing is remembered beyond this evaluation.
  StoredTests(storage::Snapshot& snapshot, DecisionCache* cache)
      : snapshot_(snapshot), cache_(cache) {}

  // Statements in `envelopes`, about `artifact`, can be tested; both must outlive this.
  void add(const std::string& artifact, const Envelopes& envelopes) {
    models_.push_back({&artifact, &envelopes});
  }

  // An error, and a status() that says why, when the predicate cannot be read.
  [[nodiscard]] policy::TestOutcome run(const policy::StatementFact& statement,
                                        const PredicateTest& test) const override;
  // data-loss or storage when a test could not be run: there is no verdict then.
  [[nodiscard]] const Status& status() const { return status_; }
  // Remembers in the cache what was found out.
  void remember() const;

 private:
  using Outcomes = DecisionCache::Outcomes;
  struct Model {
    const std::string* artifact;
    const Envelopes* envelopes;
  };
  // What one test gives about the statements of one model.
  struct Known {
    std::string key;  // in the cache
    std::shared_ptr<const Outcomes> before;
    Outcomes found;

    [[nodiscard]] const policy::TestOutcome* find(const StatementId& id) const;
  };

  [[nodiscard]] Result<policy::TestOutcome> try_run(const policy::StatementFact& statement,
                                                    const PredicateTest& test) const;
  // The statement's predicate, and the model that has it.
  [[nodiscard]] Result<const Json*> predicate_of(const StatementId& id, std::size_t& model) const;
  [[nodiscard]] std::vector<Known>& known_about(const PredicateTest& test) const;

  storage::Snapshot& snapshot_;
  DecisionCache* cache_;
  std::vector<Model> models_;
  mutable Status status_;
  mutable std::map<const PredicateTest*, std::vector<Known>> known_;  // one for each model
  mutable std::optional<std::pair<StatementId, Json>> last_;          // statement and its predicate
};

}  // namespace assay::server
