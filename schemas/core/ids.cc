// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/ids.h"

namespace assay {
namespace {

constexpr std::string_view kPrefix = "assay-tree-v1-";

}  // namespace

Result<ArtifactId> ArtifactId::parse(std::string_view text) {
  if (!text.starts_with(kPrefix)) {
    return fail(ErrorCode::kInvalidDigest, "an artifact id looks like assay-tree-v1-sha256:<hex>");
  }
  ASSAY_ASSIGN(Digest root, Digest::parse(text.substr(kPrefix.size())));
  return ArtifactId(std::move(root));
}

std::string ArtifactId::text() const { return std::string(kPrefix) + root_.text(); }

std::string ArtifactId::digest_name() const {
  return std::string(kPrefix) + std::string(name(root_.algorithm()));
}

}  // namespace assay
