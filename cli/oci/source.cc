// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/source.h"

#include <utility>

#include "schemas/core/sha.h"
#include "schemas/posix/files.h"

namespace assay::oci {
namespace {

std::unexpected<Error> mismatch(const std::string& what, const Digest& digest) {
  return fail(ErrorCode::kContentMismatch, what, digest.text());
}

Result<Fetched> parsed(Digest digest, RawManifest raw, std::string_view media_type) {
  if (!media_type.empty() && !raw.media_type.empty() && raw.media_type != media_type) {
    return fail(ErrorCode::kUnsupportedMediaType,
                "The source says that it is " + raw.media_type + ", what refers to it says " +
                    std::string(media_type),
                digest.text());
  }
  Result<Manifest> manifest =
      parse_manifest(raw.bytes, media_type.empty() ? raw.media_type : media_type);
  if (!manifest) {
    Error error = std::move(manifest).error();
    error.where = digest.text() + error.where;
    return std::unexpected(std::move(error));
  }
  return Fetched{std::move(digest), std::move(raw.bytes), *std::move(manifest)};
}

// Fetches a blob piece by piece; `take` gets no byte beyond the size.
Status fetch_checked(Source& source, const ContentRef& descriptor, const TakePiece& take) {
  ShaStream sha(HashAlgorithm::kSha256);
  std::uint64_t bytes = 0;
  const Status status =
      source.blob(descriptor.digest, descriptor.size, [&](ByteView piece) -> bool {
        if (piece.size() > descriptor.size - bytes) {
          bytes = descriptor.size + 1;
          return false;
        }
        bytes += piece.size();
        sha.update(piece);
        return take(piece);
      });
  if (bytes > descriptor.size) {
    return mismatch("The blob is longer than " + std::to_string(descriptor.size) + " bytes",
                    descriptor.digest);
  }
  ASSAY_TRY(status);
  if (bytes != descriptor.size) {
    return mismatch("The blob ends after " + std::to_string(bytes) + " of " +
                        std::to_string(descriptor.size) + " bytes",
                    descriptor.digest);
  }
  return sha.finish() == descriptor.digest
             ? Status()
             : mismatch("The blob has another digest", descriptor.digest);
}

}  // namespace

Result<Fetched> fetch_by_digest(Source& source, const Digest& digest, std::string_view media_type) {
  ASSAY_ASSIGN(RawManifest raw, source.manifest(digest.text()));
  if (sha256(raw.bytes) != digest) {
    return mismatch("The manifest has another digest", digest);
  }
  return parsed(digest, std::move(raw), media_type);
}

Result<Fetched> fetch_manifest(Source& source, const ContentRef& descriptor) {
  if (descriptor.size > kMaxManifestBytes) {
    return fail(ErrorCode::kLimitExceeded,
                "A manifest has at most " + std::to_string(kMaxManifestBytes) + " bytes",
                descriptor.digest.text());
  }
  ASSAY_ASSIGN(Fetched fetched, fetch_by_digest(source, descriptor.digest, descriptor.media_type));
  if (fetched.bytes.size() != descriptor.size) {
    return mismatch("The manifest has another size", descriptor.digest);
  }
  return fetched;
}

Result<Fetched> fetch_by_tag(Source& source, const std::string& tag) {
  ASSAY_ASSIGN(RawManifest raw, source.manifest(tag));
  Digest digest = sha256(raw.bytes);
  return parsed(std::move(digest), std::move(raw), {});
}

Result<Bytes> fetch_blob(Source& source, const ContentRef& descriptor, std::uint64_t limit) {
  if (descriptor.size > limit) {
    return fail(ErrorCode::kLimitExceeded,
                "The blob has more than " + std::to_string(limit) + " bytes",
                descriptor.digest.text());
  }
  Bytes bytes;
  ASSAY_TRY(fetch_checked(source, descriptor, [&bytes](ByteView piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return true;
  }));
  return bytes;
}

Status save_blob(Source& source, const ContentRef& descriptor, int file) {
  bool written = true;
  const Status status = fetch_checked(source, descriptor, [&](ByteView piece) {
    written = write_all(file, piece);
    return written;
  });
  return written ? status
                 : fail(ErrorCode::kFileUnreadable, "The blob cannot be written; is there room?",
                        descriptor.digest.text());
}

}  // namespace assay::oci
