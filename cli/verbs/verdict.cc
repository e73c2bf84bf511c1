// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/verdict.h"

#include <algorithm>
#include <unistd.h>

#include "cli/client/connect.h"
#include "cli/layout.h"
#include "cli/output.h"
#include "cli/words.h"
#include "schemas/reason.h"

namespace assay::cli {

namespace {

// Adds a line, which a terminal gets in pieces that fit.
void add_line(std::string& out, std::size_t indent, const std::string& text, std::size_t hanging) {
  const std::size_t terminal = terminal_columns(STDOUT_FILENO);
  const std::string whole = std::string(indent, ' ') + printable(text);
  if (terminal == 0 || columns_of(whole) <= terminal || terminal <= hanging) {
    out += whole + "\n";
    return;
  }
  std::size_t before = indent;
  for (const std::string& line : wrapped(with_short_ids(printable(text)), terminal - hanging)) {
    out += std::string(before, ' ') + line + "\n";
    before = hanging;
  }
}

void add_condition(std::string& out, const Json& condition, std::size_t depth) {
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
  add_line(out, 2 * depth, line, hanging);
  const std::string indent(hanging, ' ');
  if (const auto reason = reason_from(code)) {
    add_line(out, hanging, std::string(info(*reason).title), hanging);
  }
  if (const auto evidence = condition.find("evidence"); evidence != condition.end()) {
    const Json& shown = list_at(*evidence, "first");
    for (const Json& id : shown) {
      add_line(out, hanging, "looked at " + in_words(id), hanging);
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
    out += printable("warning: " + in_words(warning)) + "\n";
  }
  return out;
}

}  // namespace assay::cli
