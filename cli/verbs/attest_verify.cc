// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/attest_verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attestation/verifier_registry.h"
#include "cli/client/connect.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "client/files.h"
#include "schemas/lifecycle.h"
#include "schemas/stage_evidence.h"

namespace assay::cli {
namespace {

using attestation::AppraisedEvidence;

constexpr std::uint64_t kMaxCollateral = kMaxEvidenceCollateralBytes;

// Everything that is checked, and what came of it.
struct Verified {
  StageEvidence document;
  std::string identity;  // of the key
  bool with_statement = false;
  AppraisedEvidence evidence{};
};

std::unexpected<Error> mismatch(const std::string& why, std::string where = {}) {
  return fail(ErrorCode::kStageEvidenceMismatch, why, std::move(where));
}

// The key that the evidence names, if it signed `envelope` and is trusted.
Result<TrustedKey> signer_of(const attestation::Envelope& envelope,
                             const std::vector<TrustedKey>& keys, const KeyId& named,
                             const std::string& what) {
  ASSAY_ASSIGN(const auto signatures, attestation::verify_signatures(envelope, keys));
  for (const attestation::VerifiedSignature& signature : signatures) {
    if (signature.key.id == named) {
      return signature.key;
    }
  }
  const bool trusted = std::ranges::any_of(keys, [&](const auto& key) { return key.id == named; });
  return trusted
             ? mismatch(what + " is not signed by the key that the evidence names", named.text())
             : fail(ErrorCode::kUntrustedSigner,
                    "The evidence names a key that is not among the trusted ones", named.text());
}

// The statement in the file must be the one that the evidence is about, signed by the same key, for
// which the key may speak.
Status check_statement(const std::string& path, const StageEvidence& document,
                       const std::vector<TrustedKey>& keys, const JudgedAt& times) {
  ASSAY_ASSIGN(const LoadedDocument loaded, load_document(path));
  if (loaded.payload.id() != document.statement) {
    return mismatch("The evidence is about the statement " + document.statement.text() +
                        ", and this is " + loaded.payload.id().text(),
                    path);
  }
  if (!loaded.envelope) {
    return fail(ErrorCode::kSignatureMissing, "The statement is not signed", path);
  }
  ASSAY_ASSIGN(const Statement statement, statement_of(loaded.payload));
  ASSAY_ASSIGN(const TrustedKey key,
               signer_of(*loaded.envelope, keys, document.key, "The statement"));
  const std::string stage = statement.predicate_type == kLifecyclePredicateType
                                ? text_at(statement.predicate, "stage")
                                : std::string();
  for (const Subject& subject : statement.subjects) {
    ASSAY_TRY(check_grant(key, {KeyPurpose::kSigner, stage, statement.predicate_type, subject.name},
                          times.signed_at, times.now));
  }
  return {};
}

// Purpose, validity and revocation. The stage and the name are known from the statement alone;
// these stand for any.
Status check_key(TrustedKey key, const JudgedAt& times) {
  key.roles = {SignerRole{"*", "any", "*"}};
  return check_grant(key, {KeyPurpose::kSigner, "any", "any", "any"}, times.signed_at, times.now);
}

Result<Verified> examine(const Context& context, const LoadedDocument& loaded,
                         const StageVerifyFlags& flags, const TrustFlags& trust,
                         const std::vector<TrustedKey>& keys) {
  ASSAY_ASSIGN(const JudgedAt times, times_of(trust, context.clock));
  if (!loaded.envelope) {
    return fail(ErrorCode::kSignatureMissing, "The evidence is not signed");
  }
  ASSAY_ASSIGN(StageEvidence document, parse_stage_evidence(loaded.payload.bytes));
  ASSAY_ASSIGN(const TrustedKey key,
               signer_of(*loaded.envelope, keys, document.key, "The evidence"));
  ASSAY_TRY(check_key(key, times));
  if (!flags.statement.empty()) {
    ASSAY_TRY(check_statement(flags.statement, document, keys, times));
  }
  if (!flags.collateral.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(flags.collateral, kMaxCollateral));
    ASSAY_ASSIGN(document.evidence.collateral, parse_json(bytes));
  }
  Appraisal appraisal = attestation::default_appraisal(document.evidence.type);
  if (!flags.appraisal.empty()) {
    ASSAY_ASSIGN(appraisal, read_appraisal(flags.appraisal));
  }
  ASSAY_ASSIGN(AppraisedEvidence evidence,
               attestation::built_in_verifiers().appraise(
                   document.evidence, appraisal, attestation::Purpose::kStage,
                   statement_report_data(document.statement, key.public_key), times.signed_at));
  return Verified{std::move(document), key.identity, !flags.statement.empty(), std::move(evidence)};
}

// The predicate type of the statement in the file; that of lifecycle statements without a file.
Result<std::string> predicate_type_of(const std::string& path) {
  if (path.empty()) {
    return std::string(kLifecyclePredicateType);
  }
  ASSAY_ASSIGN(const LoadedDocument loaded, load_document(path));
  ASSAY_ASSIGN(const Statement statement, statement_of(loaded.payload));
  return statement.predicate_type;
}

Json to_json(const Verified& verified) {
  const AppraisedEvidence& evidence = verified.evidence;
  const auto nullable = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const Json& result = evidence.result;
  return {{"verified", evidence.accepted},
          {"statement", verified.document.statement.text()},
          {"statement_checked", verified.with_statement},
          {"key_id", verified.document.key.text()},
          {"identity", verified.identity},
          {"type", evidence.type},
          {"evidence_error", nullable(evidence.error)},
          {"tcb_status", nullable(evidence.tcb_status)},
          {"platform", nullable(evidence.platform)},
          {"anchor", evidence.anchor ? Json(evidence.anchor->text()) : Json()},
          {"anchor_is_vendor", evidence.anchor_is_vendor},
          {"has_reference_values", evidence.has_reference_values},
          {"measurements", result.is_object() ? result.value("measurements", Json()) : Json()},
          {"checks", result.is_object() ? result.value("checks", Json::array()) : Json::array()}};
}

void print(const Context& context, const Verified& verified) {
  const AppraisedEvidence& evidence = verified.evidence;
  Table table({evidence.accepted ? "verified" : "refused",
               evidence.accepted ? evidence.type + " evidence" : evidence.error});
  table.row({"statement", verified.document.statement.text() +
                              (verified.with_statement ? ", signed by the same key"
                                                       : "; give --statement to check it, too")});
  table.row({"key", verified.document.key.text() + " of " + verified.identity});
  if (!evidence.tcb_status.empty()) {
    table.row({"TCB", evidence.tcb_status});
  }
  if (evidence.anchor) {
    table.row({"anchor", evidence.anchor->text() + (evidence.anchor_is_vendor
                                                        ? ", the vendor's"
                                                        : ", not the vendor's: perhaps no "
                                                          "hardware at all")});
  }
  table.row({"references", evidence.has_reference_values
                               ? "the appraisal says which software is meant"
                               : "none: anybody can rent such a machine"});
  print_fields(context, table);
  Table checks({"CHECK", "OUTCOME"});
  for (const Json& check : list_at(evidence.result, "checks")) {
    checks.row({text_at(check, "id"), text_at(check, "outcome")});
  }
  print_table(context, checks);
}

}  // namespace

