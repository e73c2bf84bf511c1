// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/extract.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <utility>

#include "cli/oci/gunzip.h"
#include "schemas/core/artifact.h"
#include "schemas/posix/files.h"

namespace assay::oci {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

enum class Packing : std::uint8_t { kRaw, kTar, kTarGzip };

struct LayerType {
  std::string_view media_type;
  Packing packing;
};
constexpr std::array<LayerType, 4> kImageLayers = {{
    {"application/vnd.oci.image.layer.v1.tar", Packing::kTar},
    {"application/vnd.oci.image.layer.v1.tar+gzip", Packing::kTarGzip},
    {"application/vnd.docker.image.rootfs.diff.tar", Packing::kTar},
    {"application/vnd.docker.image.rootfs.diff.tar.gzip", Packing::kTarGzip},
}};
constexpr std::string_view kModelPack = "application/vnd.cncf.model.";
constexpr std::array<std::string_view, 5> kModelPackParts = {"weight", "weight.config", "doc",
                                                             "code", "dataset"};
struct PackingName {
  std::string_view suffix;
  Packing packing;
};
constexpr std::array<PackingName, 3> kPackings = {
    {{".v1.raw", Packing::kRaw}, {".v1.tar", Packing::kTar}, {".v1.tar+gzip", Packing::kTarGzip}}};

bool is_model_pack(const Manifest& manifest) {
  return manifest.config && manifest.config->media_type.starts_with(kModelPack);
}

Result<Packing> packing_of(const ContentRef& layer, bool model_pack) {
  const std::string_view type = layer.media_type;
  if (!model_pack) {
    const auto found = std::ranges::find(kImageLayers, type, &LayerType::media_type);
    if (found != kImageLayers.end()) {
      return found->packing;
    }
  } else if (type.starts_with(kModelPack)) {
    const std::string_view rest = type.substr(kModelPack.size());
    for (const std::string_view part : kModelPackParts) {
      for (const PackingName& packing : kPackings) {
        if (rest == std::string(part) + std::string(packing.suffix)) {
          return packing.packing;
        }
      }
    }
  }
  return fail(ErrorCode::kUnsupportedMediaType,
              "A layer is of a type whose files cannot be taken out: " + layer.media_type,
              layer.digest.text());
}

// The path of the one file in a raw layer.
std::string file_path(const ContentRef& layer) {
  for (const char* name :
       {"org.cncf.model.filepath", "org.cnai.model.filepath", "org.opencontainers.image.title"}) {
    if (std::string path = layer.annotation(name); !path.empty()) {
      return path;
    }
  }
  return "";
}

// Whether `path` is `directory` or lies in it. Everything lies in "".
bool is_within(const std::string& path, const std::string& directory) {
  return directory.empty() || path == directory || path.starts_with(directory + "/");
}

// What a layer deletes of those below it (image-spec, layer.md, "Whiteouts"); nothing: no such
// entry.
std::optional<std::string> deleted_by(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name == kOpaque) {
    return folder;
  }
  if (!name.starts_with(kWhiteout)) {
    return std::nullopt;
  }
  return (folder.empty() ? "" : folder + "/") + name.substr(kWhiteout.size());
}

Status unpack(int file, Packing packing, LayerSink& sink) {
  TarReader tar(sink);
  Gunzip gunzip;
  Bytes piece(kPieceBytes);
  for (std::uint64_t at = 0;;) {
    const std::int64_t got = read_at(file, at, piece);
    if (got < 0) {
      return fail(ErrorCode::kFileUnreadable, "The layer cannot be read again");
    }
    const ByteView bytes = ByteView(piece).first(static_cast<std::size_t>(got));
    if (packing == Packing::kTar) {
      ASSAY_TRY(tar.feed(bytes));
    } else {
      ASSAY_TRY(gunzip.feed(bytes, [&tar](ByteView part) { return tar.feed(part); }));
    }
    if (static_cast<std::size_t>(got) < piece.size()) {
      break;
    }
    at += static_cast<std::uint64_t>(got);
  }
  if (packing == Packing::kTarGzip) {
    ASSAY_TRY(gunzip.finish());
  }
  return tar.finish();
}

Status take_layer(Source& source, const ContentRef& layer, Packing packing, LayerSink& sink,
                  Staging& staging) {
  if (packing == Packing::kRaw) {
    ASSAY_ASSIGN(Descriptor file, sink.place(file_path(layer), layer.size));
    ASSAY_TRY(save_blob(source, layer, file.get()));
    return file.close() ? Status()
                        : fail(ErrorCode::kFileUnreadable, "The file cannot be written",
                               layer.digest.text());
  }
  ASSAY_ASSIGN(const Descriptor file, staging.scratch());
  ASSAY_TRY(save_blob(source, layer, file.get()));
  Status status = unpack(file.get(), packing, sink);
  if (!status && status.error().where.empty()) {
    status.error().where = layer.digest.text();
  }
  return status;
}

}  // namespace

