// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/attest_evidence.h"

#include <memory>
#include <utility>

#include "attestation/dsse.h"
#include "cli/client/connect.h"
#include "cli/output.h"
#include "client/files.h"
#include "schemas/stage_evidence.h"

namespace assay::cli {
namespace {

constexpr std::string_view kNone = "none";

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

struct ShowOptions {
  std::string id;
  ConnectionFlags connection;
};

Result<Exit> show(const Context& context, const ShowOptions& options) {
  ASSAY_ASSIGN(const StatementId id, StatementId::parse(options.id));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json view, api.get("/v1/attestations/" + percent_encode(id.text())));
  if (context.json()) {
    print_json(view);
    return Exit::kYes;
  }
  Table table({"statement", text_at(view, "id")});
  table.row({"kind", text_at(view, "predicate_type") + " " + text_at(view, "stage")});
  table.row({"accepted", text_at(view, "accepted_at")});
  for (const Json& subject : list_at(view, "subjects")) {
    table.row({"about", subject.is_string() ? subject.get<std::string>() : ""});
  }
  for (const Json& signer : list_at(view, "signers")) {
    table.row({"signed by", text_at(signer, "identity") + " at " + text_at(signer, "signed_at")});
  }
  for (const Json& evidence : list_at(view, "evidence")) {
    table.row({"evidence", evidence_text(evidence)});
  }
  print_text(table.text());
  return Exit::kYes;
}

}  // namespace

void add_stage_evidence_options(const Command& verb, StageEvidenceFlags& flags) {
  verb.choice("--evidence", flags.source.kind,
              {"tdx", "sev-snp", "simulate", "simulate-snp", "command", "none"},
              "evidence of the hardware that holds the key: of the TDX or SEV-SNP guest that this "
              "runs in, of a simulator of either, of a program, or none (default)");
  verb.option("--evidence-command", flags.source.command, "PROGRAM",
              "a program that prints evidence as JSON for report data in hex");
  verb.option("--evidence-type", flags.source.type, "TYPE", "type of the program's evidence");
  verb.option("--evidence-out", flags.out, "FILE",
              "where to write the signed evidence; push it after the statement");
  verb.option("--simulator-seed", flags.source.simulator_seed, "FILE",
              "seed of the simulator, as 'assay evidence simulate' takes it; such evidence counts "
              "only where its root is trusted by a dangerous_ setting");
  verb.option("--simulator-platform", flags.source.simulator_platform, "HEX",
              "which of the machines that the seed makes: 32 hex digits");
  verb.option("--collateral", flags.source.collateral, "FILE",
              "what the vendor says about the platform, sent with the evidence");
  verb.option("--certificate", flags.source.certificate, "FILE",
              "for 'sev-snp', where the host gives none: certificate of the VCEK or VLEK");
}

Status check_stage_evidence_flags(const StageEvidenceFlags& flags, const SigningFlags& signing) {
  if ((flags.source.kind == kNone) != flags.out.empty()) {
    return fail(ErrorCode::kUsage, "--evidence and --evidence-out are given together");
  }
  if (!flags.out.empty() && signing.keys.size() != 1) {
    return fail(ErrorCode::kUsage, "Evidence shows where one key is held: give one --key");
  }
  return {};
}

Status write_stage_evidence(const Context& context, const Statement& statement,
                            const SigningFlags& signing, const StageEvidenceFlags& flags) {
  if (flags.source.kind == kNone) {
    return {};
  }
  ASSAY_ASSIGN(const std::string payload, encode_statement(statement));
  const StatementId id = attestation::statement_id(kStatementPayloadType, as_bytes(payload));
  ASSAY_ASSIGN(const auto signers, load_signers(signing));
  const Signer& signer = *signers.front();
  ASSAY_ASSIGN(const auto source,
               worker::make_evidence_source(context.clock, context.random, flags.source));
  ASSAY_ASSIGN(std::optional<Evidence> evidence,
               source->collect({statement_report_data(id, signer.public_key())}));
  if (!evidence) {
    return fail(ErrorCode::kEvidenceUnavailable, "The machine gave no evidence");
  }
  const StageEvidence document{id, signer.key_id(), *std::move(evidence)};
  ASSAY_ASSIGN(const std::string text, canonical_json(to_json(document)));
  ASSAY_ASSIGN(const std::string envelope, sign_payload(kStageEvidencePayloadType, as_bytes(text),
                                                        borrow(signers), signing.keyid));
  ASSAY_TRY(client::write_file(flags.out, envelope + "\n"));
  message(context, "wrote " + flags.out + ": " + document.evidence.type + " evidence");
  return {};
}

void add_attest_show(const Command& group, Context& context) {
  auto options = std::make_shared<ShowOptions>();
  const Command verb = group.add("show", "Print a stored statement and its evidence");
  verb.argument("ID", options->id, "id of the statement");
  add_connection_options(verb, options->connection);
  verb.example("assay attest show sha256:9f86...",
               "see who signed it, and how its evidence stands now");
  verb.action([options, &context] { return show(context, *options); });
}

}  // namespace assay::cli
