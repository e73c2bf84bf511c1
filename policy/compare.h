// SPDX-License-Identifier: Apache-2.0
// Tests values in the predicate of a statement: finds them by JSON pointers (RFC 6901), and
// compares them by their types.
#pragma once

#include <compare>
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
// their own type, and only by ==, != and `in`; every other comparison is an error here. Objects and
// arrays cannot be compared. For `in`, `expected` is a list: the result is pass when one element
// equals `actual`, and error when no element has the type of `actual`. Every comparison with an
// integer that was kept apart (schemas/core/json_foreign.h) is an error: it is never rounded, and
// never taken for a text.
[[nodiscard]] Outcome compare(const Json& actual, Comparison op, const Json& expected);

// Returns what a comparison comes to for values in this order. For `in`, the order is that of one
// item of the list. Error for values without an order, and for operators that need none.
[[nodiscard]] Outcome judge_order(std::partial_ordering order, Comparison op);

// Returns whether `document` has a value at `pointer`; nullopt when that cannot be told, because a
// value on the way is neither an object nor an array with such an index.
[[nodiscard]] std::optional<bool> is_there(const Json& document, std::string_view pointer);

// Returns `value` in the form that decisions show. An integer that was kept apart is the text of
// its digits. Strings over 256 bytes, and all objects and arrays, are replaced by their type and
// size, so that decisions about a large statement stay small.
[[nodiscard]] Json shown(const Json& value);

// Limits of one test: items of an array that is compared as a set or tested item by item, and tests
// of items in all. Beyond them a test is an error.
inline constexpr std::size_t kMaxItems = 1024;
inline constexpr std::size_t kMaxItemTestsRun = 16384;

struct TestOutcome {
  Outcome outcome;             // pass, fail or error
  std::optional<Reason> code;  // predicate-mismatch, value-missing or condition-undecided
  Json actual;  // what shown() returns; null when the value is missing. For a test of items:
                // {"items", "passed", "failed"}
  // The outcome is the same at every time from `from` (included) to `until` (excluded).
  Timestamp from = Timestamp::min();
  Timestamp until = Timestamp::max();
};

// Runs one test at the time `now`.
//
// Without a type, values compare as compare() says. As timestamps and as semantic versions, texts
// are compared by what they stand for; any other text or value is an error. The comparisons of sets
// (subset, superset, disjoint, contains) need an array of at most kMaxItems scalars; an item whose
// type no expected value has is an error. `matches` needs a text. `exists` needs no value, and is
// an error only when is_there() cannot tell.
//
// A test of items needs an array of at most kMaxItems. `each` fails when one item fails, and passes
// when all pass; `any` passes when one passes, and fails when all fail; `none` is the contrary of
// `any`. Otherwise the test is an error. An item passes when all its tests do, and fails when one
// fails.
[[nodiscard]] TestOutcome run(const PredicateTest& test, const Json& predicate, Timestamp now);

// Returns {"pointer", "op", "expected"} of a test, with "type" if there is one; for a test of items
// its quantifier with the pointer, and the number of its tests.
[[nodiscard]] Json expected_of(const PredicateTest& test);

// Runs tests on predicates that are stored outside of StatementFact (policy/facts.h). An
// implementation must always return the same result for the same statement, test and time.
class PredicateTests {
 public:
  virtual ~PredicateTests() = default;
  [[nodiscard]] virtual TestOutcome run(const StatementFact& statement, const PredicateTest& test,
                                        Timestamp now) const = 0;
};

}  // namespace assay::policy