void add_stage_verify_options(const Command& verb, StageVerifyFlags& flags) {
  verb.option("--statement", flags.statement, "FILE",
              "for stage evidence: the signed statement that it must be about");
  verb.option("--appraisal", flags.appraisal, "FILE",
              "for stage evidence: how it is appraised, as 'assay trust change --appraisal' takes "
              "it (default: the vendor's root, and no reference values, which is refused)");
  verb.option("--collateral", flags.collateral, "FILE",
              "for stage evidence: what the vendor says about the platform, in place of what is in "
              "the evidence");
}

Result<Exit> verify_stage_evidence(const Context& context, const LoadedDocument& document,
                                   const StageVerifyFlags& flags, const TrustFlags& trust) {
  // Keys of PEM files may speak about every stage and name.
  ASSAY_ASSIGN(const std::string predicate_type, predicate_type_of(flags.statement));
  ASSAY_ASSIGN(const TrustedSigners trusted,
               load_trusted_signers(trust, {KeyPurpose::kSigner, {}, predicate_type, {}}));
  auto verified = examine(context, document, flags, trust, trusted.keys);
  if (!verified) {
    return refuse_or_fail(context, std::move(verified).error());
  }
  const bool accepted = verified->evidence.accepted;
  if (context.json()) {
    print_json(to_json(*verified));
  } else {
    print(context, *verified);
  }
  return accepted ? Exit::kYes : Exit::kNo;
}

}  // namespace assay::cli
