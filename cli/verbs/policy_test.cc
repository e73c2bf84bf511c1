// SPDX-License-Identifier: Apache-2.0
// assay policy test: what a policy says about facts, without a service.
#include <algorithm>
#include <memory>
#include <utility>

#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/verdict.h"
#include "cli/verbs/workload.h"
#include "client/files.h"
#include "policy/evaluate.h"
#include "policy/facts.h"

namespace assay::cli {

namespace {

struct TestOptions {
  std::string file;
  std::string facts;
  WorkloadFlags workload;
  std::string point = "create";
  std::string at;
  std::string expect;
};

// One question with the answer that is expected.
struct Case {
  std::string name;
  std::vector<policy::Facts> models;
  policy::Workload workload;
  DecisionPoint point = DecisionPoint::kCreate;
  Timestamp now;
  std::string expect;  // "allow", "deny", or empty
  std::vector<std::string> reasons;
};

// Facts of one model, or a list with those of several.
Result<std::vector<policy::Facts>> models_from(const Json& json) {
  std::vector<policy::Facts> models;
  for (const Json& item : json.is_array() ? json : Json::array({json})) {
    ASSAY_ASSIGN(policy::Facts facts, policy::facts_from_json(item));
    models.push_back(std::move(facts));
  }
  return models;
}

// Members of a case in a file of cases; what is absent comes from the flags.
Status read_case(const Json& json, Case& one) {
  for (const auto& [name, value] : json.items()) {
    if (name == "facts") {
      ASSAY_ASSIGN(one.models, models_from(value));
    } else if (name == "workload") {
      ASSAY_ASSIGN(one.workload, workload_from(value));
    } else if (name == "expect_reasons" && value.is_array()) {
      for (const Json& reason : value) {
        one.reasons.push_back(reason.is_string() ? reason.get<std::string>() : "");
      }
    } else if (!value.is_string()) {
      return fail(ErrorCode::kSchemaViolation, "A case has no member of this kind", "/" + name);
    } else if (name == "name") {
      one.name = value.get<std::string>();
    } else if (name == "point") {
      ASSAY_ASSIGN(one.point, decision_point_from(value.get<std::string>()));
    } else if (name == "now") {
      ASSAY_ASSIGN(one.now, parse_rfc3339(value.get<std::string>()));
    } else if (name == "expect" && (value == "allow" || value == "deny")) {
      one.expect = value.get<std::string>();
    } else {
      return fail(ErrorCode::kSchemaViolation, "A case has no such member or value", "/" + name);
    }
  }
  return {};
}

Result<std::vector<Case>> read_cases(const Context& context, const TestOptions& options) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.facts));
  JsonLimits limits;
  limits.max_bytes = client::kMaxDocumentBytes;
  limits.max_depth = 128;
  ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes), limits));
  Case base{.name = "",
            .models = {},
            .workload = {},
            .now = context.clock.now(),
            .expect = options.expect,
            .reasons = {}};
  ASSAY_ASSIGN(base.workload, workload_from(options.workload));
  ASSAY_ASSIGN(base.point, decision_point_from(options.point));
  if (!options.at.empty()) {
    ASSAY_ASSIGN(base.now, parse_rfc3339(options.at));
  }
  std::vector<Case> cases;
  if (json.is_object() && json.contains("cases") && json.at("cases").is_array()) {
    for (const Json& item : json.at("cases")) {
      Case one = base;
      ASSAY_TRY(read_case(item, one));
      cases.push_back(std::move(one));
    }
  } else if (json.is_object() && json.contains("facts")) {
    Case one = base;
    ASSAY_TRY(read_case(json, one));
    cases.push_back(std::move(one));
  } else if (!json.is_array() || !json.empty()) {
    ASSAY_ASSIGN(base.models, models_from(json));
    cases.push_back(std::move(base));
  }
  if (cases.empty()) {
    return fail(ErrorCode::kUsage, "The file holds no case, so nothing is tested; give one or more",
                options.facts);
  }
  return cases;
}

