// SPDX-License-Identifier: Apache-2.0
// assay explain: what a code means that a decision or an error shows, and what to do about it.
#include <memory>

#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "schemas/reason.h"

namespace assay::cli {
namespace {

Json json_of(const ReasonInfo& reason) {
  return {{"kind", "reason"},
          {"code", reason.code},
          {"title", reason.title},
          {"explanation", reason.explanation},
          {"next", reason.next}};
}

Json json_of(const ErrorInfo& error) {
  return {{"kind", "error"},
          {"code", error.code},
          {"title", error.title},
          {"next", error.next},
          {"http_status", error.http_status},
          {"retryable", error.retryable}};
}

void print(const ReasonInfo& reason) {
  print_line(std::string(reason.code) + ": " + std::string(reason.title));
  print_line("  A reason of a decision. " + std::string(reason.explanation));
  print_line("  What to do: " + std::string(reason.next));
}

void print(const ErrorInfo& error) {
  print_line(std::string(error.code) + ": " + std::string(error.title));
  print_line("  An error, HTTP status " + std::to_string(error.http_status) +
             (error.retryable ? "; the same request may succeed later."
                              : "; the same request will fail again."));
  print_line("  What to do: " + std::string(error.next));
}

Result<Exit> explain_one(const Context& context, const std::string& code) {
  const auto reason = reason_from(code);
  const auto error = error_code_from(code);
  if (!reason && !error) {
    return fail(ErrorCode::kUsage, "There is no such code; 'assay explain' lists all", code);
  }
  Json meanings = Json::array();
  if (reason) {
    meanings.push_back(json_of(info(*reason)));
  }
  if (error) {
    meanings.push_back(json_of(info(*error)));
  }
  if (context.json()) {
    print_json({{"code", code}, {"meanings", std::move(meanings)}});
    return Exit::kYes;
  }
  if (reason) {
    print(info(*reason));
  }
  if (error) {
    print(info(*error));
  }
  return Exit::kYes;
}

Result<Exit> explain_all(const Context& context) {
  Json all = Json::array();
  Table table({"CODE", "KIND", "TITLE"});
  const auto add = [&](const auto& row) {
    Json json = json_of(row);
    table.row({std::string(row.code), json["kind"].get<std::string>(), std::string(row.title)});
    all.push_back(std::move(json));
  };
  for (std::size_t i = 0; i < reason_count(); ++i) {
    add(info(static_cast<Reason>(i)));
  }
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    add(info(static_cast<ErrorCode>(i)));
  }
  if (context.json()) {
    print_json({{"codes", std::move(all)}});
  } else {
    print_table(context, table);
  }
  return Exit::kYes;
}

}  // namespace

void add_explain(const Command& root, Context& context) {
  auto code = std::make_shared<std::string>();
  const Command verb = root.add("explain", "Say what a code means, and what to do about it");
  verb.optional_argument("CODE", *code, "as a decision or an error shows it (default: list all)");
  verb.note(
      "Reasons stand in decisions: they say why a condition does not pass. Errors say why a\n"
      "request or a command failed. Some codes are both.");
  verb.example("assay explain manifest-missing", "why a pod was denied");
  verb.example("assay explain", "list every code with its title");
  verb.action([code, &context] {
    return code->empty() ? explain_all(context) : explain_one(context, *code);
  });
}

}  // namespace assay::cli
