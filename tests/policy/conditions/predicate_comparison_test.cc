// SPDX-License-Identifier: Apache-2.0
// Typed comparisons, patterns, sets, and tests of the items of arrays.
#include <gtest/gtest.h>

#include "policy/compare.h"
#include "schemas/core/json_foreign.h"
#include "tests/policy/fixture.h"
#include "tests/support/vectors.h"

namespace assay::policy::test {
namespace {

Result<PredicateTest> read(const Json& json) {
  PatternBudget budget;
  return predicate_test_from_json(json, "", budget);
}

PredicateTest parsed(const char* text) {
  auto test = read(parse_json(text).value());
  EXPECT_TRUE(test) << text << (test ? "" : to_string(test.error()));
  return test.value_or(PredicateTest{});
}

Outcome outcome_of(const char* test, const char* document, Timestamp at = now()) {
  return run(parsed(test), parse_json(document).value(), at).outcome;
}

constexpr auto kPass = Outcome::kPass;
constexpr auto kFail = Outcome::kFail;
constexpr auto kError = Outcome::kError;

TEST(Timestamps, AreComparedAsInstants) {
  const char* const after =
      R"({"pointer":"/t","type":"timestamp","op":">","value":"2026-01-01T00:00:00Z"})";
  EXPECT_EQ(outcome_of(after, R"({"t":"2026-01-01T00:00:00.000000001Z"})"), kPass);
  EXPECT_EQ(outcome_of(after, R"({"t":"2026-01-01T00:30:00+01:00"})"), kFail);
  EXPECT_EQ(outcome_of(after, R"({"t":"2025-12-31T23:30:00-01:00"})"), kPass);
  const char* const equal =
      R"({"pointer":"/t","type":"timestamp","op":"==","value":"2026-01-01T00:00:00Z"})";
  EXPECT_EQ(outcome_of(equal, R"({"t":"2026-01-01t01:00:00.000+01:00"})"), kPass);
  const char* const one_of =
      R"({"pointer":"/t","type":"timestamp","op":"in","value":["2026-01-01T00:00:00Z","2026-01-02T00:00:00Z"]})";
  EXPECT_EQ(outcome_of(one_of, R"({"t":"2026-01-02T01:00:00+01:00"})"), kPass);
  EXPECT_EQ(outcome_of(one_of, R"({"t":"2026-01-03T00:00:00Z"})"), kFail);
}

TEST(Timestamps, WhatIsNone_IsAnError) {
  const char* const test =
      R"({"pointer":"/t","type":"timestamp","op":"!=","value":"2026-01-01T00:00:00Z"})";
  for (const char* document :
       {R"({"t":"yesterday"})", R"({"t":1767225600})", R"({"t":null})", R"({"t":["x"]})",
        R"({"t":"2026-01-01"})", R"({"t":"2026-01-01T00:00:00"})",
        R"({"t":"2026-01-01T00:00:60Z"})", R"({"t":"2026-01-01T00:00:00+24:00"})",
        R"({"t":"2026-01-01T00:00:00.0000000001Z"})", R"({"t":"2026-02-30T00:00:00Z"})", "{}"}) {
    EXPECT_EQ(outcome_of(test, document), kError) << document;
  }
}

TEST(Timestamps, AgainstNow_SayWhenTheyChange) {
  const PredicateTest fresh =
      parsed(R"({"pointer":"/t","type":"timestamp","op":">=","value":{"now_minus_seconds":60}})");
  EXPECT_TRUE(reads_now(fresh));
  const Json document = {{"t", to_rfc3339(from_now(-30))}};
  const TestOutcome before = run(fresh, document, now());
  EXPECT_EQ(before.outcome, kPass);
  EXPECT_EQ(before.until, from_now(30));
  const TestOutcome at = run(fresh, document, before.until);
  EXPECT_EQ(at.outcome, kPass);
  EXPECT_EQ(at.from, from_now(30));
  EXPECT_EQ(at.until, from_now(30) + std::chrono::milliseconds(1));
  const TestOutcome after = run(fresh, document, at.until);
  EXPECT_EQ(after.outcome, kFail);
  EXPECT_EQ(after.from, at.until);
  EXPECT_EQ(after.until, Timestamp::max());
}

TEST(Versions, HaveThePrecedenceOfSemver) {
  const char* const ascending[] = {"1.0.0-alpha",
                                   "1.0.0-alpha.1",
                                   "1.0.0-alpha.beta",
                                   "1.0.0-beta",
                                   "1.0.0-beta.2",
                                   "1.0.0-beta.11",
                                   "1.0.0-rc.1",
                                   "1.0.0",
                                   "1.2.0",
                                   "1.10.0",
                                   "99999999999999999999.0.0"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t k = 0; k < std::size(ascending); ++k) {
      const PredicateTest test{"/v", Comparison::kLess, ascending[k], ValueType::kSemver};
      EXPECT_EQ(run(test, {{"v", ascending[i]}}, now()).outcome, i < k ? kPass : kFail)
          << ascending[i] << " < " << ascending[k];
    }
  }
  EXPECT_EQ(outcome_of(R"({"pointer":"/v","type":"semver","op":"==","value":"1.0.0+a"})",
                       R"({"v":"1.0.0+b"})"),
            kPass);
}

TEST(Versions, WhatIsNone_IsAnError) {
  for (const char* document :
       {R"({"v":"v1.0.0"})", R"({"v":"1.0"})", R"({"v":"01.0.0"})", R"({"v":"1.0.0-"})",
        R"({"v":"1.0.0-01"})", R"({"v":1})", R"({"v":"1.0.0+"})", R"({"v":""})"}) {
    EXPECT_EQ(outcome_of(R"({"pointer":"/v","type":"semver","op":"!=","value":"1.0.0"})", document),
              kError)
        << document;
  }
}

TEST(Patterns, MatchTheWholeText) {
  const char* const test = R"({"pointer":"/n","op":"matches","value":"acme/[a-z]+"})";
  EXPECT_EQ(outcome_of(test, R"({"n":"acme/demo"})"), kPass);
  EXPECT_EQ(outcome_of(test, R"({"n":"evil/acme/demo"})"), kFail);
  EXPECT_EQ(outcome_of(test, R"({"n":"acme/demo/x"})"), kFail);
  EXPECT_EQ(outcome_of(test, R"({"n":7})"), kError);
  EXPECT_EQ(outcome_of(test, R"({"n":["acme/demo"]})"), kError);
  // '.' is every character: what stands behind a newline is no way past a pattern.
  EXPECT_EQ(outcome_of(R"({"pointer":"/n","op":"matches","value":".*evil.*"})",
                       R"({"n":"acme/demo\nevil"})"),
            kPass);
}

TEST(Patterns, Texts_AreMatchedUpToTheLimitAndNotOnePast) {
  const PredicateTest test = parsed(R"({"pointer":"/n","op":"matches","value":"a*"})");
  std::string text(Pattern::kMaxTextBytes, 'a');
  EXPECT_EQ(run(test, {{"n", text}}, now()).outcome, kPass);
  text += 'a';
  EXPECT_EQ(run(test, {{"n", text}}, now()).outcome, kError);
}

TEST(Patterns, EndAtTheirLimitOfBytes) {
  const auto of = [](std::size_t bytes) {
    const Json test = {{"pointer", "/t"}, {"op", "matches"}, {"value", std::string(bytes, 'a')}};
    return ::assay::test::code_of(read(test));
  };
  EXPECT_EQ(of(Pattern::kMaxBytes), "ok");
  EXPECT_EQ(of(Pattern::kMaxBytes + 1), "policy-invalid");
}

TEST(Sets, CompareScalarsByValue) {
  const auto sets = [](const char* op, const char* items, const char* value) {
    PredicateTest test{"/s", Comparison::kEqual, parse_json(value).value()};
    for (const Comparison one : {Comparison::kSubset, Comparison::kSuperset, Comparison::kDisjoint,
                                 Comparison::kContains}) {
      test.op = name(one) == op ? one : test.op;
    }
    return run(test, {{"s", parse_json(items).value()}}, now()).outcome;
  };
  EXPECT_EQ(sets("subset", R"(["a","b"])", R"(["a","b","c"])"), kPass);
  EXPECT_EQ(sets("subset", R"(["a","d"])", R"(["a","b","c"])"), kFail);
  EXPECT_EQ(sets("subset", "[]", R"(["a"])"), kPass);
  EXPECT_EQ(sets("subset", "[1.0, 2]", "[1, 2.0, 3]"), kPass);
  EXPECT_EQ(sets("superset", R"(["a","b"])", R"(["b"])"), kPass);
  EXPECT_EQ(sets("superset", R"(["a"])", R"(["a","b"])"), kFail);
  EXPECT_EQ(sets("disjoint", R"(["a"])", R"(["b","c"])"), kPass);
  EXPECT_EQ(sets("disjoint", R"(["a","c"])", R"(["b","c"])"), kFail);
  EXPECT_EQ(sets("contains", R"(["a","b"])", R"("b")"), kPass);
  EXPECT_EQ(sets("contains", R"(["a","b"])", R"("c")"), kFail);
  EXPECT_EQ(sets("contains", "[]", R"("c")"), kFail);
  // Of another type than what they are compared with.
  EXPECT_EQ(sets("disjoint", "[1]", R"(["b"])"), kError);
  EXPECT_EQ(sets("subset", R"(["a",1])", R"(["a"])"), kError);
  EXPECT_EQ(sets("contains", R"(["1"])", "1"), kError);
  EXPECT_EQ(sets("disjoint", R"([["b"]])", R"(["b"])"), kError);
  EXPECT_EQ(sets("disjoint", R"("a")", R"(["b"])"), kError);
  EXPECT_EQ(sets("disjoint", "{}", R"(["b"])"), kError);
}

TEST(Sets, BeyondTheLimit_AreErrors) {
  const PredicateTest test{"/s", Comparison::kSubset, {1}};
  const auto of = [](std::size_t size) { return Json{{"s", std::vector<int>(size, 1)}}; };
  EXPECT_EQ(run(test, of(kMaxItems), now()).outcome, kPass);
  EXPECT_EQ(run(test, of(kMaxItems + 1), now()).outcome, kError);
}

// Integers beyond 2^53, as predicates of others have them. Nothing is known of them but that they
// are there: each comparison is undecided, with numbers, which would round, and with texts.
TEST(LargeIntegers, AreUndecidedInEveryComparison) {
  const Json document =
      parse_exact_json(as_bytes(R"({"seed":13938349572398471239,"seeds":[13938349572398471239]})"))
          .value();
  const auto outcome = [&document](const std::string& test) {
    return run(parsed(test.c_str()), document, now());
  };
  for (const char* op : {"==", "!=", "<", "<=", ">", ">="}) {
    for (const char* value :
         {"0", "1", "-1", "9007199254740991", "1.3938349572398471e21", "1e300"}) {
      const std::string test =
          std::string(R"({"pointer":"/seed","op":")") + op + R"(","value":)" + value + "}";
      EXPECT_EQ(outcome(test).outcome, kError) << test;
    }
  }
  for (const char* rest :
       {R"("op":"==","value":"13938349572398471239")",
        R"("op":"!=","value":"13938349572398471239")", R"("op":"!=","value":"other")",
        R"("op":"!=","value":null)", R"("op":"!=","value":true)",
        R"("op":"in","value":["13938349572398471239",1])", R"("op":"matches","value":"[0-9]+")",
        R"("op":"==","value":"1.0.0","type":"semver")"}) {
    EXPECT_EQ(outcome(std::string(R"({"pointer":"/seed",)") + rest + "}").outcome, kError) << rest;
  }
  for (const char* rest :
       {R"("op":"disjoint","value":["a"])", R"("op":"disjoint","value":[1])",
        R"("op":"subset","value":["13938349572398471239"])", R"("op":"superset","value":[])",
        R"("op":"contains","value":"13938349572398471239")", R"("op":"contains","value":1)"}) {
    EXPECT_EQ(outcome(std::string(R"({"pointer":"/seeds",)") + rest + "}").outcome, kError) << rest;
  }
  for (const char* items : {"each", "any", "none"}) {
    const std::string test = std::string("{\"") + items +
                             R"(":"/seeds","where":[{"pointer":"","op":"==","value":"a"}]})";
    EXPECT_EQ(outcome(test).outcome, kError) << test;
  }
  const TestOutcome there = outcome(R"({"pointer":"/seed","op":"exists","value":true})");
  EXPECT_EQ(there.outcome, kPass);
  const TestOutcome shown = outcome(R"({"pointer":"/seed","op":"==","value":1})");
  EXPECT_EQ(shown.actual, "13938349572398471239");
  EXPECT_EQ(shown.code, Reason::kConditionUndecided);
}

