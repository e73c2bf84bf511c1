// SPDX-License-Identifier: Apache-2.0
// assay manifest create and show.
#include "schemas/manifest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "attestation/dsse.h"
#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/verbs/hash_options.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/reuse.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "gpu_hash/walk.h"
#include "schemas/core/model_format.h"
#include "schemas/core/outline.h"
#include "schemas/document_size.h"

namespace assay::cli {

namespace {

struct CreateOptions {
  HashFlags hash;
  SigningFlags signing;
  std::string name;
  std::vector<std::string> locations;
  std::vector<std::string> digests;
  std::string out;
  std::string outline;
  std::uint64_t outline_span = kDefaultOutlineSpan;
  std::string reuse;
  std::string reuse_outline;
  bool trust_mtime = false;
  bool record_mtime = false;
  bool allow_incomplete = false;

  [[nodiscard]] bool to_file() const { return !out.empty() && out != "-"; }
  // A manifest that was made by reuse can be reused again.
  [[nodiscard]] bool records() const { return record_mtime || (!reuse.empty() && to_file()); }
};

// Whether a file was written by this verb, or holds a signed document.
bool is_document(const std::string& path) {
  std::string start(kOutlineMagic.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == kOutlineMagic || load_document(path).has_value();
}

// Whether `output` lies in the model at `path`, or is the model.
Result<bool> is_in_model(const std::string& output, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return std::filesystem::equivalent(output, path, ignored);
  }
  ASSAY_ASSIGN(const auto pattern, gpu_hash::output_pattern(path, output));
  return pattern.has_value();
}

// A file of the model is never written over.
Status keep_model_file(const std::string& output, const std::string& path) {
  std::error_code ignored;
  if (output.empty() || output == "-" || !std::filesystem::exists(output, ignored)) {
    return {};
  }
  ASSAY_ASSIGN(const bool inside, is_in_model(output, path));
  if (inside && !is_document(output)) {
    return fail(ErrorCode::kUsage,
                "This would write over a file of the model; choose another name, or delete it",
                output);
  }
  return {};
}

// A manifest or outline that is written into the model it describes is no part of it, and the
// manifest says so. Policies accept that of the usual names without being told.
Status leave_out(const Context& context, const std::string& output, const std::string& path,
                 std::vector<std::string>& ignore) {
  std::error_code ignored;
  if (output.empty() || output == "-" || !std::filesystem::is_directory(path, ignored)) {
    return {};
  }
  ASSAY_ASSIGN(const auto pattern, gpu_hash::output_pattern(path, output));
  if (!pattern || std::ranges::find(ignore, *pattern) != ignore.end()) {
    return {};
  }
  if (std::ranges::find(kUsualIgnore, *pattern) == kUsualIgnore.end()) {
    message(context, "left out of the model: " + *pattern +
                         "; policies accept this pattern only where parameters.ignore lists it, "
                         "or write to " +
                         std::string(kManifestFile) + " and model.assay.outline");
  }
  ignore.push_back(*pattern);
  return {};
}

Status read_digests(const std::vector<std::string>& texts,
                    std::map<std::string, std::string>& digests) {
  for (const std::string& text : texts) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
      return fail(ErrorCode::kUsage, "A digest is written as algorithm:hex", text);
    }
    digests[text.substr(0, colon)] = text.substr(colon + 1);
  }
  return {};
}

Status write_outline(const CreateOptions& options, const gpu_hash::HashedArtifact& hashed) {
  if (options.outline.empty()) {
    return {};
  }
  const Outline outline{options.outline_span, hashed.outlines};
  ASSAY_ASSIGN(const Bytes blob, encode_outline(outline, hashed.artifact));
  return client::write_file(options.outline, blob);
}

// A manifest that is too long is refused before anything is hashed (by its number of entries) or
// signed (by its bytes).
template <typename T>
Result<T> with_advice(Result<T> made) {
  if (made || made.error().code != ErrorCode::kLimitExceeded) {
    return made;
  }
  Error error = std::move(made).error();
  error.detail += ". A manifest lists at most " + std::to_string(kMaxManifestEntries) +
                  " entries in " + std::to_string(kMaxStatementBytes >> 20) +
                  " MiB: use --objects files, or split the model";
  return std::unexpected(std::move(error));
}

