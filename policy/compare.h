// SPDX-License-Identifier: Apache-2.0
// Tests one value in the predicate of a statement: finds the value by its JSON pointer (RFC 6901),
// and compares the value by its type.
#pragma once

#include <optional>
#include <string_view>

#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

struct StatementFact;

// Returns the value that `pointer` leads to, borrowed from `document`. Returns nullptr when the
// document has no such value or the pointer is malformed.
[[nodiscard]] const Json* value_at(const Json& document, std::string_view pointer);

// Returns pass or fail, or error when the types do not fit. Numbers are compared only with numbers,
// exactly and by value: 1 equals 1.0. Strings, booleans and null are compared only with values of
// their own type, and only by ==, != and `in`. Objects and arrays cannot be compared. For `in`,
// `expected` is a list: the result is pass when one element equals `actual`, and error when no
// element has the type of `actual`.
[[nodiscard]] Outcome compare(const Json& actual, Comparison op, const Json& expected);

// Returns `value` in the form that decisions show. Strings over 256 bytes, and all objects and
// arrays, are replaced by their type and size, so that decisions about a large statement stay
// small.
[[nodiscard]] Json shown(const Json& value);

struct TestOutcome {
  Outcome outcome;             // pass, fail or error
  std::optional<Reason> code;  // predicate-mismatch, value-missing or condition-undecided
  Json actual;                 // what shown() returns; null when the value is missing
};

[[nodiscard]] TestOutcome run(const PredicateTest& test, const Json& predicate);

// Runs tests on predicates that are stored outside of StatementFact (policy/facts.h). An
// implementation must always return the same result for the same statement and test.
class PredicateTests {
 public:
  virtual ~PredicateTests() = default;
  [[nodiscard]] virtual TestOutcome run(const StatementFact& statement,
                                        const PredicateTest& test) const = 0;
};

}  // namespace assay::policy
