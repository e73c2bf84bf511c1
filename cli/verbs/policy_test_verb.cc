// SPDX-License-Identifier: Apache-2.0
// assay policy test: what a policy says about facts, which come from files or from a decision of
// the service.
#include <memory>
#include <utility>

#include "cli/client/connect.h"
#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/verbs/own_suite.h"
#include "cli/verbs/policy_suite.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/verdict.h"
#include "cli/verbs/workload.h"
#include "client/files.h"

namespace assay::cli {

namespace {

struct TestOptions {
  std::string file;
  std::string facts;
  std::string from;  // a model
  std::string save;  // file for the cases about it
  ConnectionFlags connection;
  std::vector<std::string> sets;
  WorkloadFlags workload;
  std::string point = "create";
  std::string at;
  std::string expect;
};

Result<PolicyCase> base_of(const Context& context, const TestOptions& options) {
  PolicyCase base{.now = context.clock.now(), .expect = options.expect};
  ASSAY_ASSIGN(base.workload, workload_from(options.workload));
  ASSAY_ASSIGN(base.point, decision_point_from(options.point));
  if (!options.at.empty()) {
    ASSAY_ASSIGN(base.now, parse_rfc3339(options.at));
  }
  return base;
}

Json case_json(const PolicyCase& one, bool selected, const std::string& problem,
               const Json& verdict) {
  Json json = {{"name", one.name},
               {"expected", one.expect},
               {"selected", selected},
               {"as_expected", problem.empty()},
               {"verdict", verdict}};
  if (!problem.empty()) {
    json["problem"] = problem;
  }
  return json;
}

void print_case(const Context& context, const PolicyCase& one, const std::string& problem,
                const Json& verdict) {
  const bool good = problem.empty();
  if (!one.name.empty()) {
    print_words(context, (good ? "ok    " : "wrong ") + one.name, 0, 6);
  }
  if (!good) {
    print_words(context, "not as expected: " + problem);
  }
  if (!good || one.name.empty()) {
    print_verdict(context, verdict);
  }
}

// The file with the cases; empty where a model needs none.
Result<std::string> facts_file(const TestOptions& options) {
  if (!options.facts.empty()) {
    return options.facts;
  }
  const auto beside = suite_beside(options.file);
  if (!beside && options.from.empty()) {
    return fail(ErrorCode::kUsage,
                "Give --facts, --from with a model, or a suite beside the policy (FILE.tests.json)",
                options.file);
  }
  return beside.value_or("");
}

Result<std::vector<PolicyCase>> cases_of(const Context& context, const TestOptions& options) {
  ASSAY_ASSIGN(const PolicyCase base, base_of(context, options));
  ASSAY_ASSIGN(const std::string facts, facts_file(options));
  if (options.from.empty()) {
    return read_cases(facts, base);
  }
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(OwnSuite own, own_suite(api, options.from, facts, base));
  for (const std::string& one : own.left_out) {
    message(context, "left out: " + one);
  }
  if (own.cases.empty()) {
    return fail(ErrorCode::kUsage, "No case of the file fits this model, so nothing is tested",
                facts);
  }
  if (!options.save.empty()) {
    ASSAY_TRY(client::write_file(options.save, as_bytes(own.document.dump(2) + "\n")));
    message(context, "wrote " + options.save);
  }
  return std::move(own.cases);
}

Result<Exit> test(const Context& context, const TestOptions& options) {
  if (options.from.empty() && !options.save.empty()) {
    return fail(ErrorCode::kUsage, "--save needs --from");
  }
  ASSAY_ASSIGN(const LoadedDocument document, load_document(options.file));
  if (document.payload.kind != PayloadKind::kPolicy) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no policy", options.file);
  }
  ASSAY_ASSIGN(PolicyDocument policy, parse_policy(document.payload.bytes));
  ASSAY_ASSIGN(const policy::ReferenceSets sets, load_sets(options.sets));
  const std::vector active = {policy::with_sets(document.payload.id(), std::move(policy), sets)};
  ASSAY_ASSIGN(const std::vector<PolicyCase> cases, cases_of(context, options));
  Json items = Json::array();
  std::uint64_t failed = 0;
  for (const PolicyCase& one : cases) {
    const CaseResult result = judge_case(one, active);
    failed += result.problem.empty() ? 0U : 1U;
    const Json verdict = to_json(result.verdict);
    if (context.json()) {
      items.push_back(case_json(one, result.selected, result.problem, verdict));
    } else {
      print_case(context, one, result.problem, verdict);
    }
  }
  if (context.json()) {
    print_json({{"cases", std::move(items)}, {"failed", failed}});
  } else {
    message(context,
            counted(cases.size(), "case") + ", " + std::to_string(failed) + " not as expected");
  }
  return failed == 0 ? Exit::kYes : Exit::kNo;
}

}  // namespace

void add_policy_test(const Command& group, Context& context) {
  auto options = std::make_shared<TestOptions>();
  const Command verb = group.add("test", "Try a policy on facts, without putting it in force");
  verb.argument("FILE", options->file, "policy, signed or not");
  verb.option(
      "--facts", options->facts, "FILE",
      "a decision of 'assay decision export', or cases: {\"cases\":[{\"name\",\"facts\","
      "\"workload\",\"point\",\"now\",\"change\",\"expect\",\"expect_reasons\"}]} (default: "
      "FILE.tests.json)");
  verb.option("--from", options->from, "MODEL",
              "name or artifact id: test with what the service knew in its newest decision about\n"
              "this model, in place of the facts that the cases share");
  verb.option("--save", options->save, "FILE", "with --from: write the cases about that model");
  verb.option("--set", options->sets, "FILE", "reference set that the policy names; repeatable");
  add_workload_options(verb, options->workload);
  verb.choice("--point", options->point, {"create", "bind", "serve"},
              "decision point (default create)");
  verb.option("--at", options->at, "TIME", "decide as of this RFC 3339 time (default: now)");
  verb.choice("--expect", options->expect, {"allow", "deny"}, "expected answer (default: allow)");
  add_connection_options(verb, options->connection);
  verb.note(
      "Exits with 0 when every answer is as expected, with 1 otherwise. The facts are taken as\n"
      "they are: no signature is checked. A deny counts only where the policy selects the\n"
      "workload, or where the case expects the reason no-matching-policy.");
  verb.example("assay policy test prod.json --facts cases.json", "run the tests of a policy in CI");
  verb.example("assay policy test prod-v2.json --facts facts.json --namespace prod --expect deny",
               "check that a new version still denies this");
  verb.example(
      "assay policy test signed-model.json --from acme/chat --save signed-model.tests.json",
      "make a ready policy's tests one's own");
  verb.action([options, &context] { return test(context, *options); });
}

}  // namespace assay::cli
