// SPDX-License-Identifier: Apache-2.0
// {"test":...,"document":...} as any JSON: a test that is read is written and reads back as the
// same, and its outcome holds for as long as it says. Texts as versions and times: what both
// parsers take has one order.
#include <cstdlib>

#include "policy/compare.h"
#include "schemas/instant.h"
#include "schemas/semver.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_test(const Json& json, const Json& document) {
  // As parse_policy() does, look at the shape first.
  const Json statement = {{"predicate_type", "https://example.com/x/v1"},
                          {"where", Json::array({json})}};
  const Json condition = {{"id", "x"}, {"statement", statement}};
  const Json policy = {{"name", "x"},
                       {"version", 1},
                       {"mode", "enforce"},
                       {"match", Json::object()},
                       {"require", Json::array({condition})}};
  const auto parsed = parse_policy(as_bytes(policy.dump()));
  if (!parsed) {
    return;
  }
  const PredicateTest& test = std::get<StatementCondition>(parsed->require[0].kind).where[0];
  PatternBudget budget;
  const auto again = predicate_test_from_json(to_json(test), "", budget);
  require(again && to_json(*again) == to_json(test));
  const Timestamp now = parse_rfc3339("2026-06-01T12:00:00Z").value();
  const policy::TestOutcome outcome = policy::run(test, document, now);
  require(outcome.from <= now && now < outcome.until);
  require(outcome.code.has_value() == (outcome.outcome != Outcome::kPass));
  if (outcome.until != Timestamp::max()) {
    require(reads_now(test));
    const Timestamp last = outcome.until - std::chrono::milliseconds(1);
    require(policy::run(test, document, last).outcome == outcome.outcome);
  }
}

void check_texts(const Json& a, const Json& b) {
  if (!a.is_string() || !b.is_string()) {
    return;
  }
  const auto x = parse_semver(a.get_ref<const std::string&>());
  const auto y = parse_semver(b.get_ref<const std::string&>());
  if (x && y) {
    require((*x <=> *y) == (0 <=> (*y <=> *x)));
    require(*x == *x);
  }
  const auto t = parse_instant(a.get_ref<const std::string&>());
  if (t) {
    require(instant_of(floor_of(*t)) <= *t);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parse_json(ByteView(data, size));
  if (json && json->is_object() && json->contains("test") && json->contains("document")) {
    check_test((*json)["test"], (*json)["document"]);
    check_texts((*json)["test"], (*json)["document"]);
  }
  return 0;
}