// The neighbours of those: numbers that a double holds, however they are written.
TEST(LargeIntegers, OtherNumbers_CompareByValue) {
  const auto outcome = [](const char* number, const char* rest) {
    const std::string text = std::string(R"({"n":)") + number + "}";
    return run(parsed((std::string(R"({"pointer":"/n",)") + rest + "}").c_str()),
               parse_exact_json(as_bytes(text)).value(), now())
        .outcome;
  };
  for (const char* zero : {"0", "-0", "-0.0", "0e9"}) {
    EXPECT_EQ(outcome(zero, R"("op":"==","value":0)"), kPass) << zero;
    EXPECT_EQ(outcome(zero, R"("op":"<","value":0)"), kFail) << zero;
  }
  EXPECT_EQ(outcome("1.0", R"("op":"==","value":1)"), kPass);
  EXPECT_EQ(outcome("1", R"("op":"==","value":1.0)"), kPass);
  EXPECT_EQ(outcome("9007199254740991", R"("op":"==","value":9007199254740991)"), kPass);
  EXPECT_EQ(outcome("9007199254740991", R"("op":"<","value":1e21)"), kPass);
  EXPECT_EQ(outcome("1e21", R"("op":">","value":9007199254740991)"), kPass);
  EXPECT_EQ(outcome("1e20", R"("op":">","value":0)"), kError) << "an integer beyond 2^53";
}

