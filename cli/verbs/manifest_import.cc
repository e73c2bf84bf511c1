// SPDX-License-Identifier: Apache-2.0
// assay manifest import: from a model and a signature of it by another tool to our manifest. Both
// digests of each file are computed in one pass, so what was signed is what the manifest is of.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "attestation/dsse.h"
#include "cli/documents/keys.h"
#include "cli/documents/model_signature.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/signed_files.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "gpu_hash/artifact_hash.h"
#include "schemas/document_size.h"
#include "schemas/manifest.h"

namespace assay::cli {

namespace {

struct ImportOptions {
  SignedFilesFlags files;
  ModelTrustFlags trust;
  std::string name;
  std::vector<std::string> locations;
  std::string objects = "both";
  std::vector<std::string> whole;
  std::string out;
  std::string evidence;
  std::string sign_key;
  std::string passphrase_file;
};

// What was hashed, and what of it is not as signed.
struct Imported {
  gpu_hash::HashedArtifact hashed;
  std::vector<oms::Finding> findings;
  std::vector<std::string> unsigned_empty;
};

// Patterns of what the signature leaves out and is there: the root binds them.
Result<std::vector<std::string>> patterns_there(const std::string& path,
                                                const std::vector<std::string>& left_out) {
  std::vector<std::string> patterns;
  std::error_code ignored;
  for (const std::string& one : left_out) {
    if (!std::filesystem::is_directory(path, ignored) ||
        !std::filesystem::exists(
            std::filesystem::symlink_status(std::filesystem::path(path) / one, ignored))) {
      continue;
    }
    if (one.find_first_of("*?") != std::string::npos) {
      return fail(
          ErrorCode::kInvalidPath,
          "the signature leaves this out, and a pattern of a manifest cannot name it alone; "
          "move it out of the model",
          one);
    }
    patterns.push_back("/" + one);
  }
  sort_ignore(patterns);
  return patterns;
}

Result<gpu_hash::ArtifactOptions> options_of(const ImportOptions& options,
                                             const SignedFiles& found) {
  gpu_hash::ArtifactOptions how;
  ASSAY_ASSIGN(how.parameters.ignore, patterns_there(options.files.path, found.left_out));
  how.parameters.follow_symlinks = found.followed_links;
  ASSAY_TRY(check(how.parameters));
  ASSAY_ASSIGN(how.objects, parse_objects(options.objects));
  if (how.objects == Objects::kTensors) {
    return fail(ErrorCode::kUsage, "A signature is of files: --objects is files or both");
  }
  how.whole = options.whole;
  how.max_entries = kMaxManifestEntries;
  how.refuse_lacks = true;
  return how;
}

// Compares what was hashed with the statement: files and their sizes as they were read.
void compare_flat(const oms::Statement& statement, bool only_file,
                  const gpu_hash::FlatResults& flat, Imported& imported) {
  std::vector<oms::DiskFile> files;
  for (const gpu_hash::FlatFile& file : flat.files) {
    files.push_back({file.path, file.size});
  }
  oms::Coverage coverage = oms::compare_files(statement, files, only_file, oms::Extra::kRefused);
  imported.findings = std::move(coverage.findings);
  imported.unsigned_empty = std::move(coverage.unsigned_empty);
  std::vector<Bytes> digests;
  for (const oms::Part& part : coverage.parts) {
    const std::uint64_t shard = flat.shard_size == 0 ? 0 : part.begin / flat.shard_size;
    digests.push_back(flat.files[part.file].digests[shard]);
  }
  for (oms::Finding& finding : compare_digests(statement, files, coverage.parts, digests)) {
    imported.findings.push_back(std::move(finding));
  }
}

Result<Imported> hash_both(const Context& context, const ImportOptions& options,
                           const oms::Statement& statement) {
  ASSAY_ASSIGN(const SignedFiles found, find_signed_files(options.files, statement));
  // Before hours of hashing.
  const oms::Coverage before =
      oms::compare_files(statement, on_disk(found), found.only_file, oms::Extra::kRefused);
  if (!before.findings.empty()) {
    const oms::Finding& first = before.findings.front();
    return fail(
        ErrorCode::kContentMismatch,
        std::string(oms::name(first.fault)) + (first.detail.empty() ? "" : ": " + first.detail),
        first.path);
  }
  ASSAY_ASSIGN(const gpu_hash::ArtifactOptions how, options_of(options, found));
  gpu_hash::FlatResults flat{.hash = statement.serialization.hash,
                             .shard_size = statement.serialization.shard_size};
  const auto engine = gpu_hash::make_flat_engine(0, flat);
  Progress progress(context, "hashing");
  ASSAY_ASSIGN(gpu_hash::HashedArtifact hashed,
               gpu_hash::hash_artifact(
                   options.files.path, how, *engine,
                   [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); }));
  Imported imported{std::move(hashed), {}, {}};
  compare_flat(statement, found.only_file, flat, imported);
  return imported;
}

Manifest manifest_of_import(const ImportOptions& options, const Imported& imported,
                            const oms::Statement& statement) {
  return {.name = options.name,
          .artifact = imported.hashed.artifact,
          .locations = options.locations,
          .other_digests = {{"sha256", oms::oms_root(statement.resources).hex()}}};
}

Result<std::string> signed_or_bare(const ImportOptions& options, const std::string& payload) {
  if (options.sign_key.empty()) {
    return payload;
  }
  ASSAY_ASSIGN(const auto signer, load_signer(options.sign_key, options.passphrase_file));
  const Signer* const signers[] = {signer.get()};
  return sign_payload(kStatementPayloadType, as_bytes(payload), signers, attestation::kKeyidNone);
}

// The envelope as it was signed, for 'assay push'. A keyid spares its reader tries of other keys.
Status write_evidence(const ImportOptions& options, const ModelSignature& signature) {
  if (options.evidence.empty()) {
    return {};
  }
  attestation::Envelope envelope = signature.envelope;
  if (signature.by.key) {
    envelope.signatures.front().keyid_hint = signature.by.key->id().digest().hex();
  }
  return client::write_file(options.evidence, attestation::encode_envelope(envelope) + "\n");
}

Exit refuse_import(const Context& context, const Imported& imported, Json json) {
  if (!context.json()) {
    for (const oms::Finding& finding : imported.findings) {
      print_line(std::string(oms::name(finding.fault)) + " " + finding.path);
    }
  }
  json["differences"] = findings_json(imported.findings);
  return refuse(context,
                {ErrorCode::kContentMismatch, counted(imported.findings.size(), "difference"), ""},
                std::move(json));
}

void tell_imported(const Context& context, const ImportOptions& options, const Imported& imported,
                   const std::string& payload, Json json) {
  const auto& left_out = imported.hashed.artifact.parameters.ignore;
  if (context.json()) {
    json["imported"] = true;
    json["artifact"] = imported.hashed.id.text();
    json["id"] = attestation::statement_id(kStatementPayloadType, as_bytes(payload)).text();
    json["name"] = options.name;
    json["file"] = options.out;
    json["signed"] = !options.sign_key.empty();
    json["left_out"] = left_out;
    json["unsigned_empty"] = imported.unsigned_empty;
    if (!options.evidence.empty()) {
      json["evidence"] = options.evidence;
    }
    add_pickles(json, imported.hashed.pickles);
    print_json(json);
    return;
  }
  print_line(imported.hashed.id.text());
  message(context, hashed_summary(imported.hashed));
  tell_findings(context, imported.hashed);
  for (const std::string& pattern : left_out) {
    message(context, "left out of the model: " + pattern +
                         "; policies accept it where parameters.ignore lists it");
  }
  if (!imported.unsigned_empty.empty()) {
    warning("empty files, which the signature does not cover: " +
            few_names(imported.unsigned_empty));
  }
  message(context,
          "wrote " + options.out + (options.evidence.empty() ? "" : " and " + options.evidence));
}

Result<Exit> import_model(const Context& context, const ImportOptions& options) {
  ASSAY_TRY(check_model_name(options.name));
  if (options.files.ignore_unsigned) {
    return fail(ErrorCode::kUsage,
                "A manifest covers what was signed: leave other files out with --ignore-path");
  }
  for (const std::string& out : {options.out, options.evidence}) {
    ASSAY_ASSIGN(const std::string own, path_in_model(options.files.path, out));
    if (!own.empty()) {
      return fail(ErrorCode::kUsage,
                  "Write to another folder: the manifest covers what was signed, and nothing that "
                  "comes into the model later",
                  out);
    }
  }
  ASSAY_ASSIGN(const oms::Trust trust, load_model_trust(options.trust, context.clock));
  ASSAY_ASSIGN(const Bytes bundle,
               client::read_file(options.files.signature, oms::kMaxBundleBytes));
  // A signature of release 0.2 has no root, and no other verifier reads its envelope.
  const auto signature = verify_model_signature(bundle, trust, false);
  if (!signature) {
    return refuse(context, signature.error(), {{"imported", false}});
  }
  Json json = signed_json(signature->by);
  json["imported"] = false;
  if (Status alike = check_alike_names(signature->by.statement); !alike) {
    return refuse(context, alike.error(), std::move(json));
  }
  const auto imported = hash_both(context, options, signature->by.statement);
  if (!imported) {
    const ErrorCode code = imported.error().code;
    return is_about_the_model(code) || code == ErrorCode::kContentMismatch
               ? Result<Exit>(refuse(context, imported.error(), std::move(json)))
               : std::unexpected(imported.error());
  }
  if (!imported->findings.empty()) {
    return refuse_import(context, *imported, std::move(json));
  }
  ASSAY_ASSIGN(const Statement statement,
               to_statement(manifest_of_import(options, *imported, signature->by.statement)));
  ASSAY_ASSIGN(const std::string payload, encode_statement(statement));
  ASSAY_ASSIGN(const std::string document, signed_or_bare(options, payload));
  ASSAY_TRY(client::write_file(options.out, document + "\n"));
  ASSAY_TRY(write_evidence(options, *signature));
  tell_imported(context, options, *imported, payload, std::move(json));
  return Exit::kYes;
}

}  // namespace

