// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/trusted_manifest.h"

#include <optional>
#include <utility>

#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/verbs/hash_result.h"
#include "client/files.h"

namespace assay::cli {

Result<TrustedManifest> open_manifest(const Context& context, const ManifestFlags& flags,
                                      bool& refused) {
  const SigningContext question{KeyPurpose::kPublisher, "", std::string(kManifestPredicateType),
                                ""};
  ASSAY_ASSIGN(const TrustedSigners trusted, load_trusted_signers(flags.trust, question));
  ASSAY_ASSIGN(const JudgedAt times, times_of(flags.trust, context.clock));
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(flags.envelope));
  refused = true;
  ASSAY_ASSIGN(LoadedDocument document, read_document(bytes));
  if (!document.envelope) {
    return fail(ErrorCode::kSignatureMissing,
                "The manifest is not signed; sign it with 'assay sign'", flags.envelope);
  }
  ASSAY_ASSIGN(Manifest manifest, manifest_of(document.payload));
  const SigningContext about{KeyPurpose::kPublisher, "", std::string(kManifestPredicateType),
                             manifest.name};
  ASSAY_ASSIGN(auto signers,
               check_signatures(*document.envelope, trusted, about, flags.trust.threshold, times));
  ASSAY_ASSIGN(ArtifactId artifact, artifact_id(manifest));
  if (!flags.artifact.empty() && artifact.text() != flags.artifact) {
    return fail(ErrorCode::kSubjectMismatch,
                "The manifest is about another artifact: " + artifact.text());
  }
  refused = false;
  return TrustedManifest{std::move(manifest), std::move(artifact), document.payload.id(),
                         std::move(signers)};
}

Json difference_json(const gpu_hash::Difference& difference) {
  Json ranges = Json::array();
  for (const ByteRange& range : difference.ranges) {
    ranges.push_back({{"begin", range.begin}, {"end", range.end}});
  }
  Json json = {{"kind", gpu_hash::name(difference.kind)},
               {"file", difference.file},
               {"ranges", std::move(ranges)},
               {"detail", difference.detail}};
  if (difference.tensor) {
    json["tensor"] = *difference.tensor;
  }
  return json;
}

std::string difference_line(const gpu_hash::Difference& difference) {
  std::string line = std::string(gpu_hash::name(difference.kind)) + " " + difference.file;
  if (difference.tensor) {
    line += "#" + *difference.tensor;
  }
  if (difference.kind == gpu_hash::Difference::Kind::kChanged) {
    for (const ByteRange& range : difference.ranges) {
      line += " [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
    }
  }
  return difference.detail.empty() ? line : line + ": " + difference.detail;
}

void add_verified(Json& json, const gpu_hash::Verified& verified) {
  json["differences"] = Json::array();
  for (const auto& difference : verified.differences) {
    json["differences"].push_back(difference_json(difference));
  }
  add_protection(json, verified.read_protection);
  json["bytes"] = verified.bytes;
  json["seconds"] = verified.seconds;
  json["device"] = verified.engine.id;
  if (!verified.differences.empty()) {
    json["error"] = error_json(
        {ErrorCode::kContentMismatch, counted(verified.differences.size(), "difference"), ""});
  }
}

void print_verified(const Context& context, const gpu_hash::Verified& verified) {
  for (const auto& difference : verified.differences) {
    print_line(difference_line(difference));
  }
  message(context, rate_summary(verified.bytes, verified.seconds, verified.engine));
  tell_protection(context, verified.read_protection);
}

bool is_difference(ErrorCode code) {
  return code == ErrorCode::kUnsupportedFileType || code == ErrorCode::kInvalidPath ||
         code == ErrorCode::kMalformedSafetensors || code == ErrorCode::kMalformedGguf ||
         code == ErrorCode::kLimitExceeded;
}

}  // namespace assay::cli