Result<std::string> LayerSink::path_of(const TarEntry& entry) const {
  const std::string& below = options_.below;
  const bool within = !entry.path.empty() && is_within(entry.path, below);
  if (const auto deleted = deleted_by(entry.path)) {
    if (within || is_within(below, *deleted)) {
      return fail(ErrorCode::kInvalidEncoding,
                  "A layer deletes files of the model that an earlier one has", entry.path);
    }
    return std::string();
  }
  const bool leads = entry.path == below || below.starts_with(entry.path + "/");
  if (entry.kind != TarKind::kDirectory && (leads || (within && entry.kind != TarKind::kFile))) {
    return fail(ErrorCode::kUnsupportedFileType,
                "Links and devices are no part of a model, and no way to it", entry.path);
  }
  if (!within || entry.path == below) {
    return std::string();
  }
  return below.empty() ? entry.path : entry.path.substr(below.size() + 1);
}

Result<Descriptor> LayerSink::place(const std::string& path, std::uint64_t size) {
  if (const Status status = check_path(path); !status) {
    return fail(ErrorCode::kInvalidPath, "A file of the model has no path that can be taken", path);
  }
  if (!paths_.insert(path).second) {
    return fail(ErrorCode::kInvalidPath, "A layer has this path twice", path);
  }
  if (++so_far_.files > kMaxModelFiles) {
    return fail(ErrorCode::kLimitExceeded,
                "The model has more than " + std::to_string(kMaxModelFiles) + " files");
  }
  if (size > options_.max_bytes - std::min(so_far_.bytes, options_.max_bytes)) {
    return fail(ErrorCode::kLimitExceeded, "The files of the model have more than " +
                                               std::to_string(options_.max_bytes) +
                                               " bytes; --max-size allows more");
  }
  so_far_.bytes += size;
  // A file of an earlier layer is replaced; its bytes stay counted.
  if (const Descriptor earlier = open_below(base_, path, O_RDONLY); earlier) {
    if (::unlinkat(base_, path.c_str(), 0) != 0) {
      return fail(ErrorCode::kInvalidPath, "A layer has a file where another has a directory",
                  path);
    }
    --so_far_.files;
  }
  return create_below(base_, path);
}

Status LayerSink::begin(const TarEntry& entry) {
  file_ = {};
  if (!entry.path.empty()) {
    if (const Status status = check_path(entry.path); !status) {
      return fail(ErrorCode::kInvalidPath, "The archive has a path that cannot be taken",
                  entry.path);
    }
  }
  ASSAY_ASSIGN(const std::string path, path_of(entry));
  if (path.empty()) {
    return {};
  }
  if (entry.kind == TarKind::kDirectory) {
    if (++directories_ > kMaxModelFiles) {
      return fail(ErrorCode::kLimitExceeded,
                  "A layer has more than " + std::to_string(kMaxModelFiles) + " directories");
    }
    ASSAY_TRY(make_directories(base_, path));
    return {};
  }
  ASSAY_ASSIGN(file_, place(path, entry.size));
  return {};
}

Status LayerSink::data(ByteView piece) {
  return !file_ || write_all(file_.get(), piece)
             ? Status()
             : fail(ErrorCode::kFileUnreadable, "The file cannot be written; is there room?");
}

Status LayerSink::end() {
  return file_.close() ? Status() : fail(ErrorCode::kFileUnreadable, "The file cannot be written");
}

Result<Extracted> extract_model(Source& source, const Manifest& manifest,
                                const ExtractOptions& options, Staging& staging,
                                const std::string& directory) {
  Extracted so_far;
  so_far.model_pack = is_model_pack(manifest);
  ExtractOptions used = options;
  if (so_far.model_pack) {
    used.below.clear();
  }
  // What cannot be taken out is said before anything is fetched.
  std::vector<Packing> packings;
  for (const ContentRef& layer : manifest.parts) {
    ASSAY_ASSIGN(const Packing packing, packing_of(layer, so_far.model_pack));
    packings.push_back(packing);
  }
  ASSAY_ASSIGN(const Descriptor base, make_directories(staging.directory(), directory));
  for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
    LayerSink sink(base.get(), used, so_far);
    ASSAY_TRY(take_layer(source, manifest.parts[i], packings[i], sink, staging));
  }
  if (so_far.files == 0) {
    return fail(
        ErrorCode::kNotFound,
        "The image has no file of a model" +
            (used.below.empty() ? ""
                                : " below /" + used.below + "; --path names another directory"));
  }
  return so_far;
}

}  // namespace assay::oci
