// SPDX-License-Identifier: Apache-2.0
// assay attest show and assay attest list: statements of the service, with what they say.
#include <memory>
#include <utility>

#include "cli/client/lists.h"
#include "cli/client/model_meant.h"
#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/words.h"
#include "client/http_client.h"
#include "schemas/statement.h"

namespace assay::cli {
namespace {

// The predicate of a stored statement, out of its envelope. The id binds it.
Result<Json> predicate_of(Api& api, const std::string& id) {
  ASSAY_ASSIGN(const Bytes bytes,
               api.get_bytes("/v1/attestations/" + percent_encode(id), client::kEnvelopeType));
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_for(bytes, id));
  ASSAY_ASSIGN(Statement statement, parse_statement(envelope.payload));
  return std::move(statement.predicate);
}

// The value of a statement in words: of an evaluation "accuracy 0.93", else what its author wrote.
std::string value_of(const Json& predicate) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += (text.empty() || part.empty() ? "" : ", ") + part;
  };
  for (const auto& [name, metric] : object_at(predicate, "metrics").items()) {
    const std::string unit = text_at(metric, "unit");
    add(name + " " + in_words(member_at(metric, "value")) + (unit == "1" ? "" : " " + unit));
  }
  for (const auto& [name, value] : object_at(predicate, "parameters").items()) {
    add(name + " " + in_words(value));
  }
  add(text_at(predicate, "comment"));
  return text;
}

std::string signers_of(const Json& view) {
  std::string text;
  for (const Json& signer : list_at(view, "signers")) {
    text += (text.empty() ? "" : ", ") + text_at(signer, "identity") +
            (signer.contains("revoked_at") ? " (key revoked)" : "");
  }
  return text;
}

std::string withdrawal_of(const Json& view) {
  const auto withdrawn = view.find("withdrawn");
  return withdrawn == view.end() ? "" : "withdrawn: " + text_at(*withdrawn, "reason");
}

// One line for one piece of evidence.
std::string evidence_text(const Json& evidence) {
  const std::string error = text_at(evidence, "error");
  std::string text = text_at(evidence, "type") + " by " + text_at(evidence, "key_id") + ": ";
  text += error.empty() ? "accepted, " + text_at(evidence, "tcb_status") : "refused: " + error;
  const std::string before = text_at(evidence, "error_then");
  if (before != error) {
    text += before.empty() ? "; accepted when it came" : "; refused when it came: " + before;
  }
  if (!evidence.value("current", false)) {
    text += "; to be appraised again";
  }
  if (!evidence.value("anchor_is_vendor", false) && !text_at(evidence, "anchor").empty()) {
    text += "; not the vendor's anchor: " + text_at(evidence, "anchor");
  }
  return text;
}

struct StoredOptions {
  std::string id;
  ConnectionFlags connection;
};

Result<Exit> show_stored(const Context& context, const StoredOptions& options) {
  ASSAY_ASSIGN(const StatementId id, StatementId::parse(options.id));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(Json view, api.get("/v1/attestations/" + percent_encode(id.text())));
  ASSAY_ASSIGN(view["predicate"], predicate_of(api, id.text()));
  if (context.json()) {
    print_json(view);
    return Exit::kYes;
  }
  Table table({"statement", text_at(view, "id")});
  table.row({"kind", text_at(view, "predicate_type") + " " + text_at(view, "stage")});
  table.row({"value", value_of(view["predicate"])});
  table.row({"accepted", text_at(view, "accepted_at")});
  if (view.contains("withdrawn")) {
    table.row({"state", withdrawal_of(view)});
  }
  for (const Json& subject : list_at(view, "subjects")) {
    table.row({"about", subject.is_string() ? subject.get<std::string>() : ""});
  }
  for (const Json& signer : list_at(view, "signers")) {
    table.row({"signed by", text_at(signer, "identity") + " at " + text_at(signer, "signed_at") +
                                (signer.contains("revoked_at") ? ", key revoked" : "")});
  }
  for (const Json& evidence : list_at(view, "evidence")) {
    table.row({"evidence", evidence_text(evidence)});
  }
  print_fields(context, table);
  return Exit::kYes;
}

struct AboutOptions {
  std::string model;
  std::string stage;
  ListFlags list;
};

ListView statement_view() {
  return {.noun = "statement",
          .heads = {"STAGE", "SIGNED BY", "VALUE", "ACCEPTED", "STATE", "ID"},
          .cells = [](const Json& item) -> std::vector<std::string> {
            const std::string stage = text_at(item, "stage");
            return {stage.empty() ? text_at(item, "predicate_type") : stage,
                    signers_of(item),
                    value_of(item.value("predicate", Json())),
                    text_at(item, "accepted_at"),
                    withdrawal_of(item),
                    text_at(item, "id")};
          },
          .least = {"ID", "ACCEPTED"}};
}

Result<Exit> list_about(const Context& context, const AboutOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  ASSAY_ASSIGN(const std::string artifact, artifact_meant(api, options.model));
  Query query;
  query.add("subject", artifact);
  query.add("stage", options.stage);
  ASSAY_ASSIGN(Json page, fetch_list(api, "/v1/attestations", query, options.list));
  if (page.is_object() && page.contains("items")) {
    for (Json& item : page["items"]) {
      ASSAY_ASSIGN(item["predicate"], predicate_of(api, text_at(item, "id")));
    }
  }
  print_list(context, statement_view(), std::move(page));
  return Exit::kYes;
}

}  // namespace

void add_attest_stored(const Command& group, Context& context) {
  auto shown = std::make_shared<StoredOptions>();
  const Command show_verb =
      group.add("show", "Print a stored statement with its value and its evidence");
  show_verb.argument("ID", shown->id, "id of the statement");
  add_connection_options(show_verb, shown->connection);
  show_verb.example("assay attest show sha256:9f86...",
                    "see who signed it, and how its evidence stands now");
  show_verb.action([shown, &context] { return show_stored(context, *shown); });

  auto options = std::make_shared<AboutOptions>();
  const Command verb = group.add("list", "Who said what about a model, with the values");
  verb.argument("MODEL", options->model, "name or artifact id, or a file with the manifest");
  verb.option("--stage", options->stage, "STAGE", "only statements about this stage");
  add_list_options(verb, options->list);
  verb.example("assay attest list acme/llama --stage approve",
               "see who approved a model, with which value");
  verb.action([options, &context] { return list_about(context, *options); });
}

}  // namespace assay::cli
