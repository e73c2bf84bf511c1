// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/verdict.h"

#include <algorithm>

#include "cli/client/connect.h"
#include "cli/output.h"

namespace assay::cli {

namespace {

std::string short_json(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_condition(std::string& out, const Json& condition, std::size_t depth) {
  std::string outcome = text_at(condition, "outcome");
  outcome.resize(std::max<std::size_t>(outcome.size(), 8), ' ');
  std::string line(2 * depth, ' ');
  line += outcome + " " + text_at(condition, "id");
  if (const std::string code = text_at(condition, "code"); !code.empty()) {
    line += "  " + code;
  }
  if (condition.contains("expected")) {
    line += "  expected " + short_json(condition.at("expected"));
  }
  if (condition.contains("actual")) {
    line += ", actual " + short_json(condition.at("actual"));
  }
  out += printable(line) + "\n";
  const std::string indent(2 * depth + 9, ' ');
  if (const auto evidence = condition.find("evidence"); evidence != condition.end()) {
    const Json& shown = list_at(*evidence, "first");
    for (const Json& id : shown) {
      out += indent + printable("looked at " + short_json(id)) + "\n";
    }
    if (const auto count = number_at(*evidence, "count"); count > shown.size()) {
      out += indent + "looked at " + std::to_string(count) + " in all\n";
    }
  }
  for (const Json& part : list_at(condition, "parts")) {
    add_condition(out, part, depth + 1);
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

std::string verdict_text(const Json& verdict) {
  std::string out = printable(verdict_headline(verdict)) + "\n";
  for (const Json& precondition : list_at(verdict, "preconditions")) {
    add_condition(out, precondition, 1);
  }
  const bool several = has_several_models(verdict);
  for (const Json& policy : list_at(verdict, "policies")) {
    out += printable("policy " + text_at(policy, "name") + " v" +
                     std::to_string(number_at(policy, "version")) + " (" + text_at(policy, "mode") +
                     "): " + text_at(policy, "outcome") +
                     (several ? " about " + text_at(policy, "model") : "")) +
           "\n";
    for (const Json& condition : list_at(policy, "conditions")) {
      add_condition(out, condition, 1);
    }
  }
  for (const Json& warning : list_at(verdict, "warnings")) {
    out += printable("warning: " + short_json(warning)) + "\n";
  }
  return out;
}

}  // namespace assay::cli
