// SPDX-License-Identifier: Apache-2.0
// What tests of predicates give, read from the stored envelopes of statements: each statement is
// parsed once for the tests of a policy, then what they gave is remembered.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/service/decision_cache.h"
#include "server/service/decisions/case_parts.h"

namespace assay::server {

// Of one evaluation, on one thread; borrows the snapshot and the cache.
class StoredTests final : public policy::PredicateTests {
 public:
  // `cache` may be null: then nothing is remembered beyond the last statement.
  StoredTests(storage::Snapshot& snapshot, DecisionCache* cache)
      : snapshot_(snapshot), cache_(cache) {}

  // Statements in `envelopes` can be tested; it must outlive this.
  void add(const Envelopes& envelopes) { envelopes_.push_back(&envelopes); }

  // An error, and a status() that says why, when the predicate cannot be read.
  [[nodiscard]] policy::TestOutcome run(const policy::StatementFact& statement,
                                        const PredicateTest& test) const override;
  // data-loss or storage when a test could not be run: there is no verdict then.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  [[nodiscard]] Result<policy::TestOutcome> try_run(const policy::StatementFact& statement,
                                                    const PredicateTest& test) const;
  [[nodiscard]] Result<const Json*> predicate_of(const StatementId& id) const;
  [[nodiscard]] const std::string& text_of(const PredicateTest& test) const;

  storage::Snapshot& snapshot_;
  DecisionCache* cache_;
  std::vector<const Envelopes*> envelopes_;
  mutable Status status_;
  mutable std::map<const PredicateTest*, std::string> texts_;
  mutable std::optional<std::pair<StatementId, Json>> last_;  // statement and its predicate
};

}  // namespace assay::server
