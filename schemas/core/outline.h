// SPDX-License-Identifier: Apache-2.0
// Outlines: digests of the subtrees that each cover a fixed span of bytes of an artifact's objects
// (files or tensors). Outlines show where bytes differ, and are verified against the roots of the
// entries. Spec: schemas/tree.md section 7.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

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

// Checks an outline (section 7.3): the span is allowed, every entry has ceil(size / span) digests,
// and the digests lead to the entry's root. Does not check the artifact itself. Errors:
// malformed-outline; `where` names the entry.
[[nodiscard]] Status check(const Outline& outline, const Artifact& artifact);

// Encodes an outline (section 7.1). Errors: those of check() and artifact_id().
[[nodiscard]] Result<Bytes> encode_outline(const Outline& outline, const Artifact& artifact);
// Returns the size in bytes of what encode_outline() returns for any outline of `artifact` at
// `span`.
[[nodiscard]] std::uint64_t encoded_outline_size(const Artifact& artifact, std::uint64_t span);

// Parses and checks an outline of `artifact`, which must be trusted. Lengths come from the entries
// of `artifact`, so a wrong length in `blob` allocates no memory. Errors: malformed-outline; those
// of artifact_id().
[[nodiscard]] Result<Outline> decode_outline(ByteView blob, const Artifact& artifact);

// Bytes [begin, end) of an object.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
  bool operator==(const ByteRange&) const = default;
};

// Returns where an object of `size` bytes differs (section 7.4), from its expected and actual
// digests. Both lists must have the same length. Neighbouring ranges are joined.
[[nodiscard]] std::vector<ByteRange> differing_ranges(std::span<const Digest> expected,
                                                      std::span<const Digest> actual,
                                                      std::uint64_t span, std::uint64_t size);

}  // namespace assay
