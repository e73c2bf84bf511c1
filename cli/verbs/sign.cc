// SPDX-License-Identifier: Apache-2.0
// assay sign: one verb for everything that can be signed.
#include <memory>
#include <utility>

#include "attestation/dsse.h"
#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/review/show.h"
#include "cli/verbs/sign_model.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"

namespace assay::cli {

namespace {

struct SignOptions {
  std::string file;
  SigningFlags signing;
  std::string type;
  std::string out;
  bool yes = false;
  ReviewFlags review;
  std::string format = "dsse";
  SignModelFlags model;
};

Result<attestation::Envelope> sign_document(LoadedDocument document,
                                            const std::vector<const Signer*>& signers,
                                            const std::string& keyid) {
  if (!document.envelope) {
    return attestation::sign_envelope(document.payload.type, document.payload.bytes, signers,
                                      keyid);
  }
  for (const Signer* signer : signers) {
    ASSAY_TRY(attestation::add_signature(*document.envelope, *signer, keyid));
  }
  return *std::move(document.envelope);
}

// Such a document is signed by somebody who must know what it changes: the service of the
// environment is asked, too.
bool changes_what_is_in_force(PayloadKind kind) {
  return kind == PayloadKind::kTrustChange || kind == PayloadKind::kPolicyApproval ||
         kind == PayloadKind::kEndorsements;
}

Result<LoadedDocument> load_to_sign(const SignOptions& options) {
  auto document = load_document(options.file, options.type);
  if (!document && document.error().code == ErrorCode::kPayloadTypeUnknown &&
      options.type.empty()) {
    Error error = std::move(document).error();
    error.detail += "; name its payload type with --type to sign it all the same";
    return std::unexpected(std::move(error));
  }
  return document;
}

Result<Exit> sign_files(const Context& context, const SignOptions& options) {
  if (options.signing.keys.size() != 1 || !options.type.empty()) {
    return fail(ErrorCode::kUsage,
                "A signature of a model has one --key and no --type; more people sign a manifest");
  }
  ASSAY_ASSIGN(const auto signer,
               load_signer(options.signing.keys.front(), options.signing.passphrase_file));
  return sign_model(context, options.file, options.model, *signer, options.out);
}

Result<Exit> sign(const Context& context, const SignOptions& options) {
  if (options.format == "oms") {
    return sign_files(context, options);
  }
  if (are_given(options.model)) {
    return fail(ErrorCode::kUsage, "Options of models go with --format oms");
  }
  ASSAY_ASSIGN(LoadedDocument document, load_to_sign(options));
  const PayloadKind kind = document.payload.kind;
  const std::string id = document.payload.id().text();
  ASSAY_TRY(check_envelope_length(document.payload,
                                  document.envelope ? &*document.envelope : nullptr,
                                  options.signing.keys.size()));
  ASSAY_ASSIGN(const bool agreed, agree_to_sign(context, document, options.review,
                                                changes_what_is_in_force(kind), options.yes));
  if (!agreed) {
    return refuse(context, {ErrorCode::kCancelled, "Not signed, on request", options.file},
                  {{"id", id}, {"signed", false}});
  }
  ASSAY_ASSIGN(const auto signers, load_signers(options.signing));
  ASSAY_ASSIGN(const attestation::Envelope envelope,
               sign_document(std::move(document), borrow(signers), options.signing.keyid));
  const std::string text = attestation::encode_envelope(envelope) + "\n";
  if (options.out.empty() || options.out == "-") {
    print_document(text);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, text));
  Json added = Json::array();
  for (const auto& signer : signers) {
    added.push_back(signer->key_id().text());
  }
  if (context.json()) {
    print_json({{"id", id},
                {"kind", name(kind)},
                {"payload_type", envelope.payload_type},
                {"signed_by", std::move(added)},
                {"signatures", envelope.signatures.size()},
                {"file", options.out}});
  } else {
    print_line(id);
    message(context,
            "signed " + std::string(name(kind)) + " with " + counted(signers.size(), "key") + ", " +
                counted(envelope.signatures.size(), "signature") + " now in " + options.out);
  }
  return Exit::kYes;
}

// `models`: also with --format oms.
void add_sign_verb(const Command& parent, Context& context, const std::string& example,
                   bool models) {
  auto options = std::make_shared<SignOptions>();
  const Command verb = parent.add("sign", "Sign a document, or add a signature to an envelope");
  verb.argument(
      "FILE", options->file,
      "statement, manifest, policy, approval, change of trust, bundle of endorsements, or an "
      "envelope with any of "
      "these; '-' is standard input");
  add_signing_options(verb, options->signing, true);
  verb.option("--type", options->type, "TYPE",
              "DSSE payload type, for documents that assay does not know; their bytes are signed "
              "as they are");
  verb.option("--out", options->out, "FILE",
              "where to write the envelope (default: standard output); may be FILE itself");
  verb.flag("--yes", options->yes, "show what is signed, but do not ask");
  add_review_options(verb, options->review);
  if (models) {
    verb.choice(
        "--format", options->format, {"dsse", "oms"},
        "dsse: an envelope with a document (default); oms: a signature of the model at FILE, "
        "as 'model_signing verify' reads it");
    add_sign_model_options(verb, options->model);
    verb.example("assay sign --format oms ./llama --key vendor.pem --out ./llama/model.sig",
                 "sign a model for users of model_signing; the key is ECDSA");
  }
  verb.note(
      "The result is a DSSE envelope. Documents of assay's own are checked first and signed in\n"
      "canonical form, so the layout of the file does not matter and a second signer signs the "
      "same.\n\n"
      "What the document says is shown on standard error first, as 'assay review' does. A change "
      "of\n"
      "trust and an approval are shown as a difference from what is in force at the service, "
      "other\n"
      "documents with --server or --profile on the command line (ASSAY_SERVER alone asks nobody). "
      "When standard input and standard error are a terminal, assay\n"
      "asks before it signs, and exits with 1 when the answer is not yes; scripts that run on a\n"
      "terminal give --yes. Without a terminal nothing is asked.");
  verb.example(example, "show a document, then sign it");
  verb.example("assay sign change.signed.json --key second.pem --out change.signed.json",
               "add a second signature in place");
  verb.action([options, &context] { return sign(context, *options); });
}

}  // namespace

void add_sign(const Command& root, Context& context) {
  add_sign_verb(root, context, "assay sign llama.json --key publisher.pem --out llama.signed.json",
                true);
}

void add_sign_to(const Command& group, Context& context, const std::string& example) {
  add_sign_verb(group, context, example, false);
}

}  // namespace assay::cli
