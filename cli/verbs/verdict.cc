// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/verdict.h"

#include <algorithm>

#include "cli/client/connect.h"
#include "cli/output.h"
#include "cli/words.h"
#include "schemas/reason.h"

namespace assay::cli {

namespace {

void print_condition(const Context& context, const Json& condition, std::size_t depth) {
  std::string outcome = text_at(condition, "outcome");
  outcome.resize(std::max<std::size_t>(outcome.size(), 8), ' ');
  std::string line = outcome + " " + text_at(condition, "id");
  const std::string code = text_at(condition, "code");
  line += code.empty() ? "" : "  " + code;
  if (condition.contains("expected")) {
    line += "  expected " + in_words(condition.at("expected"));
  }
  if (condition.contains("actual")) {
    line += ", actual " + in_words(condition.at("actual"));
  }
  const std::size_t hanging = 2 * depth + 9;
  const auto below = [&](const std::string& text) { print_words(context, text, hanging, hanging); };
  print_words(context, line, 2 * depth, hanging);
  if (const auto reason = reason_from(code)) {
    below(std::string(info(*reason).title));
  }
  if (const auto evidence = condition.find("evidence"); evidence != condition.end()) {
    const Json& shown = list_at(*evidence, "first");
    for (const Json& id : shown) {
      below("looked at " + in_words(id));
    }
    if (const auto count = number_at(*evidence, "count"); count > shown.size()) {
      below("looked at " + std::to_string(count) + " in all");
    }
  }
  for (const Json& part : list_at(condition, "parts")) {
    print_condition(context, part, depth + 1);
  }
}

bool has_several_models(const Json& verdict) {
  const Json& policies = list_at(verdict, "policies");
  return std::any_of(policies.begin(), policies.end(), [&](const Json& policy) {
    return text_at(policy, "model") != text_at(policies.front(), "model");
  });
}

}  // namespace

bool is_allowed(const Json& verdict) {
  const auto allowed = verdict.find("allowed");
  return verdict.is_object() && allowed != verdict.end() && allowed->is_boolean() &&
         allowed->get<bool>();
}

std::string verdict_headline(const Json& verdict) {
  if (is_allowed(verdict)) {
    return "allow";
  }
  const std::string reasons = joined_at(verdict, "reasons");
  return "deny" + (reasons.empty() ? "" : ": " + reasons);
}

void print_verdict(const Context& context, const Json& verdict) {
  print_words(context, verdict_headline(verdict));
  for (const Json& precondition : list_at(verdict, "preconditions")) {
    print_condition(context, precondition, 1);
  }
  const bool several = has_several_models(verdict);
  for (const Json& policy : list_at(verdict, "policies")) {
    print_words(context, "policy " + text_at(policy, "name") + " v" +
                             std::to_string(number_at(policy, "version")) + " (" +
                             text_at(policy, "mode") + "): " + text_at(policy, "outcome") +
                             (several ? " about " + text_at(policy, "model") : ""));
    for (const Json& condition : list_at(policy, "conditions")) {
      print_condition(context, condition, 1);
    }
  }
  for (const Json& warning : list_at(verdict, "warnings")) {
    print_words(context, "warning: " + in_words(warning));
  }
}

}  // namespace assay::cli
