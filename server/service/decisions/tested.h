// SPDX-License-Identifier: Apache-2.0
// Runs predicate tests on the stored envelopes of statements. Each statement is parsed once for the
// tests of a policy; outcomes are then cached.
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

// Predicate tests of one evaluation. Use it on one thread; it borrows the snapshot and the cache.
class StoredTests final : public policy::PredicateTests {
 public:
  // `cache` may be null; outcomes are then kept for this evaluation only.
  StoredTests(storage::Snapshot& snapshot, DecisionCache* cache)
      : snapshot_(snapshot), cache_(cache) {}

  // Makes the statements in `envelopes`, about `artifact`, available to tests. Both arguments must
  // outlive this object.
  void add(const std::string& artifact, const Envelopes& envelopes) {
    models_.push_back({&artifact, &envelopes});
  }

  // Runs one test. When the predicate cannot be read, returns the outcome of an error, and status()
  // gives the reason.
  [[nodiscard]] policy::TestOutcome run(const policy::StatementFact& statement,
                                        const PredicateTest& test) const override;
  // Returns OK when every test could be run. Without that there is no verdict. Errors: data-loss;
  // storage.
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

    [[nodiscard]] const policy::TestOutcome* find(const StatementId& id) const;
  };

  [[nodiscard]] Result<policy::TestOutcome> try_run(const policy::StatementFact& statement,
                                                    const PredicateTest& test) const;
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
