// SPDX-License-Identifier: Apache-2.0
#include "server/service/tested.h"

#include "attestation/dsse.h"
#include "schemas/statement.h"

namespace assay::server {

policy::TestOutcome StoredTests::run(const policy::StatementFact& statement,
                                     const PredicateTest& test) const {
  auto outcome = try_run(statement, test);
  if (outcome) {
    return *std::move(outcome);
  }
  status_ = std::unexpected(outcome.error());
  return {Outcome::kError, Reason::kConditionUndecided, nullptr};
}

Result<policy::TestOutcome> StoredTests::try_run(const policy::StatementFact& statement,
                                                 const PredicateTest& test) const {
  std::string key;
  if (cache_ != nullptr) {
    const ByteView id = statement.id.digest().bytes();
    key.assign(id.begin(), id.end());
    key += text_of(test);
    if (auto known = cache_->tests.find(key)) {
      return *std::move(known);
    }
  }
  ASSAY_ASSIGN(const Json* predicate, predicate_of(statement.id));
  policy::TestOutcome outcome = policy::run(test, *predicate);
  if (cache_ != nullptr) {
    cache_->tests.put(key, outcome);
  }
  return outcome;
}

Result<const Json*> StoredTests::predicate_of(const StatementId& id) const {
  if (last_ && last_->first == id) {
    return &last_->second;
  }
  for (const Envelopes* envelopes : envelopes_) {
    const auto it = envelopes->find(id);
    if (it == envelopes->end()) {
      continue;
    }
    const auto document = snapshot_.document(it->second);
    if (!document && document.error().code != ErrorCode::kNotFound) {
      return std::unexpected(document.error());
    }
    if (!document) {
      return fail(ErrorCode::kDataLoss, "the envelope of a statement is missing", id.text());
    }
    ASSAY_ASSIGN(const attestation::Envelope envelope,
                 attestation::parse_envelope(document->bytes));
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

const std::string& StoredTests::text_of(const PredicateTest& test) const {
  std::string& text = texts_[&test];
  if (text.empty()) {
    text = std::string(name(test.op)) + " " + test.value.dump() + " " + test.pointer;
  }
  return text;
}

}  // namespace assay::server
