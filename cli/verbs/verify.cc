// SPDX-License-Identifier: Apache-2.0
// assay verify: a model against the signature that another tool made of it; an exported decision.
#include <chrono>
#include <memory>
#include <utility>

#include "cli/documents/model_signature.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/exported_decision.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/signed_files.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"

namespace assay::cli {

namespace {

struct VerifyModelOptions {
  SignedFilesFlags files;
  ModelTrustFlags trust;
  VerifierFlags log_key;  // of an exported decision
};

// What was looked at.
struct Compared {
  std::vector<oms::Finding> findings;
  std::vector<std::string> unsigned_empty;
  std::vector<std::string> unsigned_files;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

Result<Compared> compare(const Context& context, const VerifyModelOptions& options,
                         const oms::Statement& statement) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_ASSIGN(const SignedFiles found, find_signed_files(options.files, statement));
  const std::vector<oms::DiskFile> files = on_disk(found);
  oms::Coverage coverage = oms::compare_files(
      statement, files, found.only_file,
      options.files.ignore_unsigned ? oms::Extra::kAllowed : oms::Extra::kRefused);
  Compared compared{std::move(coverage.findings), std::move(coverage.unsigned_empty),
                    std::move(coverage.unsigned_files), files.size()};
  std::vector<gpu_hash::FlatRange> ranges;
  for (const oms::Part& part : coverage.parts) {
    ranges.push_back({found.files[part.file].source, part.begin, part.end});
    compared.bytes += part.end - part.begin;
  }
  Progress progress(context, "verifying");
  gpu_hash::FlatOptions how{.hash = statement.serialization.hash};
  how.progress = [&](std::uint64_t done) { progress.update(done, compared.bytes); };
  ASSAY_ASSIGN(const std::vector<Bytes> digests, gpu_hash::hash_flat(ranges, how));
  for (oms::Finding& finding : compare_digests(statement, files, coverage.parts, digests)) {
    compared.findings.push_back(std::move(finding));
  }
  compared.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return compared;
}

Error differs(const Compared& compared) {
  return {ErrorCode::kContentMismatch, counted(compared.findings.size(), "difference"), ""};
}

Exit print_compared(const Compared& compared, Json json) {
  const bool same = compared.findings.empty();
  json["verified"] = same;
  json["differences"] = findings_json(compared.findings);
  json["unsigned_empty"] = compared.unsigned_empty;
  json["unsigned_files"] = compared.unsigned_files;
  json["files"] = compared.files;
  json["bytes"] = compared.bytes;
  json["seconds"] = compared.seconds;
  if (!same) {
    json["error"] = error_json(differs(compared));
  }
  print_json(json);
  return same ? Exit::kYes : Exit::kNo;
}

Exit tell_compared(const Context& context, const Compared& compared, const oms::Signed& by) {
  for (const oms::Finding& finding : compared.findings) {
    print_line(std::string(oms::name(finding.fault)) + " " + finding.path +
               (finding.detail.empty() ? "" : ": " + finding.detail));
  }
  if (!compared.unsigned_empty.empty()) {
    warning("empty files, which a signature of shards does not cover: " +
            few_names(compared.unsigned_empty));
  }
  if (!compared.unsigned_files.empty()) {
    warning("not signed: " + few_names(compared.unsigned_files));
  }
  message(context, counted(compared.files, "file") + ", " +
                       human_bytes(static_cast<double>(compared.bytes)) + " hashed in " +
                       std::to_string(compared.seconds) + " s");
  if (!compared.findings.empty()) {
    warning("refused: content-mismatch: " + differs(compared).detail);
    return Exit::kNo;
  }
  print_line(by.statement.old_form ? "verified"
                                   : "verified " + oms::oms_root(by.statement.resources).text());
  print_line("signed by " + by.signer + (by.issuer.empty() ? "" : ", issuer " + by.issuer));
  return Exit::kYes;
}

Result<Exit> verify_model(const Context& context, const VerifyModelOptions& options) {
  ASSAY_ASSIGN(const oms::Trust trust, load_model_trust(options.trust, context.clock));
  ASSAY_ASSIGN(const Bytes bundle,
               client::read_file(options.files.signature, oms::kMaxBundleBytes));
  const auto signature = verify_model_signature(bundle, trust, options.trust.accept_v02);
  if (!signature) {
    return refuse(context, signature.error(), {{"verified", false}});
  }
  Json json = signed_json(signature->by);
  json["verified"] = false;
  if (Status alike = check_alike_names(signature->by.statement); !alike) {
    return refuse(context, alike.error(), std::move(json));
  }
  const auto compared = compare(context, options, signature->by.statement);
  if (!compared) {
    return is_about_the_model(compared.error().code)
               ? Result<Exit>(refuse(context, compared.error(), std::move(json)))
               : std::unexpected(compared.error());
  }
  return context.json() ? print_compared(*compared, std::move(json))
                        : tell_compared(context, *compared, signature->by);
}

// A model needs a signature beside it; an exported decision stands alone.
Result<Exit> verify_either(const Context& context, const VerifyModelOptions& options) {
  const bool has_log_key = !options.log_key.key.empty() || !options.log_key.file.empty();
  if (options.files.signature.empty() && is_exported_decision(options.files.path)) {
    if (options.trust != ModelTrustFlags{}) {
      return fail(ErrorCode::kUsage,
                  "An exported decision is checked with the key of its log alone, as of its own "
                  "time: leave out the keys, certificates and --at of models",
                  options.files.path);
    }
    return verify_decision_file(context, options.files.path, options.log_key);
  }
  if (options.files.signature.empty() || has_log_key) {
    return fail(ErrorCode::kUsage,
                "This is no exported decision. A model is verified against a signature: give "
                "PATH and SIGNATURE, without the key of a log",
                options.files.path);
  }
  return verify_model(context, options);
}

}  // namespace

void add_verify_model(const Command& root, Context& context) {
  auto options = std::make_shared<VerifyModelOptions>();
  const Command verb =
      root.add("verify", "Check an exported decision, or a model against a signature of others");
  verb.argument("PATH", options->files.path, "exported decision, or the model's directory or file");
  verb.optional_argument(
      "SIGNATURE", options->files.signature,
      "of a model: what 'model_signing sign' or 'assay sign --format oms' wrote, often model.sig");
  add_verifier_options(verb, options->log_key);
  add_model_trust_options(verb, options->trust);
  add_signed_files_options(verb, options->files);
  verb.note(
      "Works offline. A file of 'assay decision export' is recognised by its content. Its verdict "
      "is\n"
      "evaluated again from the signed documents in it; what it cannot show is listed as resting "
      "on\n"
      "the service's word. The log's key comes from you, never from the file.\n"
      "Of a model (OpenSSF Model Signing): first the signature, then every file. Files that the "
      "signature does not "
      "cover\n"
      "are differences, but those of version control at the top (.git, .gitattributes, .github,\n"
      ".gitignore), what the signature itself leaves out, and its own file. Exits with 0 when all\n"
      "is as signed, with 1 when anything differs or does not verify, with 2 when there is no\n"
      "answer. The signature says which bytes, never under which name: 'assay manifest import'\n"
      "makes a manifest of it. Of our own manifests: 'assay manifest verify'.");
  verb.example("assay verify decision.export --verifier-key-file log.vkey",
               "check a decision of somebody else's service, without that service");
  verb.example("assay verify ./llama ./llama/model.sig --key vendor.pub",
               "verify with a key that you trust");
  verb.example(
      "assay verify ./llama model.sig --certificate-root ca.pem --at 2026-01-31T12:00:00Z -o json",
      "a signature by a certificate, at a time when it was valid");
  verb.action([options, &context] { return verify_either(context, *options); });
}

}  // namespace assay::cli
