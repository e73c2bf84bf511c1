// SPDX-License-Identifier: Apache-2.0
// Outlines: digests of the subtrees that each cover a fixed span of the own bytes of an artifact's
// entries (own_size() in schemas/core/artifact.h). An outline shows where bytes differ. Outlines
// are verified against the roots of the artifact's entries. Spec: schemas/tree.md section 7.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

inline constexpr std::string_view kOutlineMagic = "assay-outline-v1";         // how each one begins
inline constexpr std::uint64_t kDefaultOutlineSpan = std::uint64_t{1} << 20;  // bytes
inline constexpr std::uint64_t kMaxOutlineSpan = std::uint64_t{1} << 40;      // bytes

struct Outline {
  std::uint64_t span;                        // bytes per digest
  std::vector<std::vector<Digest>> entries;  // digests of each entry, in artifact order
  bool operator==(const Outline&) const = default;
};

// Checks a span. Errors: invalid-parameter unless the span is a power of two from the chunk size to
// 2^40.
[[nodiscard]] Status check_outline_span(const TreeParameters& parameters, std::uint64_t span);

// Checks an outline (section 7.3): the span is allowed, every entry has ceil(own_size / span)
// digests, and the digests lead to the root of its own bytes. Does not check the artifact itself.
// Errors: malformed-outline; `where` names the entry.
[[nodiscard]] Status check(const Outline& outline, const Artifact& artifact);

// Encodes an outline in the form of section 7.1. Errors: those of check() and artifact_id().
[[nodiscard]] Result<Bytes> encode_outline(const Outline& outline, const Artifact& artifact);
// Returns the size in bytes of what encode_outline() returns for any outline of `artifact` at
// `span`.
[[nodiscard]] std::uint64_t encoded_outline_size(const Artifact& artifact, std::uint64_t span);

// Parses and checks an outline of `artifact`. The caller must trust `artifact`, because all lengths
// come from its entries; a wrong length in `blob` allocates no memory. Errors: malformed-outline;
// those of artifact_id().
[[nodiscard]] Result<Outline> decode_outline(ByteView blob, const Artifact& artifact);

// Bytes [begin, end) of a file or tensor.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
  bool operator==(const ByteRange&) const = default;
};

// Compares the `expected` with the `actual` outline digests of `size` bytes. Returns
// the byte ranges where they differ (section 7.4), with neighbouring ranges joined. The caller must
// pass two lists of the same length.
[[nodiscard]] std::vector<ByteRange> differing_ranges(std::span<const Digest> expected,
                                                      std::span<const Digest> actual,
                                                      std::uint64_t span, std::uint64_t size);

}  // namespace assay
