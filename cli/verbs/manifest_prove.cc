// SPDX-License-Identifier: Apache-2.0
// assay manifest prove: one file, tensor or chunk belongs to an artifact.
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/verbs/device_options.h"
#include "cli/verbs/proof.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "gpu_hash/prove.h"
#include "gpu_hash/source_file.h"
#include "gpu_hash/walk.h"

namespace assay::cli {

namespace {

struct ProveOptions {
  std::string manifest;
  std::string object;
  std::optional<std::uint64_t> chunk;
  std::string model;
  DeviceFlags device;
  std::string out;
  std::string check;
  std::string artifact;
};

// The entry that `text` names: a file's path, "file#tensor", or a tensor's name if it is the only
// one of that name and no file is called so.
Result<std::size_t> find_entry(const Artifact& artifact, const std::string& text) {
  std::vector<std::size_t> exact;
  std::vector<std::size_t> by_name;
  for (std::size_t i = 0; i < artifact.entries.size(); ++i) {
    const Entry& entry = artifact.entries[i];
    if (label_of(entry) == text) {
      exact.push_back(i);
    }
    const auto* tensor = std::get_if<TensorEntry>(&entry);
    if (tensor != nullptr && tensor->name == text) {
      by_name.push_back(i);
    }
  }
  const std::vector<std::size_t>& found = exact.empty() ? by_name : exact;
  if (found.empty()) {
    return fail(ErrorCode::kNotFound,
                "The manifest has no such file or tensor; 'assay manifest show --list' has them",
                text);
  }
  if (found.size() > 1) {
    return fail(ErrorCode::kUsage, "Several files hold a tensor of this name; write FILE#TENSOR",
                text);
  }
  return found.front();
}

// The file of an entry, found by the same rules as when the manifest was made.
Result<std::shared_ptr<const gpu_hash::SourceFile>> find_file(const Manifest& manifest,
                                                              const std::string& model,
                                                              const std::string& path) {
  ASSAY_ASSIGN(const auto files, gpu_hash::find_model(model, manifest.artifact));
  for (const gpu_hash::WalkedFile& file : files) {
    if (file.path == path) {
      return file.source;
    }
  }
  return fail(ErrorCode::kFileUnreadable, "The model has no such file", path);
}

// The chunks of a cut file are those of its header; the others are chunks of its tensors.
Status check_chunk_number(const Entry& entry, std::uint64_t chunk,
                          const TreeParameters& parameters) {
  const std::uint64_t size = own_size(entry);
  if (size == size_of(entry) || chunk <= (size - 1) / parameters.chunk_size) {
    return {};
  }
  return fail(ErrorCode::kInvalidParameter,
              "The chunks of this file are those of its header. Name a tensor, as FILE#TENSOR, for "
              "what is behind it; a manifest made with --objects both lists tensors",
              label_of(entry));
}

Result<ProvenChunk> prove_one_chunk(const Context& context, const ProveOptions& options,
                                    const Manifest& manifest, const Entry& entry) {
  const auto* tensor = std::get_if<TensorEntry>(&entry);
  const std::string& path = file_of(entry);
  const std::uint64_t offset = tensor != nullptr ? tensor->offset : 0;
  const std::uint64_t size = own_size(entry);
  const Digest& root = own_root(entry);
  ASSAY_TRY(check_chunk_number(entry, *options.chunk, manifest.artifact.parameters));
  ASSAY_ASSIGN(const auto source, find_file(manifest, options.model, path));
  if (tensor == nullptr ? source->size() != size_of(entry) : source->size() < offset + size) {
    return fail(ErrorCode::kContentMismatch, "The file has another size than in the manifest",
                path);
  }
  const TreeParameters& parameters = manifest.artifact.parameters;
  std::optional<gpu_hash::ChunkProof> made;
  std::optional<Fallback> fallback;  // a proof stands for itself, whoever computed it
  ASSAY_TRY(with_engine(
      context, options.device,
      [&](gpu_hash::Engine& engine) -> Status {
        ASSAY_ASSIGN(made,
                     gpu_hash::prove_chunk(engine, gpu_hash::file_region(source, offset, size),
                                           parameters, *options.chunk));
        return {};
      },
      fallback));
  gpu_hash::ChunkProof proof = *std::move(made);
  if (proof.root != root) {
    return fail(ErrorCode::kContentMismatch, "The bytes on disk are not those of the manifest",
                label_of(entry));
  }
  const std::uint64_t begin = *options.chunk * parameters.chunk_size;
  Bytes bytes(std::min<std::uint64_t>(parameters.chunk_size, size - begin));
  ASSAY_ASSIGN(const auto file, source->open());
  ASSAY_TRY(file->read(offset + begin, bytes));
  // The file may have changed between the two reads.
  ASSAY_TRY(gpu_hash::verify_chunk(parameters, proof, bytes, size, root));
  return ProvenChunk{std::move(proof), std::move(bytes)};
}

Result<Exit> make(const Context& context, const ProveOptions& options) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(options.manifest));
  ASSAY_ASSIGN(const Manifest manifest, manifest_of(document.payload));
  ASSAY_ASSIGN(const std::size_t index, find_entry(manifest.artifact, options.object));
  std::optional<ProvenChunk> chunk;
  if (options.chunk) {
    if (options.model.empty()) {
      return fail(ErrorCode::kUsage, "The proof of a chunk reads its file; give --model");
    }
    Result<ProvenChunk> proven =
        prove_one_chunk(context, options, manifest, manifest.artifact.entries[index]);
    if (!proven && proven.error().code == ErrorCode::kContentMismatch) {
      return refuse(context, proven.error(), Json::object());
    }
    if (!proven) {
      return std::unexpected(std::move(proven).error());
    }
    chunk = *std::move(proven);
  }
  ASSAY_ASSIGN(const Json proof, make_proof(manifest.artifact, index, chunk));
  if (options.out.empty() || options.out == "-") {
    print_json(proof);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, proof.dump(2) + "\n"));
  message(context, "wrote " + options.out);
  return Exit::kYes;
}