void add_manifest_import(const Command& group, Context& context) {
  auto options = std::make_shared<ImportOptions>();
  const Command verb = group.add(
      "import", "Make a manifest of a model that another tool signed, and of its signature");
  verb.argument("PATH", options->files.path, "the model's directory or file");
  verb.argument("SIGNATURE", options->files.signature, "its signature, often model.sig");
  verb.option("--name", options->name, "NAME", "name of the model, such as acme/demo");
  verb.required();
  verb.option("--out", options->out, "FILE", "where to write the manifest");
  verb.required();
  verb.option("--out-evidence", options->evidence, "FILE",
              "where to write the envelope of the signature, for 'assay push'");
  add_model_trust_options(verb, options->trust);
  add_signed_files_options(verb, options->files);
  verb.option("--location", options->locations, "URI",
              "where the model is kept; as of 'manifest create'");
  verb.choice("--objects", options->objects, {"files", "both"},
              "what the manifest lists: files, or files and tensors (default both)");
  verb.option("--whole", options->whole, "FILE",
              "path in the model of a file that is not cut into tensors; may be given again");
  verb.option("--sign-key", options->sign_key, "FILE",
              "private key of a publisher to sign the manifest with at once");
  verb.option("--passphrase-file", options->passphrase_file, "FILE",
              "file of mode 0600 with the passphrase of that key, if it is encrypted");
  verb.note(
      "Verifies the signature and reads each file once, for its signed digest and for our tree. "
      "The\n"
      "manifest names both roots and covers the files that were signed, and no others. The "
      "service\n"
      "never sees the bytes, so the pair is the word of whoever imports: it counts when a "
      "publisher\n"
      "signs the manifest. The evidence says who else signed these bytes, under no name.");
  verb.example(
      "assay manifest import ./llama ./llama/model.sig --name nvidia/llama --key vendor.pub \\\n"
      "      --sign-key publisher.pem --out manifest.json --out-evidence signature.json",
      "import a model with the signature of its vendor; assay push sends both files");
  verb.action([options, &context] { return import_model(context, *options); });
}

}  // namespace assay::cli