Result<std::string> payload_of(const Manifest& manifest) {
  ASSAY_ASSIGN(const Statement statement, to_statement(manifest));
  return with_advice(encode_statement(statement));
}

// The document to write: the bare statement, or an envelope when there are keys.
Result<std::string> document_of(const SigningFlags& signing, const std::string& payload) {
  if (signing.keys.empty()) {
    return payload;
  }
  ASSAY_ASSIGN(const auto signers, load_signers(signing));
  return sign_payload(kStatementPayloadType, as_bytes(payload), borrow(signers), signing.keyid);
}

Status check_reuse(const CreateOptions& options) {
  if (options.reuse.empty() == options.trust_mtime) {
    return fail(ErrorCode::kUsage,
                "--reuse and --trust-mtime go together: unchanged times say that bytes are "
                "unchanged only if you vouch for it");
  }
  const bool wanted = !options.reuse.empty() && !options.outline.empty();
  if (wanted == options.reuse_outline.empty()) {
    return fail(ErrorCode::kUsage,
                "--reuse with --outline needs --reuse-outline, the outline of OLD, and nothing "
                "else does");
  }
  if (options.record_mtime && !options.to_file()) {
    return fail(ErrorCode::kUsage, "--record-mtime writes beside the manifest; give --out");
  }
  return {};
}

// Says what was not read, and writes the times for the next reuse.
Status finish_reuse(const Context& context, const CreateOptions& options,
                    const gpu_hash::HashedArtifact& hashed, Timestamp began) {
  if (!options.reuse.empty()) {
    constexpr std::size_t kListed = 100;
    message(context, "not read, taken from " + options.reuse + ": " +
                         counted(hashed.reused.size(), "file") + ", " +
                         human_bytes(static_cast<double>(hashed.reused_bytes)));
    for (std::size_t i = 0; i < std::min(kListed, hashed.reused.size()); ++i) {
      message(context, "  " + hashed.reused[i]);
    }
    if (hashed.reused.size() > kListed) {
      message(context, "  and " + counted(hashed.reused.size() - kListed, "more file"));
    }
  }
  return options.records() ? write_times(options.out, hashed, began) : Status{};
}

void tell_created(const Context& context, const CreateOptions& options,
                  const gpu_hash::HashedArtifact& hashed, const std::optional<Fallback>& fallback,
                  const std::string& payload) {
  const StatementId id = attestation::statement_id(kStatementPayloadType, as_bytes(payload));
  if (context.json()) {
    Json json = {{"artifact", hashed.id.text()},
                 {"id", id.text()},
                 {"name", options.name},
                 {"file", options.out},
                 {"signed", !options.signing.keys.empty()}};
    if (!options.reuse.empty()) {
      json["reused"] = hashed.reused;
      json["reused_bytes"] = hashed.reused_bytes;
    }
    add_pickles(json, hashed.pickles);
    add_fallback(json, fallback);
    print_json(json);
  } else {
    print_line(hashed.id.text());
    message(context, "wrote " + options.out);
  }
}

