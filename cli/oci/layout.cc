// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/layout.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

#include "schemas/core/json_at.h"
#include "schemas/posix/files.h"

namespace assay::oci {
namespace {

constexpr std::string_view kRefName = "org.opencontainers.image.ref.name";
constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxVersionBytes = 4096;

// A regular file below the layout.
Result<Bytes> read_below(int base, const std::string& path, std::size_t limit) {
  const Descriptor file = open_below(base, path, O_RDONLY);
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFileUnreadable,
                std::string("The layout's file cannot be read: ") + std::strerror(errno), path);
  }
  if (!S_ISREG(about.st_mode)) {
    return fail(ErrorCode::kUnsupportedFileType, "This is no regular file", path);
  }
  Bytes bytes(limit + 1);
  const std::int64_t got = read_up_to(file.get(), bytes);
  if (got < 0) {
    return fail(ErrorCode::kFileUnreadable, "The layout's file cannot be read", path);
  }
  if (static_cast<std::size_t>(got) > limit) {
    return fail(ErrorCode::kLimitExceeded,
                "The file has more than " + std::to_string(limit) + " bytes", path);
  }
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

std::string blob_path(const Digest& digest) { return "blobs/sha256/" + digest.hex(); }

class Layout final : public Source {
 public:
  Layout(Descriptor directory, Manifest index)
      : directory_(std::move(directory)), index_(std::move(index)) {}

  Result<RawManifest> manifest(const std::string& reference) override {
    const Result<Digest> digest = Digest::parse(reference);
    if (digest) {
      return with_digest(*digest);
    }
    const ContentRef* found = nullptr;
    for (const ContentRef& one : index_.parts) {
      if (one.annotation(std::string(kRefName)) == reference) {
        if (found != nullptr && found->digest != one.digest) {
          return fail(ErrorCode::kConflict, "Two manifests of the layout have this tag", reference);
        }
        found = &one;
      }
    }
    return found == nullptr
               ? fail(ErrorCode::kNotFound, "No manifest of the layout has this tag", reference)
               : with_digest(found->digest);
  }

  Status blob(const Digest& digest, std::uint64_t size, const TakePiece& take) override {
    const std::string path = blob_path(digest);
    const Descriptor file = open_below(directory_.get(), path, O_RDONLY);
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) {
      return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFileUnreadable,
                  std::string("The blob cannot be read: ") + std::strerror(errno), path);
    }
    if (!S_ISREG(about.st_mode)) {
      return fail(ErrorCode::kUnsupportedFileType, "This is no regular file", path);
    }
    Bytes piece(kReadBytes);
    for (std::uint64_t bytes = 0; bytes <= size;) {
      const std::int64_t got = read_up_to(file.get(), piece);
      if (got < 0) {
        return fail(ErrorCode::kFileUnreadable, "The blob cannot be read", path);
      }
      if (got == 0) {
        break;
      }
      bytes += static_cast<std::uint64_t>(got);
      if (!take(ByteView(piece).first(static_cast<std::size_t>(got)))) {
        return fail(ErrorCode::kCancelled, "The transfer was ended");
      }
    }
    return {};
  }

  // Tools write what refers to a manifest into the index of the layout, too.
  Result<std::vector<ContentRef>> referrers(const Digest& digest) override {
    std::vector<ContentRef> found;
    for (const ContentRef& one : index_.parts) {
      if (one.media_type != kImageManifest) {
        continue;
      }
      ASSAY_ASSIGN(const Fetched fetched, fetch_manifest(*this, one));
      if (fetched.manifest.subject && fetched.manifest.subject->digest == digest) {
        found.push_back(one);
      }
    }
    const Result<Fetched> list = fetch_by_tag(*this, "sha256-" + digest.hex());
    if (!list && list.error().code != ErrorCode::kNotFound) {
      return std::unexpected(list.error());
    }
    if (list && list->manifest.is_index) {
      std::ranges::copy(list->manifest.parts, std::back_inserter(found));
    }
    return found;
  }

 private:
  Result<RawManifest> with_digest(const Digest& digest) {
    ASSAY_ASSIGN(Bytes bytes, read_below(directory_.get(), blob_path(digest), kMaxManifestBytes));
    std::string type;
    for (const ContentRef& one : index_.parts) {
      if (one.digest == digest) {
        type = one.media_type;
      }
    }
    return RawManifest{std::move(bytes), std::move(type)};
  }

  Descriptor directory_;
  Manifest index_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_layout(const std::string& directory) {
  Descriptor base(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base) {
    return fail(ErrorCode::kFileUnreadable,
                std::string("The layout cannot be opened: ") + std::strerror(errno), directory);
  }
  ASSAY_ASSIGN(const Bytes about, read_below(base.get(), "oci-layout", kMaxVersionBytes));
  const Result<Json> version = parse_json(ByteView(about));
  if (!version || text_at(*version, "imageLayoutVersion") != "1.0.0") {
    return fail(ErrorCode::kSchemaViolation, "The directory is no OCI image layout 1.0.0",
                directory);
  }
  ASSAY_ASSIGN(const Bytes bytes, read_below(base.get(), "index.json", kMaxManifestBytes));
  ASSAY_ASSIGN(Manifest index, parse_manifest(bytes, kImageIndex));
  return std::make_unique<Layout>(std::move(base), std::move(index));
}

}  // namespace assay::oci
