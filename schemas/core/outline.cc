// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/outline.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <variant>

#include "schemas/core/merkle.h"

namespace assay {
namespace {

constexpr std::size_t kFixedHeader = 40;  // bytes before the artifact root

// ceil(size / span); sizes below 2^53 and spans up to 2^40 cannot overflow.
std::uint64_t digest_count(std::uint64_t size, std::uint64_t span) {
  return (size + span - 1) / span;
}

std::unexpected<Error> malformed(std::string detail, std::string where = {}) {
  return fail(ErrorCode::kMalformedOutline, std::move(detail), std::move(where));
}

void put(Bytes& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

std::uint64_t get(ByteView bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | bytes[i];
  }
  return value;
}

// Section 7.1 up to the artifact root; returns the span.
Result<std::uint64_t> read_header(ByteView blob, const Artifact& artifact) {
  const TreeParameters& parameters = artifact.parameters;
  if (as_text(blob.first(kOutlineMagic.size())) != kOutlineMagic) {
    return malformed("the outline does not start with assay-outline-v1");
  }
  if (get(blob.subspan(16, 4)) != static_cast<std::uint64_t>(parameters.hash) ||
      get(blob.subspan(20, 4)) != parameters.chunk_size) {
    return malformed("the outline was made with other tree parameters");
  }
  const std::uint64_t span = get(blob.subspan(24, 8));
  if (!check_outline_span(parameters, span)) {
    return malformed("the outline's span is not allowed");
  }
  if (get(blob.subspan(32, 8)) != artifact.entries.size()) {
    return malformed("the outline has another number of entries than the artifact");
  }
  return span;
}

}  // namespace

Status check_outline_span(const TreeParameters& parameters, std::uint64_t span) {
  if (!std::has_single_bit(span) || span < parameters.chunk_size || span > kMaxOutlineSpan) {
    return fail(ErrorCode::kInvalidParameter,
                "the outline span must be a power of two from the chunk size to 2^40");
  }
  return {};
}

Status check(const Outline& outline, const Artifact& artifact) {
  if (!check_outline_span(artifact.parameters, outline.span)) {
    return malformed("the outline's span is not allowed");
  }
  if (outline.entries.size() != artifact.entries.size()) {
    return malformed("the outline has another number of entries than the artifact");
  }
  for (std::size_t i = 0; i < outline.entries.size(); ++i) {
    const Entry& entry = artifact.entries[i];
    const std::vector<Digest>& digests = outline.entries[i];
    if (digests.size() != digest_count(own_size(entry), outline.span)) {
      return malformed("an entry has the wrong number of outline digests", label_of(entry));
    }
    // A span is a power of two of chunks, so the tree of own bytes splits at span borders first.
    if (merkle_root(artifact.parameters.hash, digests) != own_root(entry)) {
      return malformed("an entry's outline digests do not lead to its root", label_of(entry));
    }
  }
  return {};
}

std::uint64_t encoded_outline_size(const Artifact& artifact, std::uint64_t span) {
  const std::uint64_t width = digest_size(artifact.parameters.hash);
  std::uint64_t size = kFixedHeader + width;
  for (const Entry& entry : artifact.entries) {
    size += 8 + digest_count(own_size(entry), span) * width;
  }
  return size;
}

Result<Bytes> encode_outline(const Outline& outline, const Artifact& artifact) {
  ASSAY_TRY(check(outline, artifact));
  ASSAY_ASSIGN(const ArtifactId id, artifact_id(artifact));
  Bytes blob = to_bytes(kOutlineMagic);
  blob.reserve(encoded_outline_size(artifact, outline.span));
  put(blob, static_cast<std::uint64_t>(artifact.parameters.hash), 4);
  put(blob, artifact.parameters.chunk_size, 4);
  put(blob, outline.span, 8);
  put(blob, artifact.entries.size(), 8);
  const auto append = [&](const Digest& digest) {
    const ByteView bytes = digest.bytes();
    blob.insert(blob.end(), bytes.begin(), bytes.end());
  };
  append(id.root());
  for (const std::vector<Digest>& digests : outline.entries) {
    put(blob, digests.size(), 8);
    std::for_each(digests.begin(), digests.end(), append);
  }
  return blob;
}

Result<Outline> decode_outline(ByteView blob, const Artifact& artifact) {
  const HashAlgorithm algorithm = artifact.parameters.hash;
  const std::size_t width = digest_size(algorithm);
  if (blob.size() < kFixedHeader + width) {
    return malformed("the outline is too short");
  }
  ASSAY_ASSIGN(const std::uint64_t span, read_header(blob, artifact));
  if (blob.size() != encoded_outline_size(artifact, span)) {
    return malformed("the outline's length does not follow from the entries");
  }
  ASSAY_ASSIGN(const ArtifactId id, artifact_id(artifact));
  if (!std::ranges::equal(blob.subspan(kFixedHeader, width), id.root().bytes())) {
    return malformed("the outline belongs to another artifact");
  }
  Outline outline{span, {}};
  outline.entries.reserve(artifact.entries.size());
  std::size_t position = kFixedHeader + width;
  for (const Entry& entry : artifact.entries) {
    const std::uint64_t count = digest_count(own_size(entry), span);
    if (get(blob.subspan(position, 8)) != count) {
      return malformed("an entry has the wrong number of outline digests", label_of(entry));
    }
    position += 8;
    std::vector<Digest>& digests = outline.entries.emplace_back();
    digests.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i, position += width) {
      digests.push_back(Digest::wrap(algorithm, blob.subspan(position, width).data()));
    }
  }
  ASSAY_TRY(check(outline, artifact));
  return outline;
}

std::vector<ByteRange> differing_ranges(std::span<const Digest> expected,
                                        std::span<const Digest> actual, std::uint64_t span,
                                        std::uint64_t size) {
  std::vector<ByteRange> ranges;
  const std::size_t count = std::min(expected.size(), actual.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (expected[i] == actual[i]) {
      continue;
    }
    const std::uint64_t begin = i * span;
    const std::uint64_t end = std::min(begin + span, size);
    if (!ranges.empty() && ranges.back().end == begin) {
      ranges.back().end = end;
    } else {
      ranges.push_back({begin, end});
    }
  }
  return ranges;
}

}  // namespace assay
