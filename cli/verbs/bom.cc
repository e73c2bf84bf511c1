// SPDX-License-Identifier: Apache-2.0
// assay bom: what is known about a model as a CycloneDX bill of materials, and one of somebody else
// as a statement to sign.
#include <memory>
#include <utility>

#include "cli/bom/read.h"
#include "cli/bom/write.h"
#include "cli/documents/documents.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/bom_source.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"

namespace assay::cli {
namespace {

// --- out

struct BomOptions {
  BomFlags flags;
  std::string at;
  std::string serial;
  std::string out;
};

Result<Exit> write_bill(const Context& context, BomOptions options) {
  if (options.flags.model.empty()) {
    return fail(ErrorCode::kUsage, "Name a model, or a verb: see 'assay bom --help'");
  }
  Timestamp at = context.clock.now();
  if (!options.at.empty()) {
    ASSAY_ASSIGN(at, read_time(options.at, at, Span::kAhead));
    options.flags.trust.at = to_rfc3339(at);
  }
  const bool offline = !options.flags.documents.empty();
  if (!offline && !(options.flags.trust.keys.empty() && options.flags.trust.trust.empty())) {
    return fail(ErrorCode::kUsage,
                "--key and --trust are for documents in files: give them with --document");
  }
  Result<BomSource> source =
      offline ? bom_from_files(context, options.flags) : bom_from_service(context, options.flags);
  if (!source) {
    return offline ? refuse_or_fail(context, std::move(source).error())
                   : std::unexpected(std::move(source).error());
  }
  source->request.at = at;
  source->request.tool_version = context.version;
  source->request.serial = options.serial;
  ASSAY_ASSIGN(const Json document, bom::write_bom(source->request, std::move(source->statements)));
  const std::string text = document.dump(2) + "\n";
  if (options.out.empty() || options.out == "-") {
    print_document(text);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, text));
  if (context.json()) {
    print_json({{"artifact", source->request.artifact.text()},
                {"name", source->request.name},
                {"serial", document["serialNumber"]},
                {"file", options.out}});
  } else {
    print_line(document["serialNumber"].get<std::string>());
    message(context, "wrote " + options.out);
  }
  return Exit::kYes;
}

// --- in

struct BomImport {
  std::string file;
  std::string component;
  std::string subject;
  std::string name;
  std::string out;
  SigningFlags signing;
};

// The artifact that the user says the document is about: it and the component must not disagree.
Result<Subject> subject_given(const BomImport& options, const bom::BomComponent& component,
                              const std::string& name) {
  const bool is_id = ArtifactId::parse(options.subject).has_value();
  ASSAY_ASSIGN(NamedModel model, load_named_model(options.subject, is_id ? name : options.name));
  Subject subject{model.name, {{model.artifact.digest_name(), model.artifact.root().hex()}}};
  bom::Digests all = subject.digest;
  if (!is_id) {
    ASSAY_ASSIGN(const LoadedDocument document, load_document(options.subject));
    ASSAY_ASSIGN(const Manifest manifest, manifest_of(document.payload));
    all.insert(manifest.other_digests.begin(), manifest.other_digests.end());
  }
  if (bom::disagree(all, component.digests) ||
      (component.artifact && *component.artifact != model.artifact)) {
    return fail(ErrorCode::kSubjectMismatch,
                "The component " + component.full_name() + " has other digests than the model",
                options.subject);
  }
  return subject;
}

// What the statement will be about: the model that the user names, and what the document calls it.
Result<std::vector<Subject>> subjects_of(const BomImport& options,
                                         const bom::BomComponent& component) {
  std::vector<Subject> subjects;
  Subject claimed{options.name.empty() ? component.full_name() : options.name, component.digests};
  if (!options.subject.empty()) {
    ASSAY_ASSIGN(Subject given, subject_given(options, component, claimed.name));
    claimed.name = given.name;
    subjects.push_back(std::move(given));
  } else if (component.artifact) {
    claimed.digest[component.artifact->digest_name()] = component.artifact->root().hex();
  }
  if (subjects.empty() && bom::main_digest(claimed.digest).empty()) {
    return fail(ErrorCode::kSubjectMismatch,
                "The component " + component.full_name() +
                    " has no hash of SHA-2 or SHA-3 that names it; say which model it is with "
                    "--subject",
                options.file);
  }
  if (!claimed.digest.empty()) {
    subjects.push_back(std::move(claimed));
  }
  return subjects;
}

Result<Exit> import(const Context& context, const BomImport& options) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.file, bom::kMaxBomBytes));
  Result<bom::ReadBom> bill = bom::read_bom(ByteView(bytes));
  if (!bill) {
    Error error = std::move(bill).error();
    error.where = options.file + (error.where.empty() ? "" : ": " + error.where);
    return std::unexpected(std::move(error));
  }
  ASSAY_ASSIGN(const bom::BomComponent component, bom::model_in(*bill, options.component));
  ASSAY_ASSIGN(std::vector<Subject> subjects, subjects_of(options, component));
  const std::string name = subjects.front().name;
  const Statement statement = bom::to_statement(*bill, std::move(subjects));
  ASSAY_ASSIGN(const std::string text, encode_statement(statement));
  ASSAY_TRY(check_envelope_length(
      {PayloadKind::kAttestation, std::string(kStatementPayloadType), to_bytes(text)}, nullptr,
      std::max<std::size_t>(1, options.signing.keys.size())));
  return sign_and_write(context, statement, options.signing, options.out,
                        {{"name", name},
                         {"components", bill->components.size()},
                         {"predicate_type", bom::kCycloneDxPredicateType}});
}

