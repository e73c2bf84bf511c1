// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/attest_evidence.h"

#include <utility>

#include "attestation/dsse.h"
#include "cli/output.h"
#include "client/files.h"
#include "schemas/stage_evidence.h"

namespace assay::cli {
namespace {

constexpr std::string_view kNone = "none";

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

}  // namespace assay::cli