TEST(Exists, TellsAbsenceOnlyWhereItCanBeSeen) {
  const char* const there = R"({"pointer":"/a/b","op":"exists","value":true})";
  const char* const absent = R"({"pointer":"/a/b","op":"exists","value":false})";
  EXPECT_EQ(outcome_of(there, R"({"a":{"b":null}})"), kPass);
  EXPECT_EQ(outcome_of(absent, R"({"a":{"b":null}})"), kFail);
  EXPECT_EQ(outcome_of(there, R"({"a":{}})"), kFail);
  EXPECT_EQ(outcome_of(absent, R"({"a":{}})"), kPass);
  EXPECT_EQ(outcome_of(absent, "{}"), kPass);
  EXPECT_EQ(outcome_of(absent, R"({"a":"text"})"), kError);
  EXPECT_EQ(outcome_of(absent, R"({"a":[{"b":1}]})"), kError);
  EXPECT_EQ(outcome_of(R"({"pointer":"/a/1","op":"exists","value":false})", R"({"a":[0]})"), kPass);
}

constexpr const char* kInputs =
    R"({"inputs":[{"name":"a","role":"code"},{"name":"X","role":"dataset"}]})";

TEST(Items, EveryItemIsLookedAt) {
  const char* const any =
      R"({"any":"/inputs","where":[{"pointer":"/name","op":"==","value":"X"}]})";
  const char* const none =
      R"({"none":"/inputs","where":[{"pointer":"/name","op":"==","value":"X"}]})";
  const char* const each =
      R"({"each":"/inputs","where":[{"pointer":"/name","op":"!=","value":"X"}]})";
  EXPECT_EQ(outcome_of(any, kInputs), kPass);
  EXPECT_EQ(outcome_of(none, kInputs), kFail);
  EXPECT_EQ(outcome_of(each, kInputs), kFail);
  const char* const others = R"({"inputs":[{"name":"a"},{"name":"b"}]})";
  EXPECT_EQ(outcome_of(any, others), kFail);
  EXPECT_EQ(outcome_of(none, others), kPass);
  EXPECT_EQ(outcome_of(each, others), kPass);
  const char* const empty = R"({"inputs":[]})";
  EXPECT_EQ(outcome_of(any, empty), kFail);
  EXPECT_EQ(outcome_of(none, empty), kPass);
  EXPECT_EQ(outcome_of(each, empty), kPass);
}

