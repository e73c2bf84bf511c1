// SPDX-License-Identifier: Apache-2.0
// Runs one test of a predicate: typed comparisons, sets, patterns, and tests of the items of an
// array.
#include <algorithm>
#include <compare>
#include <set>
#include <string>
#include <vector>

#include "policy/compare.h"
#include "policy/facts.h"
#include "schemas/instant.h"
#include "schemas/semver.h"

namespace assay::policy {
namespace {

// An outcome, and when it is the outcome.
struct Answer {
  Outcome outcome = Outcome::kError;
  Timestamp from = Timestamp::min();
  Timestamp until = Timestamp::max();

  void narrow(const Answer& other) {
    from = std::max(from, other.from);
    until = std::min(until, other.until);
  }
};

Outcome outcome_of(bool holds) { return holds ? Outcome::kPass : Outcome::kFail; }

const std::string* text_of(const Json& value) {
  return value.is_string() ? &value.get_ref<const std::string&>() : nullptr;
}

// --- timestamps

// How `time` compares with `now` minus `seconds`. That changes at time + seconds, and just after.
Answer compare_with_now(const Instant& time, Comparison op, std::uint64_t seconds, Timestamp now) {
  constexpr std::chrono::milliseconds kTick(1);
  Instant turn = time;
  turn.seconds += static_cast<std::int64_t>(seconds);
  const Timestamp before = floor_of(turn);
  const auto order = turn <=> instant_of(now);
  Answer answer{judge_order(order, op)};
  if (order > 0) {
    answer.until = instant_of(before) == turn ? before : before + kTick;
  } else if (order == 0) {
    answer.from = now;
    answer.until = now + kTick;
  } else {
    answer.from = before + kTick;
  }
  return answer;
}

Answer compare_timestamp(const Json& actual, Comparison op, const Json& expected, Timestamp now) {
  const std::string* text = text_of(actual);
  const auto time = text == nullptr ? std::nullopt : [&]() -> std::optional<Instant> {
    const auto parsed = parse_instant(*text);
    return parsed ? std::optional(*parsed) : std::nullopt;
  }();
  if (!time) {
    return {};
  }
  if (const std::string* other = text_of(expected)) {
    const auto parsed = parse_instant(*other);
    return parsed ? Answer{judge_order(*time <=> *parsed, op)} : Answer{};
  }
  const auto seconds = expected.is_object() ? expected.find(kNowMinusSeconds) : expected.end();
  if (seconds == expected.end() || !seconds->is_number_integer()) {
    return {};
  }
  const auto minus = seconds->get<std::int64_t>();
  return minus < 0 || minus > static_cast<std::int64_t>(kMaxNowMinusSeconds)
             ? Answer{}
             : compare_with_now(*time, op, static_cast<std::uint64_t>(minus), now);
}

// --- semantic versions

Answer compare_semver(const Json& actual, Comparison op, const Json& expected) {
  const std::string* text = text_of(actual);
  const std::string* other = text_of(expected);
  if (text == nullptr || other == nullptr) {
    return {};
  }
  const auto version = parse_semver(*text);
  const auto wanted = parse_semver(*other);
  return version && wanted ? Answer{judge_order(*version <=> *wanted, op)} : Answer{};
}

Answer compare_typed(const PredicateTest& test, const Json& actual, const Json& expected,
                     Timestamp now) {
  return test.type == ValueType::kTimestamp ? compare_timestamp(actual, test.op, expected, now)
                                            : compare_semver(actual, test.op, expected);
}

// Of a list, one element that is equal is enough, as in compare().
Answer run_typed(const PredicateTest& test, const Json& actual, Timestamp now) {
  if (test.op != Comparison::kIn) {
    return compare_typed(test, actual, test.value, now);
  }
  Answer answer;
  for (const Json& element : test.value) {
    const Answer one = compare_typed(test, actual, element, now);
    answer.narrow(one);
    if (answer.outcome != Outcome::kPass && one.outcome != Outcome::kError) {
      answer.outcome = one.outcome;
    }
  }
  return answer;
}

// --- sets

// Scalars, numbers by value: 1 and 1.0 are the same.
struct ScalarLess {
  static int rank(const Json& value) {
    return value.is_number() ? 1 : value.is_string() ? 2 : value.is_boolean() ? 3 : 4;
  }
  bool operator()(const Json* a, const Json* b) const {
    if (rank(*a) != rank(*b)) {
      return rank(*a) < rank(*b);
    }
    return a->is_number() ? compare(*a, Comparison::kLess, *b) == Outcome::kPass : *a < *b;
  }
};

bool is_scalar(const Json& value) { return value.is_primitive() && !value.is_binary(); }

using Scalars = std::set<const Json*, ScalarLess>;

std::optional<Scalars> scalars_of(const Json& list) {
  if (!list.is_array() || list.size() > kMaxItems ||
      !std::all_of(list.begin(), list.end(), is_scalar)) {
    return std::nullopt;
  }
  Scalars scalars;
  for (const Json& value : list) {
    scalars.insert(&value);
  }
  return scalars;
}

bool is_subset(const Scalars& part, const Scalars& whole) {
  return std::all_of(part.begin(), part.end(),
                     [&](const Json* one) { return whole.contains(one); });
}

Outcome compare_sets(const Json& actual, Comparison op, const Json& expected) {
  const auto items = scalars_of(actual);
  const auto wanted = op == Comparison::kContains && is_scalar(expected) ? Scalars{&expected}
                                                                         : scalars_of(expected);
  if (!items || !wanted || (op == Comparison::kContains && !is_scalar(expected))) {
    return Outcome::kError;
  }
  const bool comparable = std::all_of(items->begin(), items->end(), [&](const Json* item) {
    return std::any_of(wanted->begin(), wanted->end(), [&](const Json* one) {
      return ScalarLess::rank(*one) == ScalarLess::rank(*item);
    });
  });
  if (!comparable) {
    return Outcome::kError;
  }
  switch (op) {
    case Comparison::kSubset:
      return outcome_of(is_subset(*items, *wanted));
    case Comparison::kSuperset:
    case Comparison::kContains:
      return outcome_of(is_subset(*wanted, *items));
    default:
      return outcome_of(std::none_of(items->begin(), items->end(),
                                     [&](const Json* item) { return wanted->contains(item); }));
  }
}

// --- patterns

Outcome match(const PredicateTest& test, const Json& actual) {
  const std::string* text = text_of(actual);
  const std::string* wanted = text_of(test.value);
  if (text == nullptr || wanted == nullptr) {
    return Outcome::kError;
  }
  std::shared_ptr<const Pattern> pattern = test.pattern;
  if (pattern == nullptr) {
    const auto compiled = Pattern::compile(*wanted);
    pattern = compiled ? *compiled : nullptr;
  }
  if (pattern == nullptr) {
    return Outcome::kError;
  }
  const auto matches = pattern->matches(*text);
  return matches ? outcome_of(*matches) : Outcome::kError;
}

Answer run_on(const PredicateTest& test, const Json& actual, Timestamp now) {
  if (test.type != ValueType::kPlain) {
    return run_typed(test, actual, now);
  }
  switch (test.op) {
    case Comparison::kMatches:
      return {match(test, actual)};
    case Comparison::kSubset:
    case Comparison::kSuperset:
    case Comparison::kDisjoint:
    case Comparison::kContains:
      return {compare_sets(actual, test.op, test.value)};
    default:
      return {compare(actual, test.op, test.value)};
  }
}

TestOutcome result_of(const Answer& answer, Json actual) {
  TestOutcome result{answer.outcome, std::nullopt, std::move(actual), answer.from, answer.until};
  if (answer.outcome != Outcome::kPass) {
    result.code =
        answer.outcome == Outcome::kFail ? Reason::kPredicateMismatch : Reason::kConditionUndecided;
  }
  return result;
}

// --- items of arrays

// Runs the tests of items, and counts them.
class Run {
 public:
  explicit Run(Timestamp now) : now_(now) {}

