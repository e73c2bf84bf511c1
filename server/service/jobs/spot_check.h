// SPDX-License-Identifier: Apache-2.0
// Spot checks: random spans of a model that the node must still have at hand. What is right is read
// from a local mirror of the model, and counts only when it fits the stored outline.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/outline.h"
#include "schemas/core/random.h"
#include "schemas/verification_report.h"
#include "server/service/documents/outlines.h"

namespace assay::server {

// Bytes that one spot check reads at most; spans beyond are not drawn.
inline constexpr std::uint64_t kMaxSpotBytes = std::uint64_t{64} << 20;
// It is enough for 16 of the largest spans.
static_assert(kMaxSpotBytes / 16 >= kMaxStoredSpan);

// Up to `count` distinct spans of the entries at `positions`, each as likely as any other, in the
// order of the artifact. Files are drawn from when there are any: tensors are parts of them. Fewer
// when there are not that many, or their bytes would be more than kMaxSpotBytes.
[[nodiscard]] Result<std::vector<SpotSpan>> draw_spans(Random& random, const Artifact& artifact,
                                                       std::span<const std::uint64_t> positions,
                                                       std::uint64_t span, std::size_t count);

// The bytes of a span, from `directory`/`model_name`/<path of the file>. No symbolic link below
// `directory` is followed and nothing but regular files is read: file-unreadable,
// unsupported-file-type. content-mismatch when size or bytes do not fit manifest and outline.
[[nodiscard]] Result<Bytes> read_span(const std::string& directory, std::string_view model_name,
                                      const Artifact& artifact, const Outline& outline,
                                      const SpotSpan& place);

// What a node must answer to `spans` under `nonce`. Errors of read_span.
[[nodiscard]] Result<std::vector<Digest>> expected_answers(
    const std::string& directory, std::string_view model_name, const ArtifactId& id,
    const Artifact& artifact, const Outline& outline, std::span<const SpotSpan> spans,
    const Nonce& nonce);

}  // namespace assay::server
