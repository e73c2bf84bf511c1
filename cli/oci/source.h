// SPDX-License-Identifier: Apache-2.0
// Where manifests and blobs come from, and the one place that checks their digests and sizes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/oci/manifest.h"

namespace assay::oci {

// Takes a piece of a blob. Returns false to end the transfer.
using TakePiece = std::function<bool(ByteView piece)>;

// What a source says a manifest is.
struct RawManifest {
  Bytes bytes;
  std::string media_type;  // empty: unknown
};

// A registry or a layout. It may lie: callers use the functions below.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // Returns the manifest with a digest ("sha256:...") or a tag, at most kMaxManifestBytes. Errors:
  // not-found.
  [[nodiscard]] virtual Result<RawManifest> manifest(const std::string& reference) = 0;
  // Passes on the bytes of a blob, at most `size`. Errors: not-found; cancelled.
  [[nodiscard]] virtual Status blob(const Digest& digest, std::uint64_t size,
                                    const TakePiece& take) = 0;
  // Returns what says that it refers to the manifest (distribution-spec v1.1, "Listing referrers").
  [[nodiscard]] virtual Result<std::vector<ContentRef>> referrers(const Digest& digest) = 0;
};

// A manifest whose bytes have this digest.
struct Fetched {
  Digest digest;
  Bytes bytes;
  Manifest manifest;
};

// Errors: content-mismatch for other bytes than those of the digest; those of parse_manifest().
[[nodiscard]] Result<Fetched> fetch_by_digest(Source& source, const Digest& digest,
                                              std::string_view media_type);
// The same for a descriptor, whose size must be right, too.
[[nodiscard]] Result<Fetched> fetch_manifest(Source& source, const ContentRef& descriptor);
// Whatever has the tag now.
[[nodiscard]] Result<Fetched> fetch_by_tag(Source& source, const std::string& tag);

// Returns a small blob. Errors: limit-exceeded for one of more than `limit` bytes, before anything
// is fetched; content-mismatch for another digest or size.
[[nodiscard]] Result<Bytes> fetch_blob(Source& source, const ContentRef& descriptor,
                                       std::uint64_t limit);
// Writes a blob to a new file, and returns only when its digest and size are right.
[[nodiscard]] Status save_blob(Source& source, const ContentRef& descriptor, int file);

}  // namespace assay::oci
