// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/sign_model.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "attestation/oms/verify.h"
#include "cli/documents/model_signature.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/signed_files.h"
#include "client/files.h"

namespace assay::cli {

namespace {

// What is left out: version control, --ignore-path, and the signature itself. All of it is written
// down, so that whoever verifies leaves out the same.
Result<std::vector<std::string>> paths_to_leave_out(const SignModelFlags& flags,
                                                    const std::string& path,
                                                    const std::string& out) {
  std::vector<std::string> paths(oms::kDefaultIgnore.begin(), oms::kDefaultIgnore.end());
  for (std::string one : flags.ignore) {
    while (one.size() > 1 && one.ends_with('/')) {
      one.pop_back();
    }
    ASSAY_TRY(check_path(one));
    paths.push_back(std::move(one));
  }
  ASSAY_ASSIGN(std::string own, path_in_model(path, out));
  if (!own.empty()) {
    paths.push_back(std::move(own));
  }
  std::ranges::sort(paths);
  const auto twice = std::ranges::unique(paths);
  paths.erase(twice.begin(), twice.end());
  return paths;
}

// The name of the directory or file, for people.
Result<std::string> subject_of(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, error.message(), path);
  }
  const std::string last = real.filename().string();
  return last.empty() || !is_utf8(last) ? "model" : last;
}

// The files or shards of the model, without digests.
std::vector<oms::Resource> resources_of(const SignedFiles& found, const oms::Serialization& how,
                                        std::vector<gpu_hash::FlatRange>& ranges) {
  std::vector<oms::Resource> resources;
  for (const gpu_hash::WalkedFile& file : found.files) {
    const std::string path = found.only_file ? std::string(oms::kOnlyFile) : file.path;
    const std::uint64_t size = file.source->size();
    const bool shards = how.method == oms::Method::kShards;
    const std::uint64_t step = shards ? how.shard_size : std::max<std::uint64_t>(size, 1);
    for (std::uint64_t at = 0; at < size || (at == 0 && !shards); at += step) {
      const std::uint64_t end = std::min(size, at + step);
      resources.push_back({path, shards ? at : 0, shards ? end : 0, {}});
      ranges.push_back({file.source, at, end});
    }
  }
  return resources;
}

Result<oms::Serialization> serialization_of(const SignModelFlags& flags) {
  oms::Serialization how;
  ASSAY_ASSIGN(how.hash, flat_hash_from(flags.hash));
  how.allow_symlinks = flags.allow_symlinks;
  if (flags.shard_size > 0) {
    how.method = oms::Method::kShards;
    how.shard_size = flags.shard_size;
  }
  return how;
}

Result<std::vector<Bytes>> chain_of(const SignModelFlags& flags) {
  std::vector<Bytes> chain;
  for (const std::string& path : flags.certificates) {
    ASSAY_ASSIGN(const auto certificates, load_certificates(path));
    for (const attestation::x509::Certificate& one : certificates) {
      chain.push_back(one.der());
    }
  }
  return chain;
}

// What a signature says, with every digest.
Result<oms::Statement> state(const Context& context, const std::string& path,
                             const SignModelFlags& flags, const std::string& out) {
  oms::Statement statement;
  ASSAY_ASSIGN(statement.serialization, serialization_of(flags));
  ASSAY_ASSIGN(statement.serialization.ignore_paths, paths_to_leave_out(flags, path, out));
  ASSAY_ASSIGN(statement.subject_name, subject_of(path));
  ASSAY_ASSIGN(const SignedFiles found,
               list_files(path, statement.serialization.ignore_paths, flags.allow_symlinks));
  std::vector<gpu_hash::FlatRange> ranges;
  statement.resources = resources_of(found, statement.serialization, ranges);
  std::uint64_t total = 0;
  for (const gpu_hash::FlatRange& range : ranges) {
    total += range.end - range.begin;
  }
  Progress progress(context, "hashing");
  gpu_hash::FlatOptions how{.hash = statement.serialization.hash};
  how.progress = [&](std::uint64_t done) { progress.update(done, total); };
  ASSAY_ASSIGN(std::vector<Bytes> digests, gpu_hash::hash_flat(ranges, how));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    statement.resources[i].digest = std::move(digests[i]);
  }
  oms::sort_resources(statement.resources, statement.serialization);
  ASSAY_TRY(check_alike_names(statement));
  return statement;
}

}  // namespace

void add_sign_model_options(const Command& verb, SignModelFlags& flags) {
  verb.option("--hash", flags.hash, "NAME",
              "with --format oms: sha256 (default) or blake2b, the digests of files");
  verb.option("--shard-size", flags.shard_size, "BYTES",
              "with --format oms: sign shards of this size in place of whole files");
  verb.option("--ignore-path", flags.ignore, "PATH",
              "with --format oms: a file or directory that is not signed; may be given again");
  verb.flag("--allow-symlinks", flags.allow_symlinks,
            "with --format oms: follow links that stay inside the model");
  verb.option("--certificate", flags.certificates, "FILE",
              "with --format oms: certificate (PEM) of the key, then those above it; may be given "
              "again");
}

bool are_given(const SignModelFlags& flags) {
  return flags.hash != "sha256" || flags.shard_size > 0 || !flags.ignore.empty() ||
         flags.allow_symlinks || !flags.certificates.empty();
}

Result<Exit> sign_model(const Context& context, const std::string& path,
                        const SignModelFlags& flags, const Signer& signer, const std::string& out) {
  ASSAY_TRY(keep_files_of(path, out));
  ASSAY_ASSIGN(const std::vector<Bytes> chain, chain_of(flags));
  ASSAY_ASSIGN(const oms::Statement statement, state(context, path, flags, out));
  ASSAY_ASSIGN(const std::string bundle, oms::sign_bundle(statement, signer, chain));
  if (out.empty() || out == "-") {
    print_document(bundle + "\n");
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(out, bundle));
  const std::string root = oms::oms_root(statement.resources).text();
  if (context.json()) {
    print_json({{"root", root},
                {"kind", "model-signature"},
                {"signed_by", signer.key_id().text()},
                {"resources", statement.resources.size()},
                {"file", out}});
  } else {
    print_line(root);
    message(context, "signed " + counted(statement.resources.size(), "resource") + " in " + out);
  }
  return Exit::kYes;
}

}  // namespace assay::cli
