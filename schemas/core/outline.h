// SPDX-License-Identifier: Apache-2.0
// Outlines: the subtree digests of an artifact's objects at a fixed span, which authenticate
// themselves against the roots and say where bytes differ. Spec: schemas/tree.md section 7.
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

// invalid-parameter unless the span is a power of two from the chunk size to 2^40.
[[nodiscard]] Status check_outline_span(const TreeParameters& parameters, std::uint64_t span);

// Section 7.3: the span is allowed, every entry has ceil(size / span) digests, and they lead to the
// entry's root. malformed-outline; `where` names the entry. Does not check the artifact itself.
[[nodiscard]] Status check(const Outline& outline, const Artifact& artifact);

// Section 7.1. Bytes of an outline that passes check(); errors of check() and artifact_id().
[[nodiscard]] Result<Bytes> encode_outline(const Outline& outline, const Artifact& artifact);
// Bytes that encode_outline() would return for any outline of `artifact` at `span`.
[[nodiscard]] std::uint64_t encoded_outline_size(const Artifact& artifact, std::uint64_t span);

// Reads and checks an outline of `artifact`, which is trusted. Lengths come from the entries:
// nothing is allocated on the blob's word. malformed-outline; errors of artifact_id().
[[nodiscard]] Result<Outline> decode_outline(ByteView blob, const Artifact& artifact);

// Bytes [begin, end) of an object.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
  bool operator==(const ByteRange&) const = default;
};

// Section 7.4: where an object of `size` bytes differs, from its expected and its actual digests
// (equally many). Neighbouring ranges are joined.
[[nodiscard]] std::vector<ByteRange> differing_ranges(std::span<const Digest> expected,
                                                      std::span<const Digest> actual,
                                                      std::uint64_t span, std::uint64_t size);

}  // namespace assay
