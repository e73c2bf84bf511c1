// SPDX-License-Identifier: Apache-2.0
// JSON pointers and typed comparisons.
#include "policy/compare.h"

#include <gtest/gtest.h>

#include "policy/conditions/combine.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

// The document of RFC 6901 section 5.
Json rfc_document() {
  return parse_json(
             R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})")
      .value();
}

TEST(Pointer, ExamplesOfTheRfc_LeadToTheirValues) {
  const Json document = rfc_document();
  const std::vector<std::pair<std::string, Json>> examples = {
      {"", document},    {"/foo", {"bar", "baz"}},
      {"/foo/0", "bar"}, {"/", 0},
      {"/a~1b", 1},      {"/c%d", 2},
      {"/e^f", 3},       {"/g|h", 4},
      {"/i\\j", 5},      {"/k\"l", 6},
      {"/ ", 7},         {"/m~0n", 8}};
  for (const auto& [pointer, value] : examples) {
    const Json* found = value_at(document, pointer);
    ASSERT_NE(found, nullptr) << pointer;
    EXPECT_EQ(*found, value) << pointer;
  }
}

TEST(Pointer, ThatLeadsNowhere_GivesNothing) {
  const Json document = rfc_document();
  for (const char* pointer :
       {"/nope", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/-1", "/foo/0/x",
        "/foo/", "/foo/99999999999999999999999", "/a~1b/x"}) {
    EXPECT_EQ(value_at(document, pointer), nullptr) << pointer;
  }
}

TEST(Pointer, Malformed_GivesNothing) {
  const Json document = rfc_document();
  for (const char* pointer : {"foo", "foo/0", "/m~2n", "/m~", "/~", "#/foo"}) {
    EXPECT_EQ(value_at(document, pointer), nullptr) << pointer;
  }
}

TEST(Pointer, EscapedTilde_IsUnescapedOnce) {
  const Json document = {{"~1", "tilde one"}, {"/", "slash"}};
  EXPECT_EQ(*value_at(document, "/~01"), "tilde one");
  EXPECT_EQ(*value_at(document, "/~1"), "slash");
}

TEST(Compare, Numbers_HaveEveryOrder) {
  const auto outcome = [](bool holds) { return holds ? Outcome::kPass : Outcome::kFail; };
  for (const double a : {-1.5, 0.0, 1.0, 2.5}) {
    for (const double b : {-1.5, 0.0, 1.0, 2.5}) {
      EXPECT_EQ(compare(a, Comparison::kEqual, b), outcome(a == b));
      EXPECT_EQ(compare(a, Comparison::kNotEqual, b), outcome(a != b));
      EXPECT_EQ(compare(a, Comparison::kLess, b), outcome(a < b));
      EXPECT_EQ(compare(a, Comparison::kLessEqual, b), outcome(a <= b));
      EXPECT_EQ(compare(a, Comparison::kGreater, b), outcome(a > b));
      EXPECT_EQ(compare(a, Comparison::kGreaterEqual, b), outcome(a >= b));
    }
  }
}

// The canonical form writes 1.0 as 1, so replay sees an integer where evaluation saw a double.
TEST(Compare, IntegerAndDouble_CompareByValue) {
  EXPECT_EQ(compare(1, Comparison::kEqual, 1.0), Outcome::kPass);
  EXPECT_EQ(compare(1.0, Comparison::kEqual, 1U), Outcome::kPass);
  EXPECT_EQ(compare(1, Comparison::kLess, 1.5), Outcome::kPass);
  EXPECT_EQ(compare(-1, Comparison::kGreater, -1.5), Outcome::kPass);
  EXPECT_EQ(compare(1.5, Comparison::kGreater, 1), Outcome::kPass);
  EXPECT_EQ(compare(0, Comparison::kEqual, -0.0), Outcome::kPass);
  EXPECT_EQ(compare(0U, Comparison::kGreater, -0.5), Outcome::kPass);
}

TEST(Compare, LargeIntegers_AreExact) {
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;  // no double is equal
  EXPECT_EQ(compare(odd, Comparison::kEqual, static_cast<double>(odd)), Outcome::kFail);
  EXPECT_EQ(compare(odd, Comparison::kGreater, static_cast<double>(odd)), Outcome::kPass);
  EXPECT_EQ(compare(odd, Comparison::kEqual, odd), Outcome::kPass);
  EXPECT_EQ(compare(kMaxSafeInteger, Comparison::kGreater, kMaxSafeInteger - 1), Outcome::kPass);
  const Json most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(compare(most, Comparison::kGreater, -1), Outcome::kPass);
  EXPECT_EQ(compare(-1, Comparison::kLess, most), Outcome::kPass);
  EXPECT_EQ(compare(most, Comparison::kLess, 1e30), Outcome::kPass);
  EXPECT_EQ(compare(most, Comparison::kEqual, 18446744073709551616.0), Outcome::kFail);
  EXPECT_EQ(compare(std::numeric_limits<std::int64_t>::min(), Comparison::kGreater, -1e30),
            Outcome::kPass);
  EXPECT_EQ(
      compare(std::numeric_limits<std::int64_t>::min(), Comparison::kEqual, -9223372036854775808.0),
      Outcome::kPass);
}