// One item that cannot be judged leaves open what depends on it, and nothing else.
TEST(Items, OneThatIsUndecided_IsNeitherAPassNorAFail) {
  const char* const any = R"({"any":"/i","where":[{"pointer":"/n","op":"==","value":1}]})";
  const char* const none = R"({"none":"/i","where":[{"pointer":"/n","op":"==","value":1}]})";
  const char* const each = R"({"each":"/i","where":[{"pointer":"/n","op":"==","value":1}]})";
  for (const char* document : {R"({"i":[{"n":"text"},{"n":2}]})", R"({"i":[{},{"n":2}]})"}) {
    EXPECT_EQ(outcome_of(any, document), kError) << document;
    EXPECT_EQ(outcome_of(none, document), kError) << document;
    EXPECT_EQ(outcome_of(each, document), kFail) << document;
  }
  EXPECT_EQ(outcome_of(any, R"({"i":[{},{"n":1}]})"), kPass);
  EXPECT_EQ(outcome_of(none, R"({"i":[{},{"n":1}]})"), kFail);
  EXPECT_EQ(outcome_of(each, R"({"i":[{},{"n":1}]})"), kError);
  EXPECT_EQ(outcome_of(each, "{}"), kError);
  EXPECT_EQ(outcome_of(none, R"({"i":{"n":2}})"), kError);
}