Result<Exit> check(const Context& context, const ProveOptions& options) {
  if (options.artifact.empty()) {
    return fail(ErrorCode::kUsage,
                "A proof shows nothing by itself; say with --artifact which artifact you trust");
  }
  ASSAY_ASSIGN(const ArtifactId artifact, ArtifactId::parse(options.artifact));
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.check));
  const Result<Json> json = parse_json(ByteView(bytes));
  const Result<Proven> proven =
      json ? check_proof(*json, artifact) : Result<Proven>(std::unexpected(json.error()));
  if (!proven) {
    return refuse(context, proven.error(), {{"verified", false}});
  }
  if (context.json()) {
    Json result = {{"verified", true},
                   {"artifact", artifact.text()},
                   {"parameters", to_json(proven->parameters)},
                   {"entry", to_json(proven->entry)}};
    if (proven->chunk) {
      result["chunk"] = *proven->chunk;
      result["chunk_bytes"] = *proven->chunk_size;
    }
    print_json(result);
    return Exit::kYes;
  }
  std::string line = label_of(proven->entry);
  if (proven->chunk) {
    line += ", chunk " + std::to_string(*proven->chunk) + " (" +
            std::to_string(*proven->chunk_size) + " bytes)";
  }
  print_line("proven: " + line + " belongs to " + artifact.text());
  return Exit::kYes;
}

Result<Exit> prove(const Context& context, const ProveOptions& options) {
  const bool making = !options.manifest.empty() && !options.object.empty();
  if (making == !options.check.empty()) {
    return fail(ErrorCode::kUsage,
                "Give a manifest and the file or tensor to prove, or --check with a proof");
  }
  return making ? make(context, options) : check(context, options);
}

}  // namespace

void add_manifest_prove(const Command& group, Context& context) {
  auto options = std::make_shared<ProveOptions>();
  const Command verb =
      group.add("prove", "Prove that a file, tensor or chunk belongs to a model, or check a proof");
  verb.optional_argument("MANIFEST", options->manifest, "manifest or envelope");
  verb.optional_argument("OBJECT", options->object,
                         "a file's path, a tensor's name, or FILE#TENSOR");
  verb.option("--chunk", options->chunk, "N",
              "prove chunk N of the object, counted from 0; a safetensors or GGUF file has the "
              "chunks of its header, and its tensors have the others");
  verb.option("--model", options->model, "PATH", "the model on disk, which holds the chunk");
  add_device_options(verb, options->device);
  add_fallback_option(verb, options->device);
  verb.option("--out", options->out, "FILE", "where to write the proof (default: standard output)");
  verb.option("--check", options->check, "PROOF", "check a proof instead");
  verb.option("--artifact", options->artifact, "ID", "with --check: the artifact that you trust");
  verb.note(
      "A proof holds the entry (and the chunk's bytes) with the hashes that lead to the "
      "artifact's\n"
      "root. Checking it needs the artifact id and nothing else.");
  verb.example("assay manifest prove llama.json config.json --out config.proof",
               "prove that this file belongs to the model");
  verb.example(
      "assay manifest prove llama.json model.safetensors#lm_head.weight --chunk 7 --model ./llama",
      "prove that one chunk of a tensor belongs to the model");
  verb.example("assay manifest prove --check config.proof --artifact assay-tree-v1-sha256:dc66...",
               "check a proof on another machine");
  verb.action([options, &context] { return prove(context, *options); });
}

}  // namespace assay::cli
