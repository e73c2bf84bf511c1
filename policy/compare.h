// SPDX-License-Identifier: Apache-2.0
// One comparison with a value in a predicate: finding the value (RFC 6901) and comparing it by
// type.
#pragma once

#include <optional>
#include <string_view>

#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

struct StatementFact;

// The value that `pointer` leads to, borrowed from `document`; nullptr when there is none or the
// pointer is malformed.
[[nodiscard]] const Json* value_at(const Json& document, std::string_view pointer);

// pass or fail; error when the types do not fit: numbers compare with numbers (by value, exactly,
// whether written 1 or 1.0), strings, booleans and null only with their own kind and only by ==, !=
// and in; objects and arrays with nothing. `in` takes a list: pass when one element equals, error
// when no element is of the value's kind.
[[nodiscard]] Outcome compare(const Json& actual, Comparison op, const Json& expected);

// `value` as an explanation shows it: objects, arrays and strings over 256 bytes only by kind and
// size, so that a statement cannot blow up the decisions about it.
[[nodiscard]] Json shown(const Json& value);

struct TestOutcome {
  Outcome outcome;             // pass, fail or error
  std::optional<Reason> code;  // predicate-mismatch, value-missing or condition-undecided
  Json actual;                 // shown(); null when the value is missing
};

[[nodiscard]] TestOutcome run(const PredicateTest& test, const Json& predicate);

// What run() gives about predicates that are kept elsewhere: of one statement and test always the
// same.
class PredicateTests {
 public:
  virtual ~PredicateTests() = default;
  [[nodiscard]] virtual TestOutcome run(const StatementFact& statement,
                                        const PredicateTest& test) const = 0;
};

}  // namespace assay::policy