TEST(Items, TestsOfOneItem_HoldTogetherAndNest) {
  const char* const both =
      R"({"any":"/inputs","where":[{"pointer":"/name","op":"==","value":"X"},{"pointer":"/role","op":"==","value":"code"}]})";
  EXPECT_EQ(outcome_of(both, kInputs), kFail);
  const char* const nested =
      R"({"any":"/a","where":[{"none":"/tags","where":[{"pointer":"","op":"==","value":"bad"}]}]})";
  EXPECT_EQ(outcome_of(nested, R"({"a":[{"tags":["bad"]},{"tags":["good"]}]})"), kPass);
  EXPECT_EQ(outcome_of(nested, R"({"a":[{"tags":["bad"]}]})"), kFail);
}

TEST(Items, BeyondTheLimits_AreErrors) {
  const PredicateTest any = parsed(R"({"none":"/i","where":[{"pointer":"","op":"==","value":1}]})");
  const auto of = [](std::size_t size) { return Json{{"i", std::vector<int>(size, 2)}}; };
  EXPECT_EQ(run(any, of(kMaxItems), now()).outcome, kPass);
  EXPECT_EQ(run(any, of(kMaxItems + 1), now()).outcome, kError);
  const PredicateTest nested =
      parsed(R"({"none":"/i","where":[{"any":"","where":[{"pointer":"","op":"==","value":1}]}]})");
  // One test for each of 128 lists, and one for each of their 127 numbers.
  std::vector lists(128, std::vector<int>(127, 2));
  ASSERT_EQ(lists.size() * (lists[0].size() + 1), kMaxItemTestsRun);
  EXPECT_EQ(run(nested, Json{{"i", lists}}, now()).outcome, kPass);
  lists.back().push_back(2);
  EXPECT_EQ(run(nested, Json{{"i", lists}}, now()).outcome, kError);
}

TEST(Items, Outcome_CountsThem) {
  const TestOutcome outcome =
      run(parsed(R"({"each":"/inputs","where":[{"pointer":"/name","op":"==","value":"X"}]})"),
          parse_json(kInputs).value(), now());
  EXPECT_EQ(outcome.code, Reason::kPredicateMismatch);
  EXPECT_EQ(outcome.actual, (Json{{"items", 2}, {"passed", 1}, {"failed", 1}}));
}

// What a policy may say. The place is that of the value.
TEST(PredicateTests, ValuesThatCannotBeUsed_AreRefusedWithTheirPlace) {
  const std::pair<const char*, const char*> refused[] = {
      {R"({"pointer":"/t","type":"timestamp","op":"<","value":"soon"})", "/value"},
      {R"({"pointer":"/t","type":"timestamp","op":"<","value":{"now_minus_seconds":-1}})",
       "/value"},
      {R"({"pointer":"/t","type":"timestamp","op":"<","value":{"now_minus_seconds":9999999999999}})",
       "/value"},
      {R"({"pointer":"/t","type":"timestamp","op":"in","value":["2026-01-01T00:00:00Z",1]})",
       "/value/1"},
      {R"({"pointer":"/t","type":"semver","op":"<","value":"1.0"})", "/value"},
      {R"({"pointer":"/t","type":"semver","op":"matches","value":"1.0.0"})", "/type"},
      {R"({"pointer":"/t","op":"<","value":"a"})", "/value"},
      {R"({"pointer":"/t","op":"matches","value":"a("})", "/value"},
      {R"({"pointer":"/t","op":"matches","value":"((a{100}){100}){100}"})", "/value"},
      {R"({"pointer":"/t","op":"subset","value":[["a"]]})", "/value"},
      {R"({"pointer":"/t","op":"contains","value":["a"]})", "/value"},
      {R"({"any":"/a","where":[{"any":"/b","where":[{"any":"/c","where":[]}]}]})",
       "/where/0/where/0"}};
  for (const auto& [text, place] : refused) {
    const auto test = read(parse_json(text).value());
    ASSERT_FALSE(test) << text;
    EXPECT_EQ(test.error().code, ErrorCode::kPolicyInvalid) << text;
    EXPECT_EQ(test.error().where, place) << text;
  }
}

}  // namespace
}  // namespace assay::policy::test
