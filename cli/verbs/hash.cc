// SPDX-License-Identifier: Apache-2.0
// assay hash: the root of a model, dataset or file.
#include <memory>
#include <optional>
#include <utility>

#include "cli/output.h"
#include "cli/verbs/hash_options.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/verbs.h"

namespace assay::cli {

namespace {

struct HashOptions {
  HashFlags hash;
  bool list = false;
};

Result<Exit> hash(const Context& context, const HashOptions& options) {
  ASSAY_ASSIGN(const gpu_hash::ArtifactOptions artifact, artifact_options(context, options.hash));
  std::optional<Fallback> fallback;
  ASSAY_ASSIGN(
      const gpu_hash::HashedArtifact hashed,
      hash_with_progress(context, options.hash.path, artifact, options.hash.device, fallback));
  tell_findings(context, hashed);
  if (context.json()) {
    Json json = hashed_json(hashed);
    add_fallback(json, fallback);
    print_json(json);
    return Exit::kYes;
  }
  if (options.list) {
    Table table({"ROOT", "BYTES", "OBJECT"});
    for (const Entry& entry : hashed.artifact.entries) {
      table.row({root_of(entry).hex(), std::to_string(size_of(entry)), label_of(entry)});
    }
    print_table(context, table);
  }
  print_line(hashed.id.text());
  message(context, hashed_summary(hashed));
  return Exit::kYes;
}

}  // namespace

void add_hash(const Command& root, Context& context) {
  auto options = std::make_shared<HashOptions>();
  const Command verb = root.add("hash", "Compute the root of a model, dataset or file");
  add_hash_options(verb, options->hash);
  verb.flag("--list", options->list, "also print the root of each file and tensor");
  verb.note(
      "The root covers names, sizes and bytes of all files (hidden ones too) and of the tensors "
      "in\n"
      "safetensors files. It is the same on every device and every machine. What is left out is a\n"
      "part of the root, too: --ignore, and of .git, model.assay.json, model.assay.json.times and\n"
      "model.assay.outline at the top those that are there. Pointers of Git LFS, and shards that "
      "an\n"
      "index names and that are missing, are named on standard error.");
  verb.example("assay hash ./llama", "compute the artifact id of a model");
  verb.example("assay hash ./llama --device opencl:all",
               "hash on all GPUs of this machine at once");
  verb.example("assay hash ./llama --device opencl:0 -o json > hash.json",
               "hash on the first GPU, and save every entry");
  verb.example("assay hash ./llama --device opencl --fallback cpu",
               "hash on a GPU, or on the CPU if that fails");
  verb.action([options, &context] { return hash(context, *options); });
}

}  // namespace assay::cli
