// SPDX-License-Identifier: Apache-2.0
// Suites of a policy: a case that is read is written out in full and reads back as the same, one
// case takes nothing from the others beside it, and no answer is both what "allow" and what "deny"
// expect.
#include <cstdlib>

#include "cli/verbs/policy_cases.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;
using cli::PolicyCase;

constexpr std::string_view kPolicy =
    R"({"name":"p","version":1,"mode":"enforce","match":{"namespaces":["prod*"]},"require":[
{"id":"a","manifest":{}},
{"id":"b","statement":{"predicate_type":"https://x.example/v1","where":[{"pointer":"/x","op":"==","value":1}]}}]})";

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// What the flags of a call say.
PolicyCase base() {
  PolicyCase one;
  one.now = parse_rfc3339("2026-06-01T12:00:00Z").value();
  return one;
}

// Every member, so that nothing comes from the base.
Json written(const PolicyCase& one) {
  Json json = {{"name", one.name},
               {"facts", Json::array()},
               {"workload", policy::to_json(one.workload)},
               {"point", name(one.point)},
               {"now", to_rfc3339(one.now)},
               {"expect_reasons", one.reasons}};
  for (const policy::Facts& facts : one.models) {
    json["facts"].push_back(policy::to_json(facts));
  }
  if (!one.expect.empty()) {
    json["expect"] = one.expect;
  }
  return json;
}

// One case, of whatever a file holds beside it.
std::string alone(const Json& json) {
  const std::string text = canonical_json(json).value();
  const auto cases = cli::parse_cases(as_bytes(text), base());
  require(cases && cases->size() == 1);
  return canonical_json(written(cases->front())).value();
}

void check(PolicyCase one) {
  static const policy::ActivePolicy policy = {StatementId(sha256({})),
                                              parse_policy(as_bytes(kPolicy)).value()};
  one.reasons.clear();
  one.expect = "allow";
  const bool allows = cli::judge_case(one, {&policy, 1}).problem.empty();
  one.expect = "deny";
  require(!(allows && cli::judge_case(one, {&policy, 1}).problem.empty()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  const auto cases = cli::parse_cases(bytes, base());
  // What is written out in full is a few levels deeper.
  const auto read = parse_json(bytes, {.max_depth = 120});
  if (!cases || !read) {
    return 0;
  }
  const Json& file = *read;
  const bool listed = file.is_object() && file.contains("cases") && file["cases"].is_array();
  require(!cases->empty() && (!listed || cases->size() == file["cases"].size()));
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const Json whole = written((*cases)[i]);
    const std::string text = canonical_json(whole).value();
    require(alone(whole) == text);
    if (listed) {
      Json one = file;
      one["cases"] = Json::array({file["cases"][i]});
      require(alone(one) == text);
    }
    check((*cases)[i]);
  }
  return 0;
}
