// SPDX-License-Identifier: Apache-2.0
// assay refvalues: reference values that come from those who make the software.
#include <memory>
#include <utility>

#include "attestation/corim/reference_document.h"
#include "cli/client/connect.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/review/reference_values.h"
#include "cli/verbs/trust_change.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/trust.h"

namespace assay::cli {

namespace {

using attestation::corim::read_reference_document;
using attestation::corim::ReferenceDocument;

struct DocumentOptions {
  std::string file;
  std::string stage;
};

void add_stage(const Command& verb, std::string& stage) {
  verb.option("--stage", stage, "STAGE",
              "for evidence of statements about this stage, or '*' (default: evidence of nodes)");
}

struct LoadedReferences {
  Bytes bytes;
  ReferenceDocument document;
};

Result<LoadedReferences> load(const std::string& file) {
  ASSAY_ASSIGN(Bytes bytes, client::read_file(file));
  ASSAY_ASSIGN(ReferenceDocument document, read_reference_document(bytes));
  return LoadedReferences{std::move(bytes), std::move(document)};
}

void describe(const Context& context, const ReferenceDocument& document) {
  for (const std::string& line : describe_references(document)) {
    message(context, line);
  }
}

// --- import and remove

struct ImportOptions {
  DocumentOptions document;
  bool is_unsigned = false;
  TrustChangeFlags change;
};

Result<Exit> import_values(const Context& context, ImportOptions& options) {
  ASSAY_ASSIGN(LoadedReferences loaded, load(options.document.file));
  if (options.is_unsigned == loaded.document.envelope.has_value()) {
    return fail(ErrorCode::kReferenceUnsigned,
                options.is_unsigned
                    ? "the document is signed; leave --unsigned out"
                    : "the document is not signed; --unsigned says that two operators vouch for it",
                options.document.file);
  }
  describe(context, loaded.document);
  options.change.more.emplace_back(
      PutReferenceValues{loaded.document.evidence_type, options.document.stage,
                         std::move(loaded.bytes), options.is_unsigned});
  return write_trust_change(context, options.change);
}

void add_import(const Command& group, Context& context) {
  auto options = std::make_shared<ImportOptions>();
  const Command verb = group.add("import", "Write a change of trust that imports reference values");
  verb.argument("FILE", options->document.file,
                "CoRIM or JSON form, signed with COSE_Sign1 or not signed");
  add_stage(verb, options->document.stage);
  verb.flag("--unsigned", options->is_unsigned,
            "the document is not signed: the two operators who sign the change vouch for it");
  add_trust_change_options(verb, options->change);
  verb.note(
      "What the document adds is shown on standard error. Two operators sign the change\n"
      "('assay sign'), and 'assay trust push' submits it. A signed document counts when its key\n"
      "is trusted as a signer of https://assay.dev/reference-values/v1.");
  verb.example("assay refvalues import os-image.corim --sequence auto --out change.json",
               "import a signed CoRIM for nodes");
  verb.example(
      "assay refvalues import image.json --unsigned --stage train --sequence auto \\\n"
      "      --out change.json",
      "import values of a training image that nobody signed");
  verb.action([options, &context] { return import_values(context, *options); });
}

struct RemoveOptions {
  RemoveReferenceValues operation{"tdx", {}, {}, {}, false};
  TrustChangeFlags change;
};

Result<Exit> remove_values(const Context& context, RemoveOptions& options) {
  if (options.change.reason.empty()) {
    return fail(ErrorCode::kUsage, "Say with --reason why the values count no more");
  }
  options.operation.reason = options.change.reason;
  options.change.more.emplace_back(options.operation);
  return write_trust_change(context, options.change);
}

void add_remove(const Command& group, Context& context) {
  auto options = std::make_shared<RemoveOptions>();
  const Command verb = group.add("remove", "Write a change of trust that ends imported values");
  verb.argument("TAG_ID", options->operation.tag_id, "id of the tag; 'assay refvalues show'");
  verb.option("--type", options->operation.evidence_type, "TYPE",
              "type of the evidence (default: tdx)");
  add_stage(verb, options->operation.stage);
  verb.flag("--dangerous-unconstrain", options->operation.dangerous_unconstrain,
            "measurements that nothing else constrains are not looked at any more");
  add_trust_change_options(verb, options->change);
  verb.note(
      "What the tag constrained stays constrained, so that evidence which only its values\n"
      "accepted is refused from then on.");
  verb.example(
      "assay refvalues remove acme.example/os-image --reason 'kernel has a hole' \\\n"
      "      --sequence auto --out change.json",
      "stop to accept an image");
  verb.action([options, &context] { return remove_values(context, *options); });
}

// --- show

struct ShowOptions {
  std::string file;
  ConnectionFlags connection;
};

Result<Json> fetch_trust(const Context& context, const ConnectionFlags& connection) {
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(Json trust, api.get("/v1/trust"));
  if (!trust.contains("reference_values")) {
    return fail(ErrorCode::kForbidden, "The role admin or auditor sees reference values");
  }
  return trust;
}

Result<Exit> show_file(const Context& context, const std::string& file) {
  ASSAY_ASSIGN(const LoadedReferences loaded, load(file));
  if (context.json()) {
    print_json({{"evidence_type", loaded.document.evidence_type},
                {"signed", loaded.document.envelope.has_value()},
                {"tags", tags_json(loaded.document, loaded.document.evidence_type)}});
    return Exit::kYes;
  }
  for (const std::string& line : describe_references(loaded.document)) {
    print_line(line);
  }
  return Exit::kYes;
}

Result<Exit> show(const Context& context, const ShowOptions& options) {
  if (!options.file.empty()) {
    return show_file(context, options.file);
  }
  ASSAY_ASSIGN(const Json trust, fetch_trust(context, options.connection));
  const Json tags = list_at(trust, "reference_values");
  if (context.json()) {
    print_json(tags);
    return Exit::kYes;
  }
  Table table({"APPRAISAL", "TAG", "VERSION", "SIGNED BY", "SETS", "CONSTRAINS", "STATE"});
  for (const Json& tag : tags) {
    const bool removed = tag.contains("removed");
    table.row({text_at(tag, "appraisal"), text_at(tag, "tag_id"),
               std::to_string(number_at(tag, "version")),
               tag.contains("key") ? text_at(tag, "identity") : "nobody",
               std::to_string(list_at(tag, "sets").size()), joined_at(tag, "constrains"),
               removed ? "removed: " + text_at(tag, "removed") : "in force"});
  }
  print_table(context, table);
  return Exit::kYes;
}

void add_show(const Command& group, Context& context) {
  auto options = std::make_shared<ShowOptions>();
  const Command verb = group.add("show", "Print what a document says, or what is in force");
  verb.optional_argument("FILE", options->file, "document; without it the service is asked");
  add_connection_options(verb, options->connection);
  verb.example("assay refvalues show os-image.corim", "read a document before it is imported");
  verb.example("assay refvalues show", "list what was imported; needs the role admin or auditor");
  verb.action([options, &context] { return show(context, *options); });
}

// --- diff

struct DiffOptions {
  DocumentOptions document;
  std::string against;
  ConnectionFlags connection;
};

Json change_json(const ReferenceChange& change) {
  return {{"tag_id", change.tag_id},
          {"measurement", change.measurement},
          {"added", change.added},
          {"removed", change.removed},
          {"newly_constrained", change.newly_constrained}};
}

void print_change(const ReferenceChange& change) {
  const std::string place = change.tag_id + " " + change.measurement + " ";
  for (const std::string& value : change.removed) {
    print_line("- " + place + value);
  }
  for (const std::string& value : change.added) {
    print_line("+ " + place + value);
  }
  if (change.newly_constrained) {
    print_line("! " + place + "is not constrained until now");
  }
}

// What is compared with: another document, or what the service has in force.
struct Ground {
  Json tags = Json::array();
  std::vector<std::string> constrained;
};

Result<Ground> ground_of(const Context& context, const DiffOptions& options,
                         const std::string& appraisal) {
  Ground ground;
  if (!options.against.empty()) {
    ASSAY_ASSIGN(const LoadedReferences other, load(options.against));
    ground.tags = tags_json(other.document, appraisal);
    for (const auto& tag : other.document.tags) {
      for (const ImportedSet& set : tag.sets) {
        for (const auto& [measurement, values] : set.values) {
          ground.constrained.push_back(measurement);
        }
      }
    }
    return ground;
  }
  ASSAY_ASSIGN(const Json trust, fetch_trust(context, options.connection));
  for (const Json& tag : list_at(trust, "reference_values")) {
    if (text_at(tag, "appraisal") == appraisal) {
      ground.tags.push_back(tag);
    }
  }
  ground.constrained = constrained_in(trust, appraisal);
  return ground;
}

Result<Exit> diff(const Context& context, const DiffOptions& options) {
  ASSAY_ASSIGN(const LoadedReferences loaded, load(options.document.file));
  const std::string appraisal =
      appraisal_name(loaded.document.evidence_type, options.document.stage);
  ASSAY_ASSIGN(const Ground ground, ground_of(context, options, appraisal));
  const auto changes =
      compare_references(tags_json(loaded.document, appraisal), ground.tags, ground.constrained);
  Json list = Json::array();
  for (const ReferenceChange& change : changes) {
    list.push_back(change_json(change));
    if (!context.json()) {
      print_change(change);
    }
  }
  if (context.json()) {
    print_json({{"appraisal", appraisal}, {"changes", std::move(list)}});
  }
  return changes.empty() ? Exit::kYes : Exit::kNo;
}

void add_diff(const Command& group, Context& context) {
  auto options = std::make_shared<DiffOptions>();
  const Command verb =
      group.add("diff", "Compare a document with what is in force, or with another document");
  verb.argument("FILE", options->document.file, "document");
  verb.option("--against", options->against, "FILE",
              "compare with this document and ask no service");
  add_stage(verb, options->document.stage);
  add_connection_options(verb, options->connection);
  verb.note("Exit status: 0 when no value differs, 1 when one does.");
  verb.example("assay refvalues diff os-image.corim", "see what an import would add and remove");
  verb.action([options, &context] { return diff(context, *options); });
}

// --- sign

struct SignOptions {
  std::string file;
  std::string key;
  std::string passphrase_file;
  std::string out;
};

Result<Exit> sign(const Context& context, const SignOptions& options) {
  ASSAY_ASSIGN(const Bytes payload, client::read_file(options.file));
  ASSAY_ASSIGN(const auto signer, load_signer(options.key, options.passphrase_file));
  ASSAY_ASSIGN(const Bytes message_bytes,
               attestation::corim::sign_reference_document(payload, *signer));
  ASSAY_TRY(client::write_file(options.out, as_text(message_bytes)));
  if (context.json()) {
    print_json({{"file", options.out}, {"signed_by", signer->key_id().text()}});
  } else {
    print_line(signer->key_id().text());
    message(context, "wrote " + options.out);
  }
  return Exit::kYes;
}

void add_sign_references(const Command& group, Context& context) {
  auto options = std::make_shared<SignOptions>();
  const Command verb = group.add("sign", "Sign a CoRIM or JSON form with COSE_Sign1");
  verb.argument("FILE", options->file, "document without a signature");
  verb.option("--key", options->key, "FILE", "private key, from 'assay key new'");
  verb.required();
  verb.option("--passphrase-file", options->passphrase_file, "FILE",
              "file with the passphrase of an encrypted key");
  verb.option("--out", options->out, "FILE", "where to write the signed document");
  verb.required();
  verb.example("assay refvalues sign image.json --key vendor.pem --out image.cose",
               "sign values for somebody else to import");
  verb.action([options, &context] { return sign(context, *options); });
}

}  // namespace

void add_refvalues(const Command& root, Context& context) {
  const Command group =
      root.add("refvalues", "Import reference values: which software evidence may show");
  add_import(group, context);
  add_show(group, context);
  add_diff(group, context);
  add_remove(group, context);
  add_sign_references(group, context);
}

}  // namespace assay::cli
