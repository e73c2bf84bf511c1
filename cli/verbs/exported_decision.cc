// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/exported_decision.h"

#include <array>
#include <fstream>
#include <memory>

#include "cli/client/connect.h"
#include "cli/decisions/verify_export.h"
#include "cli/output.h"
#include "cli/verbs/verdict.h"
#include "client/files.h"
#include "schemas/core/random.h"

namespace assay::cli {

namespace {

struct ExportDecisionOptions {
  std::string id;
  std::string out;
  VerifierFlags log_key;
  ConnectionFlags connection;
};

// An error of the file itself is the answer "no".
bool is_about_the_file(const Error& error) {
  return error.code != ErrorCode::kFileUnreadable && error.code != ErrorCode::kUsage &&
         error.code != ErrorCode::kCaseUnsupported;
}

Result<Exit> export_decision(const Context& context, const ExportDecisionOptions& options) {
  if (!is_uuid_v7(options.id)) {
    return fail(ErrorCode::kUsage, "The id of a decision is a UUID of version 7", options.id);
  }
  ASSAY_ASSIGN(const auto log_key, find_verifier(options.log_key));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Bytes bytes,
               api.get_bytes("/v1/decisions/" + options.id + "/export", client::kJsonType));
  ASSAY_ASSIGN(const DecisionExport file, parse_decision_export(bytes));
  if (file.decision != options.id) {
    return fail(ErrorCode::kExportInconsistent, "The service answers with another decision",
                file.decision);
  }
  if (log_key) {
    if (const auto verified = verify_decision_export(file, *log_key); !verified) {
      return refuse(context, verified.error(), {{"verified", false}});
    }
  }
  ASSAY_TRY(client::write_file(options.out, bytes));
  if (context.json()) {
    print_json({{"decision", options.id},
                {"file", options.out},
                {"bytes", bytes.size()},
                {"entries", file.entries.size()},
                {"documents", file.documents.size()},
                {"verified", log_key.has_value()}});
  } else {
    message(context, "wrote " + options.out + ": " + counted(file.documents.size(), "document") +
                         ", " + counted(file.entries.size(), "log record") +
                         (log_key ? ", verified" : "; check it with 'assay verify'"));
  }
  return Exit::kYes;
}

Json decision_json(const VerifiedDecision& verified) {
  Json word = Json::array();
  for (const RestsOnWord& one : verified.word) {
    word.push_back({{"what", one.what}, {"text", one.text}});
  }
  return {{"verified", true},
          {"decision", verified.decision},
          {"verdict", to_json(verified.verdict)},
          {"log",
           {{"origin", verified.checkpoint.origin},
            {"tree_size", verified.checkpoint.size},
            {"root", verified.checkpoint.root.hex()},
            {"index", verified.index}}},
          {"trust_changes", verified.trust_changes},
          {"statements", verified.statements},
          {"policies", verified.policies},
          {"rests_on_the_service", std::move(word)}};
}

void print_decision(const Context& context, const VerifiedDecision& verified) {
  const auto below = [&](const std::string& text) { print_words(context, text, 2, 4); };
  print_words(context, "verified decision " + text_at(verified.decision, "id") + " of " +
                           text_at(verified.decision, "evaluated_at"));
  const Json& request = member_at(verified.decision, "request");
  print_verdict(context, to_json(verified.verdict));
  print_words(context, "asked by " + text_at(request, "principal") + ", for namespace " +
                           text_at(request, "namespace") + ", at " +
                           text_at(verified.decision, "point"));
  print_line("");
  print_line("shown by this file, with the log's key alone:");
  below("entry " + std::to_string(verified.index) + " of the log " + verified.checkpoint.origin +
        " at size " + std::to_string(verified.checkpoint.size));
  below("signed by the key that the log names for the service at that entry");
  below("trust: " + counted(verified.trust_changes, "change") +
        " since the first, each signed by two operators");
  for (const std::string& policy : verified.policies) {
    below("policy in force: " + policy);
  }
  below(counted(verified.statements, "signed statement") +
        ", with signatures of keys that were trusted");
  below("the verdict follows from these, evaluated again here");
  print_line("rests on the service's word:");
  for (const RestsOnWord& one : verified.word) {
    below(one.text);
  }
}

}  // namespace

bool is_exported_decision(const std::string& path) {
  std::array<char, 32> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return looks_like_decision_export({start.data(), static_cast<std::size_t>(file.gcount())});
}

Result<Exit> verify_decision_file(const Context& context, const std::string& path,
                                  const VerifierFlags& flags) {
  ASSAY_ASSIGN(const auto log_key, find_verifier(flags));
  if (!log_key) {
    return fail(ErrorCode::kUsage,
                "Say whose log it is: give --verifier-key with the log's public key, from somebody "
                "whom you believe. What the file says of itself proves nothing",
                path);
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, kMaxDecisionExportBytes));
  const auto file = parse_decision_export(bytes);
  const auto verified = file ? verify_decision_export(*file, *log_key)
                             : Result<VerifiedDecision>(std::unexpected(file.error()));
  if (!verified) {
    return is_about_the_file(verified.error())
               ? Result<Exit>(refuse(context, verified.error(), {{"verified", false}}))
               : std::unexpected(verified.error());
  }
  if (context.json()) {
    print_json(decision_json(*verified));
  } else {
    print_decision(context, *verified);
  }
  return Exit::kYes;
}

void add_decision_export(const Command& group, Context& context) {
  auto options = std::make_shared<ExportDecisionOptions>();
  const Command verb = group.add("export", "Write a decision with all that it takes to check it");
  verb.argument("ID", options->id, "UUID of the decision");
  verb.option("--out", options->out, "FILE", "where to write it");
  verb.required();
  add_verifier_options(verb, options->log_key);
  add_connection_options(verb, options->connection);
  verb.note(
      "Needs the role auditor. 'assay verify FILE' checks it offline, with the log's key alone; "
      "with\n"
      "the key here, too, it is checked before it is written. The file holds the signed documents\n"
      "that the decision rests on, and the changes of trust with the names and roles of callers.");
  verb.example("assay decision export 0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11 --out decision.export",
               "give a decision to somebody who trusts nobody");
  verb.action([options, &context] { return export_decision(context, *options); });
}

}  // namespace assay::cli
