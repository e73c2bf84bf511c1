// SPDX-License-Identifier: Apache-2.0
// Tests of the values in a predicate, as policies write them. policy/compare.h runs them, and says
// what each comparison means. Schema: policy.schema.json, definition "test".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.h"
#include "schemas/pattern.h"

namespace assay {

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,        // the value equals one of a list
  kMatches,   // the whole text matches a pattern (schemas/pattern.h)
  kSubset,    // every item of the array is in the list
  kSuperset,  // every value of the list is an item of the array
  kDisjoint,  // no item of the array is in the list
  kContains,  // one item of the array equals the value
  kExists,    // the value is there (true) or is not there (false)
};
// Returns "==", "!=", "<", "<=", ">", ">=", "in", "matches", "subset", "superset", "disjoint",
// "contains" or "exists".
[[nodiscard]] std::string_view name(Comparison comparison);

// What a text stands for when it is compared by ==, !=, an order, or `in`.
enum class ValueType : std::uint8_t {
  kPlain,      // itself
  kTimestamp,  // an instant (schemas/instant.h)
  kSemver,     // a semantic version (schemas/semver.h)
};
[[nodiscard]] std::string_view name(ValueType type);  // "plain", "timestamp", "semver"

// How many items of an array must pass.
enum class ItemQuantifier : std::uint8_t { kEach, kAny, kNone };
[[nodiscard]] std::string_view name(ItemQuantifier items);  // "each", "any", "none"

// Nesting of tests over items of arrays, and tests in one such test.
inline constexpr std::size_t kMaxItemLevels = 2;
inline constexpr std::size_t kMaxItemTests = 16;

// Member of the value of a timestamp test that stands for the time of the evaluation, minus so many
// seconds: {"now_minus_seconds": 86400}. At most 100 years.
inline constexpr std::string_view kNowMinusSeconds = "now_minus_seconds";
inline constexpr std::uint64_t kMaxNowMinusSeconds = 3'155'760'000;

// Compares one value in a predicate with `value`. With `items`: the value is an array, and as many
// of its items as `items` says must pass all tests in `where`.
struct PredicateTest {
  std::string pointer{};               // RFC 6901, into the predicate; below `where`, into the item
  Comparison op = Comparison::kEqual;  // not used with `items`
  Json value{};                        // not used with `items`
  ValueType type = ValueType::kPlain;
  // Compiled `value` of the comparison kMatches. When null, the pattern is compiled at each test.
  std::shared_ptr<const Pattern> pattern{};
  std::optional<ItemQuantifier> items{};
  std::vector<PredicateTest> where{};  // used only with `items`
};

// Parses a test whose shape policy.schema.json has checked; `level` is 0 outside of items. `budget`
// is that of the document. Errors: policy-invalid, with the JSON pointer of the place below
// `place`, for a value that the comparison cannot use, and when the budget is used up.
[[nodiscard]] Result<PredicateTest> predicate_test_from_json(const Json& json,
                                                             const std::string& place,
                                                             PatternBudget& budget,
                                                             std::size_t level = 0);
[[nodiscard]] Json to_json(const PredicateTest& test);

// Returns whether the outcome of the test depends on the time of the evaluation.
[[nodiscard]] bool reads_now(const PredicateTest& test);

}  // namespace assay