Result<Exit> create(const Context& context, CreateOptions options) {
  ASSAY_TRY(check_model_name(options.name));
  ASSAY_TRY(check_reuse(options));
  ASSAY_TRY(keep_model_file(options.out, options.hash.path));
  ASSAY_TRY(keep_model_file(options.outline, options.hash.path));
  if (options.records()) {
    ASSAY_TRY(leave_out(context, times_file(options.out), options.hash.path, options.hash.ignore));
  }
  ASSAY_TRY(leave_out(context, options.out, options.hash.path, options.hash.ignore));
  ASSAY_TRY(leave_out(context, options.outline, options.hash.path, options.hash.ignore));
  ASSAY_ASSIGN(gpu_hash::ArtifactOptions artifact, artifact_options(context, options.hash));
  artifact.refuse_lacks = !options.allow_incomplete;
  if (!options.outline.empty()) {
    ASSAY_TRY(check_outline_span(artifact.parameters, options.outline_span));
    artifact.outline_span = options.outline_span;
  }
  Manifest manifest{
      .name = options.name, .artifact = {}, .locations = options.locations, .other_digests = {}};
  ASSAY_TRY(read_digests(options.digests, manifest.other_digests));
  std::optional<gpu_hash::Reuse> reuse;
  if (!options.reuse.empty()) {
    ASSAY_ASSIGN(reuse, load_reuse(options.reuse, options.reuse_outline));
    artifact.reuse = &*reuse;
  }
  const Timestamp began = context.clock.now();
  std::optional<Fallback> fallback;
  artifact.max_entries = kMaxManifestEntries;
  ASSAY_ASSIGN(gpu_hash::HashedArtifact hashed,
               with_advice(hash_with_progress(context, options.hash.path, artifact,
                                              options.hash.device, fallback)));
  manifest.artifact = hashed.artifact;
  ASSAY_ASSIGN(const std::string payload, payload_of(manifest));
  ASSAY_ASSIGN(std::string document, document_of(options.signing, payload));
  ASSAY_TRY(write_outline(options, hashed));
  document += "\n";
  message(context, hashed_summary(hashed));
  tell_findings(context, hashed);
  if (!options.to_file()) {
    ASSAY_TRY(finish_reuse(context, options, hashed, began));
    print_document(document);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, document));
  ASSAY_TRY(finish_reuse(context, options, hashed, began));
  tell_created(context, options, hashed, fallback, payload);
  return Exit::kYes;
}

void add_create(const Command& group, Context& context) {
  auto options = std::make_shared<CreateOptions>();
  const Command verb = group.add("create", "Hash a model and write its manifest");
  add_hash_options(verb, options->hash);
  verb.option("--name", options->name, "NAME", "name of the model, such as acme/demo");
  verb.required();
  verb.option("--location", options->locations, "URI",
              "where the model is kept (pvc://, hostpath://, nfs://, oci://, csi://); pods that "
              "mount it are bound to the model by this; may be given again");
  verb.option("--digest", options->digests, "ALG:HEX",
              "another digest of the same model, to join statements that use it");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  verb.option("--outline", options->outline, "FILE",
              "also write an outline, which lets 'verify' name the bytes that differ");
  verb.option("--outline-span", options->outline_span, "BYTES",
              "bytes per digest of the outline (default 1048576)");
  verb.flag("--record-mtime", options->record_mtime,
            "also write OUT.times, sizes and modification times for a later --reuse");
  verb.option(
      "--reuse", options->reuse, "OLD",
      "take roots from this earlier manifest for files whose size and modification time are "
      "those in OLD.times; needs --trust-mtime");
  verb.option("--reuse-outline", options->reuse_outline, "FILE",
              "the outline of OLD, of the same span, from which --outline is completed");
  verb.flag("--trust-mtime", options->trust_mtime,
            "you vouch for OLD and OLD.times, and that no file changes without its time");
  verb.flag(
      "--allow-incomplete", options->allow_incomplete,
      "also make a manifest of a model that is not whole: Git LFS pointers in place of files, "
      "shards, parts of a GGUF model or external data that are missing or do not fit");
  add_signing_options(verb, options->signing, false);
  verb.note(
      "Without --key the manifest is an unsigned in-toto statement for 'assay sign'. What is "
      "written\n"
      "below PATH (--out, --outline, OUT.times) is left out of the model, and the manifest says "
      "so.\n"
      "With --reuse the files that were not read are listed; 'manifest verify' reads them all.");
  verb.example("assay manifest create ./llama --name acme/llama --out llama.json",
               "hash now, sign later or elsewhere");
  verb.example(
      "assay manifest create ./llama --name acme/llama --location pvc://ml/llama \\\n"
      "      --key publisher.pem --out ./llama/model.assay.json \\\n"
      "      --outline ./llama/model.assay.outline",
      "hash and sign in one go, and keep both files beside the weights");
  verb.action([options, &context] { return create(context, *options); });
}

// --- show

