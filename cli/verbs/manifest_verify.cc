// SPDX-License-Identifier: Apache-2.0
// assay manifest verify: files on disk against a signed manifest.
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/device_options.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/manifest_part.h"
#include "cli/verbs/trusted_manifest.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "gpu_hash/artifact_verify.h"

namespace assay::cli {

namespace {

struct VerifyOptions {
  std::string envelope;
  std::string path;
  TrustFlags trust;
  DeviceFlags device;
  std::string outline;
  std::string artifact;
  PartFlags part;
};

Json result_json(const TrustedManifest& trusted) {
  return {{"verified", false},
          {"artifact", trusted.artifact.text()},
          {"id", trusted.id.text()},
          {"name", trusted.manifest.name},
          {"signers", signers_json(trusted.signers)}};
}

// A model of one file may have any name on disk. Users see which one is signed.
void tell_name(const Context& context, const std::filesystem::path& path,
               const std::vector<Entry>& entries) {
  std::error_code ignored;
  if (entries.empty() || std::filesystem::is_directory(path, ignored)) {
    return;
  }
  const std::filesystem::path as_signed = file_of(entries.front());
  if (path.filename() != as_signed.filename()) {
    message(context, "the file is signed under another name: " + as_signed.string());
  }
}

Exit report(const Context& context, const TrustedManifest& trusted, const std::string& path,
            const gpu_hash::Verified& verified, const std::optional<Fallback>& fallback) {
  const bool same = verified.differences.empty();
  if (context.json()) {
    Json json = result_json(trusted);
    json["verified"] = same;
    add_verified(json, verified);
    json["device_name"] = verified.engine.device;
    add_fallback(json, fallback);
    print_json(json);
    return same ? Exit::kYes : Exit::kNo;
  }
  print_verified(context, verified);
  if (!same) {
    warning("refused: content-mismatch: " + counted(verified.differences.size(), "difference") +
            " from " + trusted.artifact.text());
    return Exit::kNo;
  }
  print_line("verified " + trusted.manifest.name + " " + trusted.artifact.text());
  tell_name(context, path, trusted.manifest.artifact.entries);
  for (const auto& signer : trusted.signers) {
    print_line(
        "signed by " + signer.key.identity +
        (signer.key.identity == signer.key.id.text() ? "" : " (" + signer.key.id.text() + ")"));
  }
  return Exit::kYes;
}

// As a difference, so that both kinds of verification answer in the same form.
std::vector<gpu_hash::Difference> differences_of(const Entry& entry,
                                                 const gpu_hash::VerifiedPart& verified) {
  if (verified.same()) {
    return {};
  }
  using Kind = gpu_hash::Difference::Kind;
  const auto* tensor = std::get_if<TensorEntry>(&entry);
  return {{verified.missing ? Kind::kMissing : Kind::kChanged,
           tensor != nullptr ? tensor->file : std::get<FileEntry>(entry).path,
           tensor != nullptr ? std::optional(tensor->name) : std::nullopt, verified.differing,
           verified.detail}};
}

Exit report_part(const Context& context, const TrustedManifest& trusted, const Entry& entry,
                 const gpu_hash::VerifiedPart& verified, const std::optional<Fallback>& fallback) {
  const std::vector<gpu_hash::Difference> differences = differences_of(entry, verified);
  const std::uint64_t bytes = verified.checked.end - verified.checked.begin;
  if (context.json()) {
    Json json = result_json(trusted);
    json["verified"] = verified.same();
    json["part"] = part_json(entry, verified);
    json["differences"] = Json::array();
    for (const auto& difference : differences) {
      json["differences"].push_back(difference_json(difference));
    }
    add_protection(json, verified.read_protection);
    json["bytes"] = bytes;
    json["seconds"] = verified.seconds;
    json["device"] = verified.engine.id;
    json["device_name"] = verified.engine.device;
    add_fallback(json, fallback);
    if (!verified.same()) {
      json["error"] = error_json({ErrorCode::kContentMismatch, verified.detail, ""});
    }
    print_json(json);
    return verified.same() ? Exit::kYes : Exit::kNo;
  }
  for (const auto& difference : differences) {
    print_line(difference_line(difference));
  }
  message(context, rate_summary(bytes, verified.seconds, verified.engine));
  tell_protection(context, verified.read_protection);
  if (!verified.same()) {
    warning("refused: content-mismatch: " + label_of(entry) + " differs from " +
            trusted.artifact.text());
    return Exit::kNo;
  }
  print_line("verified " + part_label(entry, verified) + " in " + trusted.manifest.name + " " +
             trusted.artifact.text());
  message(context, "nothing else of the model was looked at");
  return Exit::kYes;
}

Result<Exit> answer_or_error(const Context& context, const TrustedManifest& trusted,
                             const Error& error) {
  return is_difference(error.code) ? Result<Exit>(refuse(context, error, result_json(trusted)))
                                   : std::unexpected(error);
}

gpu_hash::Progress update_of(Progress& progress) {
  return [&progress](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
}

Result<Exit> verify_one(const Context& context, const VerifyOptions& options,
                        const TrustedManifest& trusted, const gpu_hash::VerifyOptions& how) {
  const Artifact& artifact = trusted.manifest.artifact;
  ASSAY_ASSIGN(gpu_hash::PartOptions part, part_options(options.part, artifact));
  part.outline = how.outline;
  std::optional<gpu_hash::VerifiedPart> verified;
  std::optional<Fallback> fallback;
  const Status status = with_engine(
      context, options.device,
      [&](gpu_hash::Engine& engine) -> Status {
        Progress progress(context, "verifying");
        ASSAY_ASSIGN(verified, gpu_hash::verify_part(options.path, artifact, part, engine,
                                                     update_of(progress)));
        return {};
      },
      fallback);
  if (!status) {
    return answer_or_error(context, trusted, status.error());
  }
  return report_part(context, trusted, artifact.entries[part.entry], *verified, fallback);
}

Result<Exit> verify(const Context& context, const VerifyOptions& options) {
  bool refused = false;
  const Result<TrustedManifest> trusted =
      open_manifest(context, {options.envelope, options.artifact, options.trust}, refused);
  if (!trusted) {
    return refused ? Result<Exit>(refuse(context, trusted.error(), {{"verified", false}}))
                   : std::unexpected(trusted.error());
  }
  gpu_hash::VerifyOptions how;
  std::optional<Outline> outline;
  if (!options.outline.empty()) {
    ASSAY_ASSIGN(const Bytes blob, client::read_file(options.outline, std::uint64_t{1} << 32));
    Result<Outline> decoded = decode_outline(blob, trusted->manifest.artifact);
    if (!decoded) {
      return refuse(context, decoded.error(), result_json(*trusted));
    }
    outline = *std::move(decoded);
    how.outline = &*outline;
  }
  if (options.part.given()) {
    return verify_one(context, options, *trusted, how);
  }
  std::optional<gpu_hash::Verified> verified;
  std::optional<Fallback> fallback;
  const Status status = with_engine(
      context, options.device,
      [&](gpu_hash::Engine& engine) -> Status {
        Progress progress(context, "verifying");
        ASSAY_ASSIGN(verified, gpu_hash::verify_artifact(options.path, trusted->manifest.artifact,
                                                         how, engine, update_of(progress)));
        return {};
      },
      fallback);
  if (!status) {
    return answer_or_error(context, *trusted, status.error());
  }
  return report(context, *trusted, options.path, *verified, fallback);
}

}  // namespace

void add_manifest_verify(const Command& group, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  const Command verb = group.add("verify", "Check files on disk against a signed manifest");
  verb.argument("ENVELOPE", options->envelope, "signed manifest");
  verb.argument("PATH", options->path, "the model's directory or file");
  add_trust_options(verb, options->trust);
  verb.option("--artifact", options->artifact, "ID", "also require that it is this artifact");
  verb.option("--outline", options->outline, "FILE",
              "outline of the model: differences name byte ranges then");
  add_part_options(verb, options->part);
  add_device_options(verb, options->device);
  add_fallback_option(verb, options->device);
  verb.note(
      "Works offline. First the signatures: every one by a known key must verify, and enough\n"
      "identities must be allowed to publish this name. Then every byte is hashed again. Exits "
      "with 0\n"
      "when all is as signed, with 1 when anything differs, with 2 when there is no answer. A file "
      "that no file entry covers, and that the root's ignore patterns do not leave "
      "out,\n"
      "is a difference: a manifest of tensors alone verifies no directory, only single tensors.\n"
      "With --file or --tensor the rest of the model is neither read nor judged.");
  verb.example("assay manifest verify llama.json ./llama --key publisher.pem.pub",
               "verify with a key that you trust");
  verb.example("assay manifest verify llama.json ./llama --trust trust.json --threshold 2 -o json",
               "require two publishers with a role for this name");
  verb.example(
      "assay manifest verify llama.json ./llama --key publisher.pem.pub --outline llama.outline "
      "\\\n"
      "      --tensor lm_head.weight --range 0-1048576",
      "read the first MiB of one tensor, and no other byte");
  verb.action([options, &context] { return verify(context, *options); });
}

}  // namespace assay::cli