TEST(Compare, NotANumber_IsUndecided) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Comparison op :
       {Comparison::kEqual, Comparison::kNotEqual, Comparison::kLess, Comparison::kGreaterEqual}) {
    EXPECT_EQ(compare(nan, op, 1), Outcome::kError);
    EXPECT_EQ(compare(1, op, nan), Outcome::kError);
    EXPECT_EQ(compare(nan, op, 1.5), Outcome::kError);
  }
}

TEST(Compare, StringsBooleansNull_AreEqualOrNot) {
  const std::vector<Json> values = {"a", "b", true, false, nullptr};
  for (const Json& a : values) {
    for (const Json& b : values) {
      const bool same_kind = a.type() == b.type();
      const Outcome equal = !same_kind ? Outcome::kError : a == b ? Outcome::kPass : Outcome::kFail;
      EXPECT_EQ(compare(a, Comparison::kEqual, b), equal) << a << b;
      EXPECT_EQ(compare(a, Comparison::kNotEqual, b), negate(equal)) << a << b;
      for (const Comparison op : {Comparison::kLess, Comparison::kLessEqual, Comparison::kGreater,
                                  Comparison::kGreaterEqual}) {
        EXPECT_EQ(compare(a, op, b), Outcome::kError) << a << b;
      }
    }
  }
}

TEST(Compare, OtherKinds_AreUndecided) {
  for (const Json& value :
       {Json("1"), Json(true), Json(nullptr), Json::array({1}), Json::object()}) {
    EXPECT_EQ(compare(value, Comparison::kEqual, 1), Outcome::kError) << value;
    EXPECT_EQ(compare(value, Comparison::kNotEqual, 1), Outcome::kError) << value;
    EXPECT_EQ(compare(1, Comparison::kNotEqual, value), Outcome::kError) << value;
    EXPECT_EQ(compare(value, Comparison::kLess, 1), Outcome::kError) << value;
  }
  EXPECT_EQ(compare(Json::array({1}), Comparison::kEqual, Json::array({1})), Outcome::kError);
  EXPECT_EQ(compare(Json::object(), Comparison::kEqual, Json::object()), Outcome::kError);
}

TEST(Compare, In_FindsAnEqualElement) {
  const Json list = {"apache-2.0", "mit", 1, true};
  EXPECT_EQ(compare("mit", Comparison::kIn, list), Outcome::kPass);
  EXPECT_EQ(compare(1.0, Comparison::kIn, list), Outcome::kPass);
  EXPECT_EQ(compare(true, Comparison::kIn, list), Outcome::kPass);
  EXPECT_EQ(compare("gpl", Comparison::kIn, list), Outcome::kFail);
  EXPECT_EQ(compare(false, Comparison::kIn, list), Outcome::kFail);
}

TEST(Compare, InWithoutElementOfTheKind_IsUndecided) {
  EXPECT_EQ(compare(1, Comparison::kIn, {"a", "b"}), Outcome::kError);
  EXPECT_EQ(compare("a", Comparison::kIn, Json::array()), Outcome::kError);
  EXPECT_EQ(compare("a", Comparison::kIn, "a"), Outcome::kError);
  EXPECT_EQ(compare(Json::array({1}), Comparison::kIn, Json::array({Json::array({1})})),
            Outcome::kError);
}

TEST(Run, MissingValue_IsAnErrorForEveryComparison) {
  for (const Comparison op :
       {Comparison::kEqual, Comparison::kNotEqual, Comparison::kLess, Comparison::kLessEqual,
        Comparison::kGreater, Comparison::kGreaterEqual, Comparison::kIn}) {
    const TestOutcome outcome = run({"/nope", op, 1}, rfc_document(), now());
    EXPECT_EQ(outcome.outcome, Outcome::kError);
    EXPECT_EQ(outcome.code, Reason::kValueMissing);
  }
}

TEST(Run, Outcomes_HaveTheirCodes) {
  const Json document = {{"n", 3}};
  EXPECT_EQ(run({"/n", Comparison::kEqual, 3}, document, now()).code, std::nullopt);
  EXPECT_EQ(run({"/n", Comparison::kEqual, 4}, document, now()).code, Reason::kPredicateMismatch);
  EXPECT_EQ(run({"/n", Comparison::kEqual, "3"}, document, now()).code,
            Reason::kConditionUndecided);
}

TEST(Shown, LargeValues_AreOnlyDescribed) {
  EXPECT_EQ(shown(std::string(256, 'a')), std::string(256, 'a'));
  EXPECT_EQ(shown(std::string(257, 'a')), (Json{{"kind", "string"}, {"size", 257}}));
  EXPECT_EQ(shown({1, 2}), (Json{{"kind", "array"}, {"size", 2}}));
  EXPECT_EQ(shown({{"a", 1}}), (Json{{"kind", "object"}, {"size", 1}}));
  EXPECT_EQ(shown(1.5), 1.5);
}

}  // namespace
}  // namespace assay::policy::test
