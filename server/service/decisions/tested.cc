// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/tested.h"

#include "attestation/dsse.h"
#include "schemas/statement.h"

namespace assay::server {

policy::TestOutcome StoredTests::run(const policy::StatementFact& statement,
                                     const PredicateTest& test, Timestamp now) const {
  auto outcome = try_run(statement, test, now);
  if (outcome) {
    return *std::move(outcome);
  }
  status_ = std::unexpected(outcome.error());
  return {Outcome::kError, Reason::kConditionUndecided, nullptr};
}

const policy::TestOutcome* StoredTests::Known::find(const StatementId& id, Timestamp now) const {
  const auto holds = [&](const policy::TestOutcome& outcome) {
    return now >= outcome.from && now < outcome.until;
  };
  if (before) {
    if (const auto one = before->find(id); one != before->end() && holds(one->second)) {
      return &one->second;
    }
  }
  const auto one = found.find(id);
  return one == found.end() || !holds(one->second) ? nullptr : &one->second;
}

Result<policy::TestOutcome> StoredTests::try_run(const policy::StatementFact& statement,
                                                 const PredicateTest& test, Timestamp now) const {
  std::vector<Known>& models = known_about(test);
  for (const Known& known : models) {
    if (const policy::TestOutcome* outcome = known.find(statement.id, now)) {
      return *outcome;
    }
  }
  std::size_t model = 0;
  ASSAY_ASSIGN(const Json* predicate, predicate_of(statement.id, model));
  return models[model]
      .found.insert_or_assign(statement.id, policy::run(test, *predicate, now))
      .first->second;
}

void StoredTests::remember() const {
  for (const auto& [test, models] : known_) {
    for (const Known& known : models) {
      if (cache_ == nullptr || known.found.empty()) {
        continue;
      }
      Outcomes all = known.found;  // newer than what was known before
      if (known.before) {
        all.insert(known.before->begin(), known.before->end());
      }
      const std::size_t weight = all.size();
      cache_->tests.put(known.key, std::make_shared<const Outcomes>(std::move(all)), weight);
    }
  }
}

Result<const Json*> StoredTests::predicate_of(const StatementId& id, std::size_t& model) const {
  for (model = 0; model < models_.size(); ++model) {
    const Envelopes& envelopes = *models_[model].envelopes;
    const auto it = envelopes.find(id);
    if (it == envelopes.end()) {
      continue;
    }
    if (last_ && last_->first == id) {
      return &last_->second;
    }
    ASSAY_ASSIGN(const storage::Document document, snapshot_.document(it->second));
    ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
    if (attestation::statement_id(envelope.payload_type, envelope.payload) != id) {
      return fail(ErrorCode::kDataLoss, "a stored envelope is that of another statement",
                  id.text());
    }
    ASSAY_ASSIGN(Statement statement, parse_statement(envelope.payload));
    last_.emplace(id, std::move(statement.predicate));
    return &last_->second;
  }
  return fail(ErrorCode::kDataLoss, "nothing says where a statement is stored", id.text());
}

std::vector<StoredTests::Known>& StoredTests::known_about(const PredicateTest& test) const {
  const auto [it, added] = known_.try_emplace(&test);
  if (added) {
    const std::string text = " " + to_json(test).dump();
    for (const Model& model : models_) {
      Known known{*model.artifact + text, nullptr, {}};
      if (cache_ != nullptr) {
        known.before = cache_->tests.find(known.key).value_or(nullptr);
      }
      it->second.push_back(std::move(known));
    }
  }
  return it->second;
}

}  // namespace assay::server
