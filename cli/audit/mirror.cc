// SPDX-License-Identifier: Apache-2.0
#include "cli/audit/mirror.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "client/files.h"
#include "schemas/checkpoint.h"
#include "schemas/tiles.h"

namespace assay::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kDigestBytes = 32;

std::string in(const std::string& directory, const std::string& path) {
  return (fs::path(directory) / path).string();
}

class Mirror {
 public:
  Mirror(const FetchLogFile& fetch, const std::string& directory, Mirrored& result)
      : fetch_(fetch), directory_(directory), result_(result) {}

  // Every tile and bundle of a log of `size` entries.
  [[nodiscard]] Status take_all(TreeSize size, const std::function<void(TreeSize, TreeSize)>& told);
  // Partial tiles that others have replaced.
  [[nodiscard]] Status drop_all_partial(TreeSize size);
  // Takes back what this run fetched: it did not verify, and must not be taken for good next time.
  void forget();

 private:
  // One tile or bundle, unless it is there.
  [[nodiscard]] Status take(const TileAddress& tile);
  void drop_partial(const TileAddress& tile);
  [[nodiscard]] static Status check_shape(const TileAddress& tile, ByteView bytes,
                                          const std::string& path);
  [[nodiscard]] Status store(const std::string& path, ByteView bytes);

  const FetchLogFile& fetch_;
  const std::string& directory_;
  Mirrored& result_;
  std::vector<std::string> stored_;  // files
};

Status Mirror::check_shape(const TileAddress& tile, ByteView bytes, const std::string& path) {
  bool fits = bytes.size() == tile.width * kDigestBytes;
  if (!tile.level) {
    const Result<std::vector<ByteView>> entries = parse_bundle(bytes);
    fits = entries && entries->size() == tile.width;
  }
  return fits ? Status()
              : fail(ErrorCode::kLogInconsistent, "The service sent a tile of another size", path);
}

Status Mirror::store(const std::string& path, ByteView bytes) {
  const std::string file = in(directory_, path);
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, "Cannot make the directory: " + error.message(), file);
  }
  ASSAY_TRY(client::write_file(file, bytes));
  ++result_.files;
  result_.bytes += bytes.size();
  stored_.push_back(file);
  return {};
}

Status Mirror::take(const TileAddress& tile) {
  const TileAddress full{tile.level, tile.index};
  TileAddress wanted = tile;
  if (client::file_exists(in(directory_, tile_path(tile))) ||
      client::file_exists(in(directory_, tile_path(full)))) {
    return {};
  }
  Result<Bytes> bytes = fetch_(tile_path(wanted));
  // The log has grown since the checkpoint was read, and the full tile took over.
  if (!bytes && bytes.error().code == ErrorCode::kNotFound && tile != full) {
    wanted = full;
    bytes = fetch_(tile_path(wanted));
  }
  if (!bytes) {
    return std::unexpected(std::move(bytes).error());
  }
  const std::string path = tile_path(wanted);
  ASSAY_TRY(check_shape(wanted, *bytes, path));
  return store(path, *bytes);
}

void Mirror::forget() {
  std::error_code ignored;
  for (const std::string& file : stored_) {
    fs::remove(file, ignored);
  }
}

void Mirror::drop_partial(const TileAddress& tile) {
  const std::string full = in(directory_, tile_path({tile.level, tile.index}));
  std::error_code ignored;
  if (client::file_exists(full)) {
    fs::remove_all(full + ".p", ignored);
    return;
  }
  const std::string keep = std::to_string(tile.width);
  for (const fs::directory_entry& entry : fs::directory_iterator(full + ".p", ignored)) {
    if (entry.path().filename() != keep) {
      fs::remove(entry.path(), ignored);
    }
  }
}

Status Mirror::take_all(TreeSize size, const std::function<void(TreeSize, TreeSize)>& told) {
  return for_each_tile(size, [this, size, &told](const TileAddress& tile) -> Status {
    ASSAY_TRY(take(tile));
    if (!tile.level && told) {
      told(tile.index * kTileWidth + tile.width, size);
    }
    return {};
  });
}

Status Mirror::drop_all_partial(TreeSize size) {
  return for_each_tile(size, [this](const TileAddress& tile) -> Status {
    drop_partial(tile);
    return {};
  });
}

// The mirror as it was, for a first look; empty when there is none.
Result<std::string> old_checkpoint(const std::string& directory) {
  const std::string file = in(directory, "checkpoint");
  if (!client::file_exists(file)) {
    return std::string();
  }
  ASSAY_ASSIGN(const Bytes note, client::read_file(file, kMaxFileBytes));
  return std::string(as_text(note));
}

// Verifies the files on disk under a checkpoint that is not yet there.
Result<VerifiedLog> verify_new(const std::string& directory, const Bytes& note,
                               const std::string& old_note, const MirrorOptions& options) {
  const ReadMirror files = read_directory(directory);
  const ReadMirror read = [&files, &note](const std::string& path) -> Result<std::optional<Bytes>> {
    return path == "checkpoint" ? Result<std::optional<Bytes>>(note) : files(path);
  };
  LogVerifyOptions verify;
  if (!old_note.empty()) {
    verify.older_checkpoints.push_back(old_note);
  }
  return verify_log(read, *options.verifier, verify);
}

}  // namespace

ReadMirror read_directory(const std::string& directory) {
  return [directory](const std::string& path) -> Result<std::optional<Bytes>> {
    const std::string file = in(directory, path);
    if (!client::file_exists(file)) {
      return std::optional<Bytes>();
    }
    ASSAY_ASSIGN(Bytes bytes, client::read_file(file, kMaxFileBytes));
    return std::optional(std::move(bytes));
  };
}

Result<Mirrored> mirror_log(const FetchLogFile& fetch, const std::string& directory,
                            const MirrorOptions& options) {
  ASSAY_ASSIGN(const Bytes note, fetch("checkpoint"));
  ASSAY_ASSIGN(SignedCheckpoint signed_checkpoint, parse_checkpoint(as_text(note)));
  ASSAY_ASSIGN(const std::string old_note, old_checkpoint(directory));
  Mirrored result{.checkpoint = std::move(signed_checkpoint.checkpoint), .verified = std::nullopt};
  if (!old_note.empty()) {
    ASSAY_ASSIGN(const SignedCheckpoint old, parse_checkpoint(old_note));
    result.previous_size = old.checkpoint.size;
    const bool other = old.checkpoint.origin != result.checkpoint.origin;
    if (other || old.checkpoint.size > result.checkpoint.size) {
      return fail(ErrorCode::kLogInconsistent,
                  other ? "The mirror is of another log: " + old.checkpoint.origin
                        : "The log is shorter than the mirror: it lost or changed entries",
                  "checkpoint");
    }
  }
  Mirror mirror(fetch, directory, result);
  ASSAY_TRY(mirror.take_all(result.checkpoint.size, options.progress));
  if (options.verifier != nullptr) {
    Result<VerifiedLog> verified = verify_new(directory, note, old_note, options);
    if (!verified) {
      mirror.forget();
      return std::unexpected(std::move(verified).error());
    }
    result.verified = *std::move(verified);
  }
  ASSAY_TRY(client::write_file(in(directory, "checkpoint"), note));
  ASSAY_TRY(mirror.drop_all_partial(result.checkpoint.size));
  return result;
}

}  // namespace assay::cli