bool has_reason(const Verdict& verdict, const std::string& reason) {
  return std::ranges::any_of(verdict.reasons,
                             [&](Reason code) { return info(code).code == reason; });
}

// Empty when the answer is as expected; without an expectation an allow is the good answer.
std::string problem_of(const Case& one, const Verdict& verdict, bool selected) {
  const bool wanted = one.expect != "deny";
  if (verdict.allowed != wanted) {
    return wanted ? "expected allow, the answer is deny" : "expected deny, the answer is allow";
  }
  for (const std::string& reason : one.reasons) {
    if (!has_reason(verdict, reason)) {
      return "the answer has no reason " + reason;
    }
  }
  // A policy denies nothing that it does not select: the deny would be there without the policy,
  // and in a cluster the workload would run.
  const std::string_view unmatched = info(Reason::kNoMatchingPolicy).code;
  if (!wanted && !selected && std::ranges::find(one.reasons, unmatched) == one.reasons.end()) {
    return "the policy does not select this workload, see its match and mode; when that is what "
           "the case is about, name no-matching-policy in expect_reasons";
  }
  return "";
}

Json case_json(const Case& one, bool selected, const std::string& problem, const Json& verdict) {
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

void print_case(const Context& context, const Case& one, bool selected, const std::string& problem,
                const Json& verdict) {
  const bool good = problem.empty();
  if (!one.name.empty()) {
    print_line((good ? "ok    " : "wrong ") + one.name);
  }
  if (!good) {
    print_line("not as expected: " + problem);
  }
  if (!good || one.name.empty()) {
    print_text(verdict_text(verdict));
  }
  if (good && !selected) {
    message(context, "note: the policy does not select this workload");
  }
}

Result<Exit> test(const Context& context, const TestOptions& options) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(options.file));
  if (document.payload.kind != PayloadKind::kPolicy) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no policy", options.file);
  }
  ASSAY_ASSIGN(PolicyDocument policy, parse_policy(document.payload.bytes));
  const std::vector<policy::ActivePolicy> active = {{document.payload.id(), std::move(policy)}};
  ASSAY_ASSIGN(const std::vector<Case> cases, read_cases(context, options));
  Json items = Json::array();
  std::uint64_t failed = 0;
  for (const Case& one : cases) {
    const bool selected = policy::selected(active, one.workload, one.point);
    const Verdict verdict =
        policy::evaluate(active, one.workload, one.models, {}, one.point, one.now);
    const std::string problem = problem_of(one, verdict, selected);
    failed += problem.empty() ? 0U : 1U;
    if (context.json()) {
      items.push_back(case_json(one, selected, problem, to_json(verdict)));
    } else {
      print_case(context, one, selected, problem, to_json(verdict));
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
  const Command verb = group.add("test", "Try a policy on facts, without a service");
  verb.argument("FILE", options->file, "policy, signed or not");
  verb.option("--facts", options->facts, "FILE",
              "facts of a decision (its facts document), or cases: {\"cases\":[{\"name\",\"facts\","
              "\"workload\",\"point\",\"now\",\"expect\",\"expect_reasons\"}]}");
  verb.required();
  add_workload_options(verb, options->workload);
  verb.choice("--point", options->point, {"create", "bind", "serve"},
              "decision point (default create)");
  verb.option("--at", options->at, "TIME", "decide as of this RFC 3339 time (default: now)");
  verb.choice("--expect", options->expect, {"allow", "deny"}, "expected answer (default: allow)");
  verb.note(
      "Exits with 0 when every answer is as expected, with 1 otherwise. The facts are taken as\n"
      "they are: no signature is checked. A deny counts only where the policy selects the\n"
      "workload, or where the case expects the reason no-matching-policy.");
  verb.example("assay policy test prod.json --facts cases.json", "run the tests of a policy in CI");
  verb.example("assay policy test prod-v2.json --facts facts.json --namespace prod --expect deny",
               "check that a new version still denies this");
  verb.action([options, &context] { return test(context, *options); });
}

}  // namespace assay::cli