void add_import(const Command& group, Context& context) {
  auto options = std::make_shared<BomImport>();
  const Command verb =
      group.add("import", "Make a statement of a CycloneDX document that you vouch for");
  verb.argument("FILE", options->file, "CycloneDX 1.5 to 1.7 in JSON; '-' is standard input");
  verb.option("--component", options->component, "BOM-REF",
              "component that is the model (default: that of the metadata, or the only model)");
  verb.option("--subject", options->subject, "ARTIFACT|FILE",
              "the model, by its artifact id or the file with its manifest, where the document has "
              "no hash of it that you use");
  verb.option("--name", options->name, "NAME",
              "name of the model (default: group and name of the component)");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_signing_options(verb, options->signing, false);
  verb.note(
      "Nothing in the document is verified. The statement says that whoever signs it claims all "
      "of\n"
      "it: components, hashes, licences, metrics. 'assay review' says in words what that is. A\n"
      "policy sees it as a statement of the type https://cyclonedx.org/bom.");
  verb.example(
      "assay bom import llama.cdx.json --subject llama.json --key auditor.pem \\\n"
      "      --out bom.signed.json",
      "sign a bill of materials; 'assay push bom.signed.json' tells the service");
  verb.example("assay bom import llama.cdx.json | assay review -", "see what you would sign");
  verb.action([options, &context] { return import(context, *options); });
}

}  // namespace

void add_bom(const Command& root, Context& context) {
  auto options = std::make_shared<BomOptions>();
  const Command verb =
      root.add("bom", "Write a CycloneDX bill of materials of a model, or import one");
  verb.optional_argument("MODEL", options->flags.model,
                         "artifact id of the model, file with its manifest, or its name");
  verb.option("--name", options->flags.name, "NAME",
              "name of the model, where the artifact has several");
  verb.option("--at", options->at, "TIME",
              "time of the document; the same time and statements give the same bytes");
  verb.option("--serial", options->serial, "UUID",
              "serial number (default: one that follows from the content)");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  verb.option("--document", options->flags.documents, "FILE",
              "signed manifest or statement to use instead of asking the service; may be given "
              "again");
  verb.option("--key", options->flags.trust.keys, "FILE",
              "with --document: public key (PEM) that is trusted; may be given again");
  verb.option("--trust", options->flags.trust.trust, "FILE",
              "with --document: trusted keys, as 'assay trust show -o json' prints them");
  add_connection_options(verb, options->flags.connection);
  add_import(verb, context);
  verb.note(
      "CycloneDX 1.6 in JSON: files, datasets, base models, licences, metrics, and who signed "
      "what.\n"
      "A statement counts when it calls the model by its name, and what went in by the names that\n"
      "counted statements give it; docs/bom.md says which field comes from where.");
  verb.example("assay bom acme/llama --out llama.cdx.json", "write what the service knows");
  verb.example(
      "assay bom llama.json --document llama.signed.json --document training.json \\\n"
      "      --trust trust.json --at 2027-01-31T12:00:00Z",
      "make it of files, offline");
  verb.action([options, &context] { return write_bill(context, *options); });
}

}  // namespace assay::cli
