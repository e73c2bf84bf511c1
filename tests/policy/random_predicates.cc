// SPDX-License-Identifier: Apache-2.0
// Random tests of predicates, relations, requesters and windows. They are drawn from an engine of
// their own, so that the other parts of a case stay as they are.
#include "tests/policy/random_case.h"

namespace assay::policy::test {

namespace {

using Names = std::vector<std::string>;

}  // namespace

void RandomCase::enrich(Json& predicate) {
  std::swap(engine_, extra_engine_);
  if (!one_in(5)) {
    predicate["t"] = one_in(8)
                         ? value()
                         : Json(pick(Names{to_rfc3339(from_now(-60)), to_rfc3339(from_now(30)),
                                           "2026-06-01T13:59:00+02:00",
                                           "2026-06-01T12:00:00.000000001Z", "2026-06-01"}));
  }
  if (!one_in(5)) {
    predicate["v"] =
        one_in(8) ? value() : Json(pick(Names{"1.0.0", "1.0.0-rc.1", "1.0.0+b", "2.10.0", "v1"}));
  }
  if (!one_in(5)) {
    predicate["l"] = pick(std::vector<Json>{{"a", "b"},
                                            {"a", "c"},
                                            {1, 2.0},
                                            Json::array(),
                                            {"a", 1},
                                            Json("a"),
                                            Json::array({nullptr})});
  }
  if (!one_in(5)) {
    predicate["i"] = Json::array();
    for (std::size_t i = below(4); i > 0; --i) {
      predicate["i"].push_back({{"n", pick(Names{"x", "y"})}, {"l", {"a", i}}});
      if (one_in(6)) {
        predicate["i"].back().erase("n");
      }
    }
  }
  std::swap(engine_, extra_engine_);
}

PredicateTest RandomCase::typed_test() {
  const auto ordered = static_cast<Comparison>(below(6));
  switch (below(6)) {
    case 0:
      return {"/t", ordered,
              pick(std::vector<Json>{
                  "2026-06-01T12:00:00Z", {{"now_minus_seconds", 60}}, {{"now_minus_seconds", 0}}}),
              ValueType::kTimestamp};
    case 1:
      return one_in(3)
                 ? PredicateTest{"/v", Comparison::kIn, {"1.0.0", "2.0.0"}, ValueType::kSemver}
                 : PredicateTest{"/v", ordered, pick(Names{"1.0.0", "2.9.0"}), ValueType::kSemver};
    case 2:
      return {pick(Names{"/s", "/v", "/n"}), Comparison::kMatches,
              pick(Names{"x|z", "[0-9.]+", "y*"})};
    case 3:
      return {"/l",
              pick(std::vector{Comparison::kSubset, Comparison::kSuperset, Comparison::kDisjoint}),
              pick(std::vector<Json>{{"a"}, {"a", "b", "d"}, {2, 1, 3}})};
    case 4:
      return {pick(Names{"/l", "/s"}), Comparison::kContains, pick(std::vector<Json>{"a", 2})};
    default:
      return {pick(Names{"/n", "/s/x", "/l/1", "/missing", "/l/x"}), Comparison::kExists,
              one_in(2)};
  }
}

PredicateTest RandomCase::items_test() {
  PredicateTest test;
  test.items =
      pick(std::vector{ItemQuantifier::kEach, ItemQuantifier::kAny, ItemQuantifier::kNone});
  test.pointer = pick(Names{"/i", "/i", "/i", "/l", "/s"});
  test.where = {{test.pointer == "/l" ? "" : "/n", Comparison::kEqual, pick(Names{"x", "a"})}};
  if (one_in(3)) {
    PredicateTest inner;
    inner.items = pick(std::vector{ItemQuantifier::kAny, ItemQuantifier::kNone});
    inner.pointer = "/l";
    inner.where = {{"", Comparison::kEqual, pick(std::vector<Json>{"a", 2})}};
    test.where.push_back(std::move(inner));
  }
  return test;
}

void RandomCase::enrich(StatementCondition& statement) {
  std::swap(engine_, extra_engine_);
  if (one_in(5)) {
    statement.where.push_back(one_in(3) ? items_test() : typed_test());
  }
  if (one_in(8)) {
    statement.considered = pick(std::vector<Names>{{"ann"}, {"ann", "ben"}, {"cat"}});
  }
  if (options_.relations && one_in(3)) {
    statement.signers.none_of =
        pick(std::vector<Names>{{"publishers"}, {"names"}, {"c0"}, {"c1", "publishers"}, {"c2"}});
  }
  std::swap(engine_, extra_engine_);
}

std::optional<ConditionKind> RandomCase::rare_leaf() {
  std::swap(engine_, extra_engine_);
  std::optional<ConditionKind> kind;
  if (one_in(24)) {
    RequestCondition request;
    request.users = pick(std::vector<Names>{{"ann"}, {"a*", "system:*"}, {}});
    request.groups = pick(std::vector<Names>{{"ml-*"}, {}});
    request.service_accounts =
        request.users.empty() && request.groups.empty() ? Names{"prod-*/x"} : Names{};
    kind = request;
  } else if (one_in(24)) {
    TimeWindow window;
    window.days.at(below(2)) = !one_in(3);
    window.from_minute = pick(std::vector<std::uint32_t>{0, 720, 721});
    window.to_minute = pick(std::vector<std::uint32_t>{1440, 722});
    if (one_in(3)) {
      window.not_after = pick(std::vector{now(), from_now(40)});
    }
    if (one_in(3)) {
      window.not_before = pick(std::vector{now(), from_now(20), from_now(-20)});
    }
    kind = WindowCondition{window};
  }
  std::swap(engine_, extra_engine_);
  return kind;
}

ParametersCondition RandomCase::parameters() {
  ParametersCondition parameters{one_in(2) ? Names{"sha256"} : Names{},
                                 one_in(2) ? std::vector{16384U} : std::vector<std::uint32_t>{}};
  if (options_.ignore && one_in(3)) {
    parameters.ignore = pick(std::vector<Names>{{}, {"*.py"}, {"*.py", "/.git"}});
  }
  if (options_.ignore && one_in(3)) {
    parameters.objects = pick(std::vector{Objects::kFiles, Objects::kTensors, Objects::kBoth});
  }
  std::swap(engine_, names_engine_);
  if (options_.ignore && one_in(3)) {
    parameters.formats = {ModelFormat::kSafetensors, ModelFormat::kOther};
    if (one_in(3)) {
      parameters.formats.push_back(ModelFormat::kExecutable);
    }
  }
  std::swap(engine_, names_engine_);
  return parameters;
}

std::optional<std::vector<ModelFormat>> RandomCase::formats() {
  if (!options_.ignore || one_in(4)) {
    return std::nullopt;
  }
  return wrong_in(6) ? std::vector{ModelFormat::kExecutable}
                     : std::vector{ModelFormat::kOther, ModelFormat::kSafetensors};
}

Requester RandomCase::requester() {
  std::swap(engine_, extra_engine_);
  Requester one;
  if (!one_in(4)) {
    one.user = pick(Names{"ann", "ben"});
  }
  if (!one_in(4)) {
    one.groups = pick(std::vector<Names>{{"ml-ops", "x"}, {"x"}, {}});
  }
  if (!one_in(4)) {
    one.service_account = pick(Names{"prod-eu/x", "dev/x"});
  }
  std::swap(engine_, extra_engine_);
  return one;
}

}  // namespace assay::policy::test