  TestOutcome test(const PredicateTest& test, const Json& document) {
    if (test.items) {
      return items(test, document);
    }
    if (test.op == Comparison::kExists) {
      return exists(test, document);
    }
    const Json* value = value_at(document, test.pointer);
    return value == nullptr ? missing() : result_of(run_on(test, *value, now_), shown(*value));
  }

 private:
  static TestOutcome missing() { return {Outcome::kError, Reason::kValueMissing, nullptr}; }

  static TestOutcome exists(const PredicateTest& test, const Json& document) {
    const auto there = is_there(document, test.pointer);
    if (!there || !test.value.is_boolean()) {
      return result_of({}, nullptr);
    }
    return result_of({outcome_of(*there == test.value.get<bool>())}, *there);
  }

  // All tests of one item: fails when one fails.
  Answer item(const PredicateTest& test, const Json& value) {
    Answer answer{test.where.empty() ? Outcome::kError : Outcome::kPass};
    for (const PredicateTest& part : test.where) {
      if (++run_ > kMaxItemTestsRun) {
        return {};
      }
      const TestOutcome one = this->test(part, value);
      answer.narrow({one.outcome, one.from, one.until});
      if (answer.outcome != Outcome::kFail && one.outcome != Outcome::kPass) {
        answer.outcome = one.outcome;
      }
    }
    return answer;
  }

  TestOutcome items(const PredicateTest& test, const Json& document) {
    const Json* list = value_at(document, test.pointer);
    if (list == nullptr) {
      return missing();
    }
    if (!list->is_array() || list->size() > kMaxItems) {
      return result_of({}, shown(*list));
    }
    std::size_t passed = 0;
    std::size_t failed = 0;
    Answer answer;
    for (const Json& value : *list) {
      const Answer one = item(test, value);
      answer.narrow(one);
      passed += one.outcome == Outcome::kPass ? 1U : 0U;
      failed += one.outcome == Outcome::kFail ? 1U : 0U;
    }
    answer.outcome = run_ > kMaxItemTestsRun
                         ? Outcome::kError
                         : quantified(*test.items, passed, failed, list->size());
    return result_of(answer, {{"items", list->size()}, {"passed", passed}, {"failed", failed}});
  }

  static Outcome quantified(ItemQuantifier items, std::size_t passed, std::size_t failed,
                            std::size_t all) {
    if (items == ItemQuantifier::kEach) {
      return failed > 0 ? Outcome::kFail : passed == all ? Outcome::kPass : Outcome::kError;
    }
    if (passed > 0) {
      return outcome_of(items == ItemQuantifier::kAny);
    }
    return failed == all ? outcome_of(items == ItemQuantifier::kNone) : Outcome::kError;
  }

  Timestamp now_;
  std::size_t run_ = 0;
};

}  // namespace

TestOutcome run(const PredicateTest& test, const Json& predicate, Timestamp now) {
  return Run(now).test(test, predicate);
}

Json expected_of(const PredicateTest& test) {
  if (test.items) {
    return {{std::string(name(*test.items)), test.pointer}, {"tests", test.where.size()}};
  }
  Json json = {{"pointer", test.pointer}, {"op", name(test.op)}, {"expected", test.value}};
  if (test.type != ValueType::kPlain) {
    json["type"] = name(test.type);
  }
  return json;
}

}  // namespace assay::policy
