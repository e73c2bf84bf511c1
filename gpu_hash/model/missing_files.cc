// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/missing_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "schemas/core/bytes.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

// A pointer is shorter than 1024 bytes and has a version, a digest and a size
// (docs/spec.md of git-lfs).
constexpr std::uint64_t kMinPointer = 100;   // bytes
constexpr std::uint64_t kMaxPointer = 1023;  // bytes
constexpr std::array<std::string_view, 2> kPointerStarts = {
    "version https://git-lfs.github.com/spec/", "version https://hawser.github.com/spec/"};

constexpr std::size_t kMaxIndex = 33'554'432;  // bytes
constexpr JsonLimits kIndexLimits{.max_bytes = kMaxIndex, .max_memory = std::size_t{256} << 20};
constexpr std::size_t kListedShards = 3;

Result<Bytes> read_whole(const SourceFile& file) {
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, file.open());
  Bytes content(file.size());
  ASSAY_TRY(opened->read(0, content));
  return content;
}

// Libraries write model.safetensors.index.json, and model.safetensors.index.fp16.json of a variant.
bool is_index(std::string_view path) {
  const std::size_t place = path.rfind(".safetensors.index.");
  return place != std::string_view::npos && path.find('/', place) == std::string_view::npos &&
         path.ends_with(".json");
}

// The files that the index names, below the directory of the index.
Result<std::set<std::string>> shards_of(const WalkedFile& index) {
  if (index.source->size() > kMaxIndex) {
    return fail(ErrorCode::kLimitExceeded,
                "it is longer than " + std::to_string(kMaxIndex) + " bytes");
  }
  ASSAY_ASSIGN(const Bytes content, read_whole(*index.source));
  ASSAY_ASSIGN(const Json json, parse_json(content, kIndexLimits));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) {
    return fail(ErrorCode::kSchemaViolation, "it has no object weight_map");
  }
  const std::filesystem::path folder = std::filesystem::path(index.path).parent_path();
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      return fail(ErrorCode::kSchemaViolation, "weight_map does not name a file for each tensor");
    }
    shards.insert((folder / shard.get_ref<const std::string&>()).lexically_normal().string());
  }
  return shards;
}

bool holds(const std::vector<WalkedFile>& files, const std::string& path) {
  const auto found = std::ranges::lower_bound(files, path, {}, &WalkedFile::path);
  return found != files.end() && found->path == path;
}

// Why the index shows that the model is not whole; empty when it does not.
std::string lack_of(const WalkedFile& index, const std::vector<WalkedFile>& files) {
  const auto shards = shards_of(index);
  if (!shards) {
    return "this cannot be read as an index of shards: " + shards.error().detail;
  }
  std::string names;
  std::size_t missing = 0;
  for (const std::string& shard : *shards) {
    if (!holds(files, shard) && ++missing <= kListedShards) {
      names += (names.empty() ? "" : ", ") + shard;
    }
  }
  if (missing > kListedShards) {
    names += " and " + std::to_string(missing - kListedShards) + " more";
  }
  return missing == 0 ? std::string() : "shards that it names are missing or ignored: " + names;
}

}  // namespace

Result<bool> is_lfs_pointer(const SourceFile& file) {
  if (file.size() < kMinPointer || file.size() > kMaxPointer) {
    return false;
  }
  ASSAY_ASSIGN(const Bytes content, read_whole(file));
  const std::string_view text = as_text(content);
  return std::ranges::any_of(kPointerStarts,
                             [&](std::string_view start) { return text.starts_with(start); }) &&
         text.find("\noid sha256:") != std::string_view::npos;
}

std::vector<Lack> find_lacks(const std::vector<WalkedFile>& files) {
  std::vector<Lack> lacks;
  for (const WalkedFile& file : files) {
    std::string lack;
    if (is_lfs_pointer(*file.source).value_or(false)) {
      lack = kLfsPointer;
    } else if (is_index(file.path)) {
      lack = lack_of(file, files);
    }
    if (!lack.empty()) {
      lacks.push_back({file.path, std::move(lack)});
    }
  }
  return lacks;
}

}  // namespace assay::gpu_hash
