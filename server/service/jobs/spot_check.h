// SPDX-License-Identifier: Apache-2.0
// Spot checks: the node must send digests of random spans (byte ranges) of a model, to show that it
// still has the bytes. The service computes the right answers from its own copy of the model, the
// mirror. Bytes of the mirror are used only if they match the stored outline (digests of inner
// nodes of the model's tree).
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

// Limit on the bytes of all spans of one spot check together. Spans beyond the limit are not drawn.
inline constexpr std::uint64_t kMaxSpotBytes = std::uint64_t{64} << 20;
// The limit allows 16 spans of the largest size.
static_assert(kMaxSpotBytes / 16 >= kMaxStoredSpan);

// Returns true when an outline of `artifact` covers all bytes of the entries at `positions`, apart
// from padding. It does not cover what is behind the header of a cut file when the artifact lists
// no tensors.
[[nodiscard]] bool is_outlined(const Artifact& artifact, std::span<const std::uint64_t> positions);

// Draws up to `count` distinct spans of `span` bytes from the own bytes of the entries at
// `positions`, and of the tensors in the files among them. All spans are equally likely. Returns
// the spans in the order of the artifact. Returns fewer spans when there are not enough, or when
// their bytes would exceed kMaxSpotBytes.
[[nodiscard]] Result<std::vector<SpotSpan>> draw_spans(Random& random, const Artifact& artifact,
                                                       std::span<const std::uint64_t> positions,
                                                       std::uint64_t span, std::size_t count);

// Returns the bytes of a span, read from `directory`/`model_name`/<path of the file>. Follows no
// symbolic link below `directory`, and reads only regular files. Errors: file-unreadable;
// unsupported-file-type; content-mismatch when size or bytes do not fit manifest and outline.
[[nodiscard]] Result<Bytes> read_span(const std::string& directory, std::string_view model_name,
                                      const Artifact& artifact, const Outline& outline,
                                      const SpotSpan& place);

// Returns the answers that a node must give to `spans` under `nonce`. Errors: as read_span.
[[nodiscard]] Result<std::vector<Digest>> expected_answers(
    const std::string& directory, std::string_view model_name, const ArtifactId& id,
    const Artifact& artifact, const Outline& outline, std::span<const SpotSpan> spans,
    const Nonce& nonce);

}  // namespace assay::server