Json signature_hints(const std::optional<attestation::Envelope>& envelope) {
  Json list = Json::array();
  if (envelope) {
    for (const auto& signature : envelope->signatures) {
      list.push_back({{"keyid", signature.keyid_hint}, {"checked", false}});
    }
  }
  return list;
}

// Files that may be pickles, by what is signed of them.
std::vector<std::string> pickles_by_entry(const std::vector<Entry>& entries) {
  std::vector<std::string> pickles;
  for (const Entry& entry : entries) {
    const auto* stored = std::get_if<FileEntry>(&entry);
    if (stored != nullptr && format_of(*stored) == ModelFormat::kExecutable) {
      pickles.push_back(stored->path);
    }
  }
  return pickles;
}

void list_entries(const Context& context, const std::vector<Entry>& entries) {
  Table objects({"BYTES", "OBJECT"});
  for (const Entry& entry : entries) {
    objects.row({std::to_string(size_of(entry)), label_of(entry)});
  }
  print_table(context, objects);
}

Result<Exit> show(const Context& context, const std::string& file, bool list) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(file));
  ASSAY_ASSIGN(const Manifest manifest, manifest_of(document.payload));
  ASSAY_ASSIGN(const ArtifactId artifact, artifact_id(manifest));
  const auto& entries = manifest.artifact.entries;
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) {
    const auto* stored = std::get_if<FileEntry>(&entry);
    bytes += stored != nullptr ? stored->size : 0;
  }
  const std::vector<std::string> pickles = pickles_by_entry(entries);
  if (context.json()) {
    Json json = {{"id", document.payload.id().text()},
                 {"artifact", artifact.text()},
                 {"name", manifest.name},
                 {"parameters", to_json(manifest.artifact.parameters)},
                 {"objects", entries_json(entries)},
                 {"file_bytes", bytes},
                 {"locations", manifest.locations},
                 {"other_digests", manifest.other_digests},
                 {"signatures", signature_hints(document.envelope)}};
    add_pickles(json, pickles);
    print_json(json);
    return Exit::kYes;
  }
  Table table({"name", manifest.name});
  table.row({"artifact", artifact.text()});
  table.row({"statement", document.payload.id().text()});
  table.row({"objects",
             count_entries(entries) + ", files of " + human_bytes(static_cast<double>(bytes))});
  if (!pickles.empty()) {
    table.row({"executable-format", few_names(pickles) + ": may be pickles, by their names"});
  }
  for (const std::string& location : manifest.locations) {
    table.row({"location", location});
  }
  for (const std::string& pattern : manifest.artifact.parameters.ignore) {
    table.row({"left out", pattern});
  }
  if (manifest.artifact.parameters.follow_symlinks) {
    table.row({"links", "followed inside the directory"});
  }
  const std::size_t signatures = document.envelope ? document.envelope->signatures.size() : 0;
  table.row(
      {"signatures", std::to_string(signatures) +
                         (signatures > 0 ? ", not checked; see 'assay manifest verify'" : "")});
  print_fields(context, table);
  if (list) {
    list_entries(context, entries);
  }
  return Exit::kYes;
}

void add_show(const Command& group, Context& context) {
  auto file = std::make_shared<std::string>();
  auto list = std::make_shared<bool>(false);
  const Command verb = group.add("show", "Print what a manifest says");
  verb.argument("FILE", *file, "manifest or envelope; '-' is standard input");
  verb.flag("--list", *list, "also list every file and tensor");
  verb.note("Checks the document and that its entries lead to its root; verifies no signature.");
  verb.example("assay manifest show llama.json --list",
               "print a manifest with its files and tensors");
  verb.action([file, list, &context] { return show(context, *file, *list); });
}

}  // namespace

void add_manifest(const Command& root, Context& context) {
  const Command group = root.add("manifest", "Manifests: which bytes make up a model");
  add_create(group, context);
  add_sign_to(group, context,
              "assay manifest sign llama.json --key publisher.pem --out llama.signed.json");
  add_manifest_verify(group, context);
  add_manifest_import(group, context);
  add_show(group, context);
  add_manifest_prove(group, context);
  add_manifest_place(group, context);
}

}  // namespace assay::cli
